import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import type { Diagnostic } from "../api/types";
import { appearance } from "./appearance";
import { completion, type KnownNames } from "./completion";
import { applyFix, fixOf, showDiagnostics } from "./diagnostics";
import { scriptLanguage } from "./language";
import { typingOver } from "./typing_over";

export interface EditorOptions {
  text: string;
  isReadOnly: boolean;
  known: () => KnownNames;
  onChange: (text: string) => void;
}

export interface Editor {
  text(): string;
  setText(text: string): void;
  show(diagnostics: Diagnostic[]): void;
  /** Applies the correction of a diagnostic; without one, that of the first one at or after the cursor. */
  fix(diagnostic?: Diagnostic): boolean;
  goTo(diagnostic: Diagnostic): void;
  focus(): void;
  destroy(): void;
}

/**
 * Makes an editor in a shadow root of `host`. There CodeMirror takes its styles as constructed sheets; in the document
 * it would insert `<style>`, which the content security policy forbids.
 */
export function createEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  const state = EditorState.create({ doc: options.text, extensions: extensions(options) });
  const view = new EditorView({ state, parent: root, root });
  let shown: Diagnostic[] = [];
  const firstFixable = () => {
    const { head } = view.state.selection.main;
    const fixes = shown.map(each => fixOf(view.state.doc, each)).filter(fix => fix !== null);
    return fixes.find(({ to }) => to >= head) ?? fixes[0] ?? null;
  };
  return {
    text: () => view.state.doc.toString(),
    setText: text => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    show(diagnostics) {
      shown = diagnostics;
      showDiagnostics(view, diagnostics);
    },
    fix(diagnostic) {
      const fix = diagnostic ? fixOf(view.state.doc, diagnostic) : firstFixable();
      if (fix === null || options.isReadOnly) return false;
      applyFix(view, fix);
      return true;
    },
    goTo(diagnostic) {
      const line = view.state.doc.line(Math.max(1, Math.min(diagnostic.line, view.state.doc.lines)));
      const anchor = Math.min(line.to, line.from + diagnostic.column - 1);
      view.dispatch({ selection: { anchor }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function extensions({ isReadOnly, known, onChange }: EditorOptions): Extension[] {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    indentUnit.of("  "),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    lintGutter(),
    scriptLanguage(),
    typingOver,
    completion(known),
    // Tab is not bound: it leaves the editor, as everywhere else.
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
    EditorView.lineWrapping,
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({ "aria-label": "Script", spellcheck: "false" }),
    EditorView.updateListener.of(update => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
    appearance,
  ];
}
