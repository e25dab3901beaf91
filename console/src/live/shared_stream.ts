import type { ServerEvent } from "./sse";
import { holdStream, type StreamState } from "./stream";

/**
 * One stream for all tabs of a browser. HTTP/1.1 allows six connections to a service, so a stream in every tab would
 * leave none for requests. The tab that has the lock holds the stream and tells the others:
 *
 *   service ── stream ──▶ tab with the lock ── BroadcastChannel ──▶ other tabs
 */
const LOCK = "tollgate-console-stream";
const CHANNEL = "tollgate-console-events";

type Message =
  | { kind: "event"; event: ServerEvent }
  | { kind: "state"; state: StreamState }
  /** A new tab asks for the state. */
  | { kind: "hello" };

interface Listeners {
  onEvent(event: ServerEvent): void;
  onState(state: StreamState): void;
}

export function startSharedStream(listeners: Listeners): void {
  // Without a secure context there are no locks: each visible tab has its own stream.
  if (!("locks" in navigator)) {
    streamWhileVisible(listeners);
    return;
  }
  const channel = new BroadcastChannel(CHANNEL);
  let lastId = "";
  let state: StreamState = "connecting";
  let isLeader = false;
  const receive = {
    onEvent(event: ServerEvent): void {
      if (event.id !== "") lastId = event.id;
      listeners.onEvent(event);
    },
    onState(next: StreamState): void {
      state = next;
      listeners.onState(next);
    },
  };
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === "event") receive.onEvent(data.event);
    else if (data.kind === "state") receive.onState(data.state);
    else if (isLeader) channel.postMessage({ kind: "state", state } satisfies Message);
  };
  channel.postMessage({ kind: "hello" } satisfies Message);
  // The lock is released when the tab ends; the next tab in the queue continues after the last event it heard.
  void navigator.locks.request(LOCK, () => {
    isLeader = true;
    const hooks = {
      onEvent(event: ServerEvent): void {
        receive.onEvent(event);
        channel.postMessage({ kind: "event", event } satisfies Message);
      },
      onState(next: StreamState): void {
        receive.onState(next);
        channel.postMessage({ kind: "state", state: next } satisfies Message);
      },
    };
    return holdStream(lastId, hooks, new AbortController().signal);
  });
}

function streamWhileVisible(listeners: Listeners): void {
  let lastId = "";
  let stop: AbortController | null = null;
  const hooks = {
    onState: listeners.onState,
    onEvent(event: ServerEvent): void {
      if (event.id !== "") lastId = event.id;
      listeners.onEvent(event);
    },
  };
  const follow = () => {
    if (document.visibilityState === "visible" && stop === null) {
      stop = new AbortController();
      void holdStream(lastId, hooks, stop.signal);
    } else if (document.visibilityState === "hidden" && stop !== null) {
      stop.abort();
      stop = null;
    }
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}
