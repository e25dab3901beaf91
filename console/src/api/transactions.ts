import { path, request, requestText } from "./client";
import { parseAnswer, parseDocument } from "./json";
import type { Replay, StatusUpdate, StatusUpdates, StoredEvaluation } from "./types";

/** A stored transaction: its text, its fields with exact numbers, and its evaluation. */
export interface StoredTransaction {
  text: string;
  fields: Record<string, unknown>;
  evaluation: StoredEvaluation;
}

export async function getTransaction(id: string, signal: AbortSignal): Promise<StoredTransaction> {
  const text = await requestText(path`transactions/${id}`, { signal });
  return {
    text,
    fields: parseDocument(text) as Record<string, unknown>,
    evaluation: parseAnswer(text) as StoredEvaluation,
  };
}

/** Derives the verdict again. The service takes up to 20 seconds. */
export function replayTransaction(id: string, signal?: AbortSignal): Promise<Replay> {
  return request(path`transactions/${id}/replay`, signal ? { signal } : {});
}

/** Returns the changes of the status of a transaction, oldest first. */
export async function statusUpdates(id: string, signal: AbortSignal): Promise<StatusUpdate[]> {
  const answer = await request<StatusUpdates>(path`transactions/${id}/status-updates`, { signal });
  return answer.status_updates;
}
