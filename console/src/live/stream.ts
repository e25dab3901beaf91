import { apiUrl } from "../api/client";
import { EventParser, type ServerEvent } from "./sse";

export type StreamState = "connecting" | "live" | "waiting";

interface StreamHooks {
  onEvent(event: ServerEvent): void;
  onState(state: StreamState): void;
}

/** The service sends a comment every 15 seconds; a stream that is silent for longer is dead. */
const SILENCE_MAX_MS = 40_000;
const WAIT_MIN_MS = 500;
const WAIT_MAX_MS = 15_000;

/**
 * Holds the event stream until `stop` is aborted. It is read with `fetch`, because `EventSource` cannot name the last
 * event when another tab takes the stream over, and gives up for good on an error status.
 */
export async function holdStream(lastId: string, hooks: StreamHooks, stop: AbortSignal): Promise<void> {
  const parser = new EventParser(lastId);
  let waitMs = WAIT_MIN_MS;
  while (!stop.aborted) {
    hooks.onState("connecting");
    const wasLive = await readOnce(parser, hooks, stop);
    if (stop.aborted) return;
    hooks.onState("waiting");
    waitMs = wasLive ? WAIT_MIN_MS : Math.min(waitMs * 2, WAIT_MAX_MS);
    await pause(waitMs * (0.75 + Math.random() / 2), stop);
  }
}

/** Reads a stream to its end. Returns whether the service has sent one. */
async function readOnce(parser: EventParser, hooks: StreamHooks, stop: AbortSignal): Promise<boolean> {
  const abort = new AbortController();
  const onStop = () => abort.abort();
  stop.addEventListener("abort", onStop, { once: true });
  let watchdog = setTimeout(onStop, SILENCE_MAX_MS);
  const touch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(onStop, SILENCE_MAX_MS);
  };
  let isLive = false;
  try {
    const response = await fetch(apiUrl("events?topics=ticks,verdicts,rules"), request(parser.lastId, abort.signal));
    if (!response.ok || response.body === null) return false;
    isLive = true;
    hooks.onState("live");
    await readBody(response.body, parser, hooks, touch);
  } catch {
    // The connection broke, was silent for too long, or was stopped.
  } finally {
    clearTimeout(watchdog);
    stop.removeEventListener("abort", onStop);
    abort.abort();
  }
  return isLive;
}

function request(lastId: string, signal: AbortSignal): RequestInit {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastId !== "") headers["Last-Event-ID"] = lastId;
  return { headers, signal, cache: "no-store" };
}

async function readBody(body: ReadableStream<Uint8Array>, parser: EventParser, hooks: StreamHooks, touch: () => void): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    touch();
    for (const event of parser.push(decoder.decode(value, { stream: true }))) hooks.onEvent(event);
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms);
    stop.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
