import { compareDecimals } from "../../api/decimal";
import { ruleHits } from "../../api/rules";
import type { InstructionSummary, VerdictRow } from "../../api/types";

/** Rules that are asked for the payments they stopped. */
const ASKED_MAX = 6;
/** Verdicts that stop a payment, the severest first. */
const STOPS = ["block", "deny", "review"];

/** Returns payments that rules stopped before the page was opened, the latest first. */
export async function stoppedEarlier(rules: InstructionSummary[], signal: AbortSignal): Promise<VerdictRow[]> {
  // A rule without a match in the last 24 hours may have an older one.
  const asked = rules.filter(({ verdict }) => STOPS.includes(verdict));
  const isIdle = ({ hits }: InstructionSummary) => Number(hits === 0);
  const rank = ({ verdict }: InstructionSummary) => STOPS.indexOf(verdict);
  asked.sort((a, b) => isIdle(a) - isIdle(b) || rank(a) - rank(b) || b.hits - a.hits);
  const hits = await Promise.all(asked.slice(0, ASKED_MAX).map(({ id }) => ruleHits(id, signal)));
  return latestFirst(hits.flatMap(rule => rule.hits));
}

/** Returns each row once, the latest first. */
export function latestFirst(rows: VerdictRow[]): VerdictRow[] {
  const unique = new Map(rows.map(row => [row.sequence.text, row]));
  return [...unique.values()].sort((a, b) => compareDecimals(b.sequence, a.sequence));
}

/** Returns the rows in their order, and behind them the earlier ones that are not among them. */
export function withEarlier(rows: VerdictRow[], earlier: VerdictRow[]): VerdictRow[] {
  const sequences = new Set(rows.map(({ sequence }) => sequence.text));
  return [...rows, ...earlier.filter(({ sequence }) => !sequences.has(sequence.text))];
}
