import { ApiError, apiUrl, path, request } from "./client";
import { parseAnswer } from "./json";
import type { DeadLetters, DeadLettersView, Readiness, Stats, System } from "./types";

/** Asks for readiness. A service that is not ready answers 503 with the same body. */
export async function readiness(signal: AbortSignal): Promise<Readiness> {
  let response: Response;
  try {
    response = await fetch(apiUrl("readyz"), { signal, cache: "no-store" });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError(0, { error: "The service cannot be reached.", code: "unreachable" }, null);
  }
  return parseAnswer(await response.text()) as Readiness;
}

export function systemState(signal: AbortSignal): Promise<System> {
  return request("system", { signal });
}

export function alertDeadLetters(signal: AbortSignal): Promise<DeadLetters> {
  return request("alerts/dead-letters", { signal });
}

export function ledgerDeadLetters(signal: AbortSignal): Promise<DeadLettersView> {
  return request("ledger/dead-letters", { signal });
}

export function replayDeadLetter(kind: "alerts" | "ledger", id: string): Promise<unknown> {
  return request(path`${kind}/dead-letters/${id}/replay`, { method: "POST" });
}

export function stats(by: "verdict" | "rule" | "failure", hours: number, signal: AbortSignal): Promise<Stats> {
  const to = Date.now();
  const query = new URLSearchParams({
    from: new Date(to - hours * 3_600_000).toISOString(),
    to: new Date(to).toISOString(),
    step: hours <= 24 ? "PT1M" : "PT1H",
    by,
  });
  return request(`stats?${query}`, { signal });
}
