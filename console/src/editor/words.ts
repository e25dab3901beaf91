import * as terms from "./tollgate.grammar.terms";

const RESERVED: Record<string, number> = {
  rule: terms.RuleWord,
  description: terms.DescriptionWord,
  when: terms.WhenWord,
  // biome-ignore lint/suspicious/noThenProperty: a word of the language
  then: terms.ThenWord,
  and: terms.AndWord,
  or: terms.OrWord,
  not: terms.NotWord,
  in: terms.InWord,
  not_in: terms.NotInWord,
  regex: terms.RegexWord,
  not_regex: terms.NotRegexWord,
  true: terms.TrueWord,
  false: terms.FalseWord,
};

const CONTEXTUAL: Record<string, number> = {
  between: terms.BetweenWord,
  where: terms.WhereWord,
  score: terms.ScoreWord,
  reason: terms.ReasonWord,
  allow: terms.VerdictWord,
  approve: terms.VerdictWord,
  alert: terms.VerdictWord,
  review: terms.VerdictWord,
  deny: terms.VerdictWord,
  block: terms.VerdictWord,
};

/** Keywords in any case. They are never names. */
export function reserved(word: string): number {
  return own(RESERVED, word.toLowerCase());
}

/** Words that are keywords at some places and names at all others. */
export function contextual(word: string): number {
  return own(CONTEXTUAL, word.toLowerCase());
}

function own(table: Record<string, number>, word: string): number {
  return Object.hasOwn(table, word) ? (table[word] ?? -1) : -1;
}
