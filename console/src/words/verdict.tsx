import type { JSX } from "preact";
import type { FinalVerdict, Verdict } from "../api/types";
import { score } from "./number";

interface VerdictWords {
  mark: string;
  /** What a rule with this verdict does. */
  rule: string;
  /** What happened to a transaction with this verdict. */
  done: string;
}

const WORDS: Record<FinalVerdict, VerdictWords> = {
  approve: { mark: "✓", rule: "Approve", done: "Approved" },
  alert: { mark: "!", rule: "Alert", done: "Alert" },
  review: { mark: "◐", rule: "Review", done: "Review" },
  block: { mark: "■", rule: "Block", done: "Blocked" },
};

/** From the mildest to the severest. */
export const VERDICTS: readonly FinalVerdict[] = ["approve", "alert", "review", "block"];

export function canonical(verdict: Verdict): FinalVerdict {
  if (verdict === "allow") return "approve";
  return verdict === "deny" ? "block" : verdict;
}

export function severity(verdict: Verdict): number {
  return VERDICTS.indexOf(canonical(verdict));
}

export function verdictWord(verdict: FinalVerdict): string {
  return WORDS[verdict].done;
}

export function verdictMark(verdict: FinalVerdict): string {
  return WORDS[verdict].mark;
}

interface VerdictProps {
  verdict: Verdict;
  score?: number | null;
  /** Whether it is the verdict of a transaction, not of a rule. */
  done?: boolean;
}

/** A verdict by mark, word and colour. */
export function VerdictBadge({ verdict, score: value, done = false }: VerdictProps): JSX.Element {
  const known = canonical(verdict);
  const words = WORDS[known];
  return (
    <span class={`verdict ${known}`}>
      <span class="verdict-mark" aria-hidden="true">
        {words.mark}
      </span>
      {done ? words.done : words.rule}
      {value !== undefined && value !== null && <span class="verdict-score"> {score(value)}</span>}
    </span>
  );
}
