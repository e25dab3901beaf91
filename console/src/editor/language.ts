import {
  foldInside,
  foldNodeProp,
  HighlightStyle,
  indentNodeProp,
  LanguageSupport,
  LRLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { scriptParser } from "./parser";

const language = LRLanguage.define({
  name: "tollgate",
  parser: scriptParser.configure({
    props: [
      foldNodeProp.add({ Body: foldInside }),
      indentNodeProp.add({
        Body: context => context.baseIndent + context.unit,
      }),
    ],
  }),
  languageData: { commentTokens: { line: "//" }, closeBrackets: { brackets: ["(", "{", '"', "'"] } },
});

const style = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--syntax-keyword)", fontWeight: "600" },
  { tag: tags.atom, color: "var(--syntax-verdict)", fontWeight: "600" },
  { tag: [tags.number, tags.bool], color: "var(--syntax-number)" },
  { tag: tags.string, color: "var(--syntax-text)" },
  { tag: tags.lineComment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.function(tags.variableName), color: "var(--syntax-function)" },
  { tag: tags.special(tags.variableName), color: "var(--syntax-reference)" },
]);

export function scriptLanguage(): LanguageSupport {
  return new LanguageSupport(language, [syntaxHighlighting(style)]);
}
