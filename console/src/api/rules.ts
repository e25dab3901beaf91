import { ApiError, ifMatch, path, type RequestOptions, request, requestTagged } from "./client";
import { parseAnswer } from "./json";
import type { CheckResult, Rule, RuleHits, RuleSummary } from "./types";

/** Lists the rules in short. A service that has no summaries answers whole instructions, without counts. */
export async function listRules(signal?: AbortSignal): Promise<RuleSummary[]> {
  try {
    return await request<RuleSummary[]>("instructions/summaries", withSignal(signal));
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 400)) throw error;
    const rules = await request<Rule[]>("instructions", withSignal(signal));
    return rules.map(rule => ({ ...rule, cost: rule.module.cost, hits: null, failures: null, hourly: [] }));
  }
}

export async function getRule(id: string, signal?: AbortSignal): Promise<Rule> {
  const { text, tag } = await requestTagged(path`instructions/${id}`, withSignal(signal));
  return { ...(parseAnswer(text) as Rule), tag };
}

export function ruleHits(id: string, signal?: AbortSignal): Promise<RuleHits> {
  return request(path`instructions/${id}/hits`, withSignal(signal));
}

/** Compiles a script without saving it. An estimate of its look-ups takes longer. */
export function checkScript(script: string, id: string | null, estimate: boolean, signal: AbortSignal): Promise<CheckResult> {
  const body = { script, estimate, ...(id !== null && { instruction_id: Number(id) }) };
  return request("instructions/check", { method: "POST", body, signal });
}

/** Has the answer arrive before the history is read for the rule, which may take minutes. */
const WITHOUT_WAITING = { Prefer: "respond-async" };

/** What a save confirms: that a rule is meant to stop most transactions. */
function query(isConfirmed: boolean): string {
  return isConfirmed ? "?confirm=true" : "";
}

export function saveNewRule(script: string, isConfirmed: boolean): Promise<Rule> {
  return request(`compile-and-save-instruction${query(isConfirmed)}`, { method: "POST", body: { script }, headers: WITHOUT_WAITING });
}

/** Replaces a rule, if it is still the one with this tag. */
export function replaceRule(id: string, script: string, tag: string | null, isConfirmed: boolean): Promise<Rule> {
  const headers = { ...WITHOUT_WAITING, ...ifMatch(tag) };
  return request(path`instructions/${id}` + query(isConfirmed), { method: "PUT", body: { script }, headers });
}

/** Deletes a rule, if it is still the one with this tag. */
export function deleteRule(id: string, tag: string | null): Promise<void> {
  return request(path`instructions/${id}`, { method: "DELETE", headers: ifMatch(tag) });
}

export function releaseRule(id: string): Promise<Rule> {
  return request(path`instructions/${id}/release`, { method: "POST" });
}

function withSignal(signal: AbortSignal | undefined): RequestOptions {
  return signal ? { signal } : {};
}
