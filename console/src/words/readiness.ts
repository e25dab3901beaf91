export type CheckState = "ok" | "degraded" | "failing" | "fact";

/** The texts of `/readyz` begin with `ok`, `degraded` or what fails; some checks only tell a fact. */
export function checkState(text: string, isReady: boolean): CheckState {
  if (/^ok\b/.test(text)) return "ok";
  if (/^degraded\b/.test(text)) return "degraded";
  if (/^(failing|failed|error|unavailable|starting|stopping|not |loading|waiting)/.test(text)) return "failing";
  return isReady ? "fact" : "failing";
}
