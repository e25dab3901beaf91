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
/** A stream that is renewed counts as live for so long before the next one has begun. */
const RENEWAL_MAX_MS = 2_000;

/** How a stream ended: it never began, it broke, or the service ended it after it had sent something. */
type StreamEnd = "refused" | "broken" | "ended";

/**
 * Holds the event stream until `stop` is aborted. It is read with `fetch`, because `EventSource` cannot name the last
 * event when another tab takes the stream over, and gives up for good on an error status.
 *
 * The service ends each stream at the age limit of its connection. The next one continues after the last event, so the
 * state stays "live".
 */
export async function holdStream(lastId: string, hooks: StreamHooks, stop: AbortSignal): Promise<void> {
  const parser = new EventParser(lastId);
  let waitMs = WAIT_MIN_MS;
  let isRenewal = false;
  while (!stop.aborted) {
    const late = setTimeout(() => hooks.onState("connecting"), isRenewal ? RENEWAL_MAX_MS : 0);
    const onLive = () => {
      clearTimeout(late);
      hooks.onState("live");
    };
    const end = await readOnce(parser, { onEvent: hooks.onEvent, onLive }, stop);
    clearTimeout(late);
    if (stop.aborted) return;
    isRenewal = end === "ended";
    if (!isRenewal) hooks.onState("waiting");
    waitMs = end === "refused" ? Math.min(waitMs * 2, WAIT_MAX_MS) : WAIT_MIN_MS;
    await pause(waitMs * (0.75 + Math.random() / 2), stop);
  }
}

interface ReadHooks {
  onEvent(event: ServerEvent): void;
  onLive(): void;
}

/** Reads a stream to its end. */
async function readOnce(parser: EventParser, hooks: ReadHooks, stop: AbortSignal): Promise<StreamEnd> {
  const abort = new AbortController();
  const onStop = () => abort.abort();
  stop.addEventListener("abort", onStop, { once: true });
  let watchdog = setTimeout(onStop, SILENCE_MAX_MS);
  const touch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(onStop, SILENCE_MAX_MS);
  };
  let end: StreamEnd = "refused";
  try {
    const response = await fetch(apiUrl("events?topics=ticks,verdicts,rules"), request(parser.lastId, abort.signal));
    if (!response.ok || response.body === null) return end;
    end = "broken";
    hooks.onLive();
    if (await readBody(response.body, parser, hooks, touch)) end = "ended";
  } catch {
    // The connection broke, was silent for too long, or was stopped.
  } finally {
    clearTimeout(watchdog);
    stop.removeEventListener("abort", onStop);
    abort.abort();
  }
  return end;
}

function request(lastId: string, signal: AbortSignal): RequestInit {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastId !== "") headers["Last-Event-ID"] = lastId;
  return { headers, signal, cache: "no-store" };
}

/** Returns whether there was an event. */
async function readBody(body: ReadableStream<Uint8Array>, parser: EventParser, hooks: ReadHooks, touch: () => void): Promise<boolean> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let hasEvents = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return hasEvents;
    touch();
    for (const event of parser.push(decoder.decode(value, { stream: true }))) {
      hasEvents = true;
      hooks.onEvent(event);
    }
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms);
    stop.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
