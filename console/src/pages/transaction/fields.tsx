import type { ComponentChildren, JSX } from "preact";
import { Decimal, groupThousands } from "../../api/decimal";
import { LongText } from "../../words/long_text";
import { fullTime } from "../../words/time";

/** Members of the evaluation, which the page shows elsewhere. */
const EVALUATION = new Set(["verdict", "score", "reason", "triggered", "failures", "rule_set_version", "evaluated_at"]);

const TIMES = new Set(["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"]);

/** Rows shown of one transaction; the raw JSON has the others. */
const ROWS_MAX = 400;

interface Row {
  path: string;
  value: unknown;
}

/** The fields of a transaction as they were sent, with all their digits; inner values by their path. */
export function Fields({ fields }: { fields: Record<string, unknown> }): JSX.Element {
  const shown = Object.entries(fields).filter(([name, value]) => !EVALUATION.has(name) && value !== null);
  const rows: Row[] = [];
  for (const [name, value] of shown) flatten(name, value, rows);
  return (
    <>
      <dl class="fields">
        {rows.slice(0, ROWS_MAX).map(({ path, value }) => (
          <div key={path}>
            <dt class="mono">
              <LongText value={path} />
            </dt>
            <dd>{TIMES.has(path) && typeof value === "string" ? <Time text={value} /> : show(value)}</dd>
          </div>
        ))}
      </dl>
      {rows.length > ROWS_MAX && <p class="quiet">The raw JSON has {rows.length - ROWS_MAX} more values.</p>}
    </>
  );
}

function flatten(path: string, value: unknown, rows: Row[]): void {
  if (typeof value !== "object" || value === null || value instanceof Decimal) {
    rows.push({ path, value });
    return;
  }
  const members = Object.entries(value);
  if (members.length === 0) rows.push({ path, value });
  const isList = Array.isArray(value);
  for (const [name, inner] of members) flatten(isList ? `${path}[${name}]` : `${path}.${key(name)}`, inner, rows);
}

/** Keys that are not names are quoted, as in a rule. */
function key(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : JSON.stringify(name);
}

function Time({ text }: { text: string }): JSX.Element {
  return (
    <>
      {fullTime(text)} <span class="mono quiet">{text}</span>
    </>
  );
}

function show(value: unknown): ComponentChildren {
  if (value instanceof Decimal) return <span class="mono">{groupThousands(value.text)}</span>;
  if (typeof value === "string") return value === "" ? <span class="quiet">empty text</span> : <LongText value={value} />;
  if (typeof value !== "object" || value === null) return <span class="mono">{String(value)}</span>;
  return <span class="quiet">{Array.isArray(value) ? "empty list" : "empty object"}</span>;
}
