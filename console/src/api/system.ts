import { ApiError, apiUrl, path, request } from "./client";
import { parseAnswer } from "./json";
import { stateFromMetrics } from "./metrics";
import type { AlertDeadLetter, LedgerDeadLetter, Readiness, Stats, SystemState } from "./types";

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

let hasSystem = true;

/** Reads the state of the process. A service without `GET /system` tells most of it in its metrics. */
export async function systemState(signal: AbortSignal): Promise<SystemState> {
  if (!hasSystem) return stateFromMetrics(signal);
  try {
    return await request<SystemState>("system", { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.isNotOffered) throw error;
    hasSystem = false;
    return stateFromMetrics(signal);
  }
}

/** The limit of the history's memory in bytes, as the check `memory` names it. */
export function historyLimit(readiness: Readiness | null): number | null {
  const mebibytes = /(\d+) MiB for the history/.exec(readiness?.checks["memory"] ?? "")?.[1];
  return mebibytes === undefined ? null : Number(mebibytes) * 1024 * 1024;
}

export async function alertDeadLetters(
  signal: AbortSignal,
): Promise<{ count: number; pending: number; dead_letters: AlertDeadLetter[] }> {
  return request("alerts/dead-letters", { signal });
}

export async function ledgerDeadLetters(
  signal: AbortSignal,
): Promise<{ count: number; dead_letters: LedgerDeadLetter[] }> {
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
