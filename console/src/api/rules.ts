import { ifMatch, path, type RequestOptions, request, requestTagged } from "./client";
import { parseAnswer } from "./json";
import type { Hits, Instruction, InstructionSummary, Schemas, ScriptCheck, TaggedInstruction } from "./types";

export function listRules(signal?: AbortSignal): Promise<InstructionSummary[]> {
  return request("instructions/summaries", withSignal(signal));
}

export async function getRule(id: string, signal?: AbortSignal): Promise<TaggedInstruction> {
  const { text, tag } = await requestTagged(path`instructions/${id}`, withSignal(signal));
  return { ...(parseAnswer(text) as Instruction), tag };
}

export function ruleHits(id: string, signal?: AbortSignal): Promise<Hits> {
  return request(path`instructions/${id}/hits`, withSignal(signal));
}

/** Compiles a script without saving it. An estimate of its look-ups takes longer. */
export function checkScript(script: string, id: string | null, estimate: boolean, signal: AbortSignal): Promise<ScriptCheck> {
  const body: Schemas["ScriptToCheck"] = { script, estimate, ...(id !== null && { instruction_id: Number(id) }) };
  return request("instructions/check", { method: "POST", body, signal });
}

/** Has the answer arrive before the history is read for the rule, which may take minutes. */
const WITHOUT_WAITING = { Prefer: "respond-async" };

/** What a save confirms: that a rule is meant to stop most transactions. */
function query(isConfirmed: boolean): string {
  return isConfirmed ? "?confirm=true" : "";
}

export function saveNewRule(script: string, isConfirmed: boolean): Promise<Instruction> {
  const body: Schemas["InstructionScript"] = { script };
  return request(`compile-and-save-instruction${query(isConfirmed)}`, { method: "POST", body, headers: WITHOUT_WAITING });
}

/** Replaces a rule, if it is still the one with this tag. */
export function replaceRule(id: string, script: string, tag: string | null, isConfirmed: boolean): Promise<Instruction> {
  const body: Schemas["InstructionScript"] = { script };
  const headers = { ...WITHOUT_WAITING, ...ifMatch(tag) };
  return request(path`instructions/${id}` + query(isConfirmed), { method: "PUT", body, headers });
}

/** Deletes a rule, if it is still the one with this tag. */
export function deleteRule(id: string, tag: string | null): Promise<void> {
  return request(path`instructions/${id}`, { method: "DELETE", headers: ifMatch(tag) });
}

export function releaseRule(id: string): Promise<Instruction> {
  return request(path`instructions/${id}/release`, { method: "POST" });
}

function withSignal(signal: AbortSignal | undefined): RequestOptions {
  return signal ? { signal } : {};
}
