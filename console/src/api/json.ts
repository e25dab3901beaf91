import { Decimal } from "./decimal";

/** Members whose numbers may exceed what a JavaScript number holds exactly. */
const EXACT_MEMBERS = ["amount", "amount_after", "amount_before", "sequence", "rule_set_version"] as const;
/** Members that only name something: they stay texts. */
const ID_MEMBERS = ["id", "instruction_id"] as const;

export type ExactMember = (typeof EXACT_MEMBERS)[number];
export type IdMember = (typeof ID_MEMBERS)[number];

const exactMembers: ReadonlySet<string> = new Set(EXACT_MEMBERS);
const idMembers: ReadonlySet<string> = new Set(ID_MEMBERS);

interface ReviverContext {
  source?: string;
}

type Reviver = (key: string, value: unknown, context?: ReviverContext) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** Parses an answer of the API. Amounts and sequence numbers become [`Decimal`], ids become texts. */
export function parseAnswer(text: string): unknown {
  return parse(text, (key, value, context) => {
    if (typeof value !== "number") return value;
    if (exactMembers.has(key)) return new Decimal(context?.source ?? String(value));
    return idMembers.has(key) ? (context?.source ?? String(value)) : value;
  });
}

/** Parses a document of a caller: every number becomes a [`Decimal`]. */
export function parseDocument(text: string): unknown {
  return parse(text, (_key, value, context) => (typeof value === "number" ? new Decimal(context?.source ?? String(value)) : value));
}

/** Returns whether this browser can read numbers exactly. */
export function canReadExactly(): boolean {
  const value = parseDocument("1234567890123456789.10");
  return value instanceof Decimal && value.text === "1234567890123456789.10";
}

/** Indents a JSON text without changing a single digit of it. */
export function indentJson(text: string): string {
  return write(parseDocument(text), "");
}

function write(value: unknown, indent: string): string {
  if (value instanceof Decimal) return value.text;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map(item => inner + write(item, inner)).join(",\n")}\n${indent}]`;
  }
  const members = Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${write(item, inner)}`);
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${indent}}`;
}
