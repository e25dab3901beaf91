import type { InstructionSummary } from "../../api/types";

export type RuleState = "active" | "activating" | "quarantined" | "suspended" | "refused change" | "failing" | "silent";

/** From the most urgent. */
export const RULE_STATES: RuleState[] = ["quarantined", "suspended", "failing", "refused change", "activating", "silent", "active"];

/** One word for the state of a rule; the most urgent one if several hold. */
export function ruleState(rule: InstructionSummary): RuleState {
  if (rule.status === "quarantined" || rule.status === "suspended") return rule.status;
  if (rule.quarantine !== null) return "quarantined";
  if (rule.failures > 0) return "failing";
  if (rule.refused_change !== null) return "refused change";
  if (rule.status === "activating") return "activating";
  return rule.hits === 0 ? "silent" : "active";
}

const MARKS: Record<RuleState, string> = {
  quarantined: "✗",
  suspended: "✗",
  failing: "!",
  "refused change": "!",
  activating: "…",
  silent: "○",
  active: "●",
};

const KINDS: Partial<Record<RuleState, string>> = {
  quarantined: "bad",
  suspended: "bad",
  failing: "warn",
  "refused change": "warn",
};

export function stateMark(state: RuleState): string {
  return MARKS[state];
}

export function stateKind(state: RuleState): string {
  return KINDS[state] ?? "quiet";
}
