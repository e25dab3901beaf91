import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiError } from "../api/client";
import { listen } from "../live/events";

/** Something loaded from the service: its last good value stays while it is loaded again or cannot be. */
export interface Resource<T> {
  data: Signal<T | null>;
  error: Signal<ApiError | null>;
  isLoading: Signal<boolean>;
  /** When `data` was received, in milliseconds. */
  asOf: Signal<number>;
  reload(): Promise<void>;
}

/** A load that takes longer counts as failed. */
const LOAD_MS = 30_000;
/** A load that failed is tried again after this time, which doubles with each failure. */
const RETRY_MS = 2_000;
const RETRY_MS_MAX = 30_000;

type Load<T> = (signal: AbortSignal) => Promise<T>;

interface ResourceOptions {
  /** Load again after this time. */
  everyMs?: number;
  /** Load again when rules or lists change. */
  onRules?: boolean;
}

/** The values of the pages visited last, so that going back shows something at once. */
const RECENT_MAX = 24;
const recent = new Map<string, { value: unknown; at: number }>();

function remember(key: string, value: unknown): void {
  recent.delete(key);
  recent.set(key, { value, at: Date.now() });
  if (recent.size > RECENT_MAX) recent.delete(recent.keys().next().value as string);
}

class LoadedResource<T> implements Resource<T> {
  readonly data: Signal<T | null>;
  readonly error = signal<ApiError | null>(null);
  readonly isLoading = signal(true);
  readonly asOf: Signal<number>;
  #abort = new AbortController();
  #isOutdated = false;
  #isStopped = false;
  #n_failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly key: string,
    readonly load: Load<T>,
  ) {
    const known = recent.get(key);
    this.data = signal((known?.value as T | undefined) ?? null);
    this.asOf = signal(known?.at ?? 0);
  }

  reload = async (): Promise<void> => {
    this.#abort.abort();
    const abort = new AbortController();
    this.#abort = abort;
    clearTimeout(this.#retry);
    this.isLoading.value = true;
    try {
      const value = await this.load(AbortSignal.any([abort.signal, AbortSignal.timeout(LOAD_MS)]));
      if (abort.signal.aborted) return;
      remember(this.key, value);
      this.data.value = value;
      this.asOf.value = Date.now();
      this.error.value = null;
      this.#n_failures = 0;
    } catch (error) {
      if (abort.signal.aborted) return;
      this.error.value = ApiError.of(error);
      if (this.error.value.isTemporary) this.#retryLater();
    }
    this.isLoading.value = false;
    if (this.#isOutdated) this.refresh();
  };

  /** Loads again, after the load that is under way: however often things change, some load comes to its end. */
  refresh = (): void => {
    this.#isOutdated = this.isLoading.value;
    if (!this.#isOutdated) void this.reload();
  };

  /** Nobody has to reload a page because the service was away for a moment. */
  #retryLater(): void {
    if (this.#isStopped) return;
    const delayMs = Math.min(RETRY_MS * 2 ** this.#n_failures, RETRY_MS_MAX);
    this.#n_failures += 1;
    this.#retry = setTimeout(() => void this.reload(), delayMs);
  }

  start(): void {
    this.#isStopped = false;
    void this.reload();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    this.#abort.abort();
  }
}

/** Loads something while the component is shown. `key` names it: with another key, something else is loaded. */
export function useResource<T>(key: string, load: Load<T>, options: ResourceOptions = {}): Resource<T> {
  const resource = useMemo(() => new LoadedResource(key, load), [key]);
  useEffect(() => {
    resource.start();
    const stops: (() => void)[] = [() => resource.stop(), listen("resync", resource.refresh)];
    if (options.onRules) {
      stops.push(listen("rules", resource.refresh), listen("changed", resource.refresh));
    }
    const { everyMs } = options;
    if (everyMs !== undefined) {
      const timer = setInterval(() => {
        if (document.visibilityState === "visible" && !resource.isLoading.value) void resource.reload();
      }, everyMs);
      stops.push(() => clearInterval(timer));
    }
    return () => {
      for (const stop of stops) stop();
    };
  }, [resource]);
  return resource;
}
