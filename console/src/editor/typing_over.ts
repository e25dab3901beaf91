import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/**
 * Replaces a selection by what is typed. Left to the browser, it would keep the look of the selected text by an inline
 * style, which the content security policy forbids and reports.
 */
export const typingOver: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    if (empty || event.inputType !== "insertText" || event.isComposing || view.state.readOnly) return false;
    const text = event.data ?? "";
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    const isTaken = view.state.facet(EditorView.inputHandler).some(handler => handler(view, from, to, text, insert));
    if (!isTaken) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});
