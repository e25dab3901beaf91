import { path, request, requestText } from "./client";
import { parseAnswer, parseDocument } from "./json";
import type { Replay, StoredEvaluation } from "./types";

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
