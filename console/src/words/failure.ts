import type { Failure } from "../api/types";

/** What each failure of a rule means; `docs/untrusted-rules.md` has the whole table. */
export const FAILURE_WORDS: Record<Failure, string> = {
  trap: "It executed an invalid operation, such as a division by zero.",
  fuel: "It used up its fuel.",
  budget: "The rules of its owner used up their fuel.",
  memory: "It accessed memory out of bounds, or asked for more than its limit.",
  stack: "It recursed too deeply.",
  timeout: "It exceeded its time.",
  host_call: "It asked for a value that its manifest does not have.",
  host_call_limit: "It called the host too often.",
  invalid_output: "Its result is not a valid one.",
  lookup: "The history could not answer it.",
  list: "It names a list that is not set.",
  internal: "The host failed while it ran.",
  quarantined: "It is in quarantine and was not run.",
  left_out: "No rule failed, but this part of the transaction was beyond the limits and was left out.",
  not_ready: "The service was not ready: this check was failing, so rules or lists could be missing.",
  clock: "The clock had been set back, so windows of time could miss payments.",
};
