import { styleTags, tags } from "@lezer/highlight";
import { parser } from "./tollgate.grammar";

/** The parser of scripts, with what each part is for highlighters. */
export const scriptParser = parser.configure({
  props: [
    styleTags({
      "RuleWord DescriptionWord WhenWord ThenWord ScoreWord ReasonWord WhereWord": tags.keyword,
      "AndWord OrWord NotWord InWord NotInWord RegexWord NotRegexWord BetweenWord": tags.operatorKeyword,
      VerdictWord: tags.atom,
      "TrueWord FalseWord": tags.bool,
      "RuleName/Name": tags.definition(tags.variableName),
      "FunctionName/Name": tags.function(tags.variableName),
      "Path/Name Path/DescriptionWord": tags.variableName,
      "Key/Name Key/RuleWord": tags.propertyName,
      "ArgumentName/Name PairKey/Name": tags.labelName,
      'Reference/Name "$"': tags.special(tags.variableName),
      Number: tags.number,
      Text: tags.string,
      Comment: tags.lineComment,
      "CompareOperator ArithmeticOperator": tags.operator,
    }),
  ],
});
