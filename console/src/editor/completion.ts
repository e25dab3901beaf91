import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippetCompletion,
} from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { CLAUSES, FIELDS, FUNCTIONS, OPERATORS, OUTCOME_WORDS, VERDICT_WORDS, type Word } from "./vocabulary";

/** Names of the service that scripts may use. */
export interface KnownNames {
  lists: string[];
  /** Paths of metadata that other rules or transactions have. */
  fields: string[];
}

function options(words: Word[], type: string, boost = 0): Completion[] {
  return words.map(({ name, note, template }) => {
    const plain: Completion = { label: name, detail: note, type, boost };
    return template === undefined ? plain : snippetCompletion(template, plain);
  });
}

const fields = options(FIELDS, "variable", 2);
const functions = options(FUNCTIONS, "function", 1);
const operators = options(OPERATORS, "keyword");
const clauses = options(CLAUSES, "keyword", -1);
const verdicts = options(VERDICT_WORDS, "enum");
const outcome = options(OUTCOME_WORDS, "keyword");

/** Offers what may stand at the cursor. */
export function completion(known: () => KnownNames): Extension {
  return autocompletion({ override: [context => complete(context, known())], icons: false, maxRenderedOptions: 60 });
}

function complete(context: CompletionContext, known: KnownNames): CompletionResult | null {
  const node = syntaxTree(context.state).resolveInner(context.pos, -1);
  if (node.name === "Comment") return null;
  const before = context.state.sliceDoc(Math.max(0, context.pos - 200), context.pos);
  const reference = /\$([A-Za-z0-9_]*)$/.exec(before);
  if (reference !== null) return result(context, reference[1] ?? "", referenceOptions(known));
  const path = /((?:\$current|metadata)(?:\.[A-Za-z0-9_]+)*)\.([A-Za-z0-9_]*)$/.exec(before);
  if (path !== null) return result(context, path[2] ?? "", keyOptions(path[1] ?? "", known, context.state.doc.toString()));
  if (node.name === "Text") return null;
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(before)?.[0] ?? "";
  if (word === "" && !context.explicit) return null;
  const earlier = before.slice(0, before.length - word.length);
  return result(context, word, wordOptions(earlier, node.name));
}

function result(context: CompletionContext, typed: string, all: Completion[]): CompletionResult {
  return { from: context.pos - typed.length, options: all, validFor: /^[A-Za-z0-9_]*$/ };
}

function wordOptions(earlier: string, node: string): Completion[] {
  if (/\bthen\s+$/i.test(earlier)) return verdicts;
  if (/\bthen\s+\w+\b[^{}]*$/i.test(earlier)) return outcome;
  if (node === "Script" && !/\{/.test(earlier)) return clauses;
  return [...fields, ...functions, ...operators, ...clauses];
}

function referenceOptions(known: KnownNames): Completion[] {
  const lists = known.lists.map(name => ({ label: name, detail: "list", type: "constant" }));
  return [{ label: "current", detail: "the transaction under evaluation", type: "keyword", apply: "current.", boost: 5 }, ...lists];
}

/** Completes the keys of `$current` and of metadata, also those that the script itself uses elsewhere. */
function keyOptions(path: string, known: KnownNames, script: string): Completion[] {
  if (path === "$current") return fields;
  const prefix = `${path.replace("$current.", "")}.`;
  const inScript = script.match(/metadata(?:\.[A-Za-z0-9_]+)+/g) ?? [];
  const keys = new Set<string>();
  for (const field of [...known.fields, ...inScript]) {
    const key = field.startsWith(prefix) ? field.slice(prefix.length).split(".")[0] : undefined;
    if (key) keys.add(key);
  }
  return [...keys].map(label => ({ label, detail: "metadata", type: "property" }));
}
