import { type Action, type Diagnostic as Marked, setDiagnostics } from "@codemirror/lint";
import type { EditorState, Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { Diagnostic, Position } from "../api/types";
import { replacementOf } from "../words/replacement";

export interface Fix {
  from: number;
  to: number;
  text: string;
  title: string;
}

/** Columns of the compiler count characters; the editor counts units of UTF-16. */
function offset(doc: Text, { line, column }: Position): number {
  const { from, text } = doc.line(Math.max(1, Math.min(line, doc.lines)));
  let units = 0;
  for (const character of text) {
    if (column <= 1) break;
    units += character.length;
    column -= 1;
  }
  return from + units;
}

/** Underlines the diagnostics and offers their corrections. */
export function showDiagnostics(view: EditorView, diagnostics: Diagnostic[]): void {
  const marked = diagnostics.map(diagnostic => mark(view.state, diagnostic));
  view.dispatch(setDiagnostics(view.state, marked));
}

function mark(state: EditorState, diagnostic: Diagnostic): Marked {
  const from = offset(state.doc, diagnostic);
  const to = Math.max(from, offset(state.doc, diagnostic.end));
  const fix = fixOf(state.doc, diagnostic);
  const help = diagnostic.help === null ? "" : `\n${diagnostic.help}`;
  const actions: Action[] = fix === null ? [] : [{ name: fix.title, apply: view => applyFix(view, fix) }];
  return { from, to, severity: diagnostic.severity, source: diagnostic.code, message: diagnostic.message + help, actions };
}

export function applyFix(view: EditorView, { from, to, text }: Fix): void {
  view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length }, userEvent: "input.fix" });
  view.focus();
}

/** Returns the one correction of a diagnostic, if it has one. */
export function fixOf(doc: Text, diagnostic: Diagnostic): Fix | null {
  const text = replacementOf(diagnostic);
  if (text === null) return null;
  const from = offset(doc, diagnostic);
  let to = offset(doc, diagnostic.end);
  // The compiler marks the `not` of `not in`; the correction replaces both words.
  const both = /^not_\w+$/.test(text) && /^not\s+\w+/i.exec(doc.sliceString(from, from + 40));
  if (both) to = from + both[0].length;
  return { from, to, text, title: `Write ${text}` };
}
