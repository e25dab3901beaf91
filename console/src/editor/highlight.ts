import { highlightCode, tagHighlighter, tags } from "@lezer/highlight";
import { scriptParser } from "./parser";

/** Colours by the classes of the style sheet, for scripts outside the editor. */
const byClass = tagHighlighter([
  { tag: tags.keyword, class: "syntax-keyword" },
  { tag: tags.operatorKeyword, class: "syntax-keyword" },
  { tag: tags.atom, class: "syntax-verdict" },
  { tag: tags.bool, class: "syntax-number" },
  { tag: tags.number, class: "syntax-number" },
  { tag: tags.string, class: "syntax-text" },
  { tag: tags.lineComment, class: "syntax-comment" },
  { tag: tags.function(tags.variableName), class: "syntax-function" },
  { tag: tags.special(tags.variableName), class: "syntax-reference" },
]);

/** Splits a script into pieces, each with its classes. */
export function highlight(script: string): { text: string; classes: string }[] {
  const pieces: { text: string; classes: string }[] = [];
  const put = (text: string, classes: string) => pieces.push({ text, classes });
  highlightCode(script, scriptParser.parse(script), byClass, put, () => put("\n", ""));
  return pieces;
}
