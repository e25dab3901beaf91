/** What `build.mjs` makes of the grammar. */
declare module "*.grammar" {
  import type { LRParser } from "@lezer/lr";
  export const parser: LRParser;
}

declare module "*.grammar.terms" {
  export const RuleWord: number;
  export const DescriptionWord: number;
  export const WhenWord: number;
  export const ThenWord: number;
  export const AndWord: number;
  export const OrWord: number;
  export const NotWord: number;
  export const InWord: number;
  export const NotInWord: number;
  export const RegexWord: number;
  export const NotRegexWord: number;
  export const TrueWord: number;
  export const FalseWord: number;
  export const BetweenWord: number;
  export const WhereWord: number;
  export const ScoreWord: number;
  export const ReasonWord: number;
  export const VerdictWord: number;
}
