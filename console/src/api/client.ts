import { parseAnswer } from "./json";
import type { ErrorBody } from "./types";

/** The root of the API. The console is served at `console/` below it, behind any prefix of a proxy. */
const ROOT = new URL("../", location.href.split("#")[0]);

/** A request that failed: refused by the service, or never answered. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    /** Empty if the answer is not of the service, but of a proxy. */
    readonly body: Partial<ErrorBody>,
    readonly requestId: string | null,
  ) {
    super(body.error ?? `The service answered ${status}`);
  }

  /** Whatever a request failed by: an answer may also break off, or not be JSON. */
  static of(error: unknown): ApiError {
    if (error instanceof ApiError) return error;
    return new ApiError(0, { error: `The answer cannot be read: ${String(error)}`, code: "unreadable_answer" }, null);
  }

  get code(): string {
    return this.body.code ?? "unknown";
  }

  /** Whether somebody has changed what this request was to replace or remove. */
  get isStale(): boolean {
    return this.code === "precondition_failed";
  }

  /** Whether the same request may succeed later: no answer, one that cannot be read, too many requests, or a failure of the service. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export function apiUrl(path: string): URL {
  return new URL(path.replace(/^\//, ""), ROOT);
}

/** Builds a path whose inserted parts are percent-encoded. */
export function path(strings: TemplateStringsArray, ...parts: string[]): string {
  return strings.reduce((whole, text, index) => whole + encodeURIComponent(parts[index - 1] ?? "") + text);
}

export interface RequestOptions {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as plain text, in place of `body`. */
  text?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The text of an answer, and the tag of what it shows. */
export interface TaggedText {
  text: string;
  tag: string | null;
}

/** Sends a request and returns the text of its answer. */
export async function requestText(target: string, options: RequestOptions = {}): Promise<string> {
  return (await requestTagged(target, options)).text;
}

/** Sends a request and returns the text of its answer with its `ETag`. */
export async function requestTagged(target: string, options: RequestOptions = {}): Promise<TaggedText> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  const init: RequestInit = { method: options.method ?? "GET", headers, cache: "no-store" };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.body);
  } else if (options.text !== undefined) {
    headers["Content-Type"] = "text/plain; charset=utf-8";
    init.body = options.text;
  }
  const response = await sendSurely(target, init);
  const text = await response.text();
  if (response.ok) return { text, tag: response.headers.get("ETag") };
  throw new ApiError(response.status, errorBody(text), response.headers.get("X-Request-Id"));
}

/** Sends a request that reads once more if the service has closed the kept connection. A change is never repeated. */
async function sendSurely(target: string, init: RequestInit): Promise<Response> {
  try {
    return await send(target, init);
  } catch (error) {
    if (init.method !== "GET" || !(error instanceof ApiError) || error.code !== "unreachable") throw error;
    return await send(target, init);
  }
}

async function send(target: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(apiUrl(target), init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const message = isLate ? "The service did not answer in time." : "The service cannot be reached. It may be stopped or restarting.";
    throw new ApiError(0, { error: message, code: "unreachable" }, null);
  }
}

function errorBody(text: string): Partial<ErrorBody> {
  try {
    const body = parseAnswer(text);
    return typeof body === "object" && body !== null ? (body as ErrorBody) : {};
  } catch {
    return {};
  }
}

/** Sends a request and returns its answer with exact numbers. */
export async function request<T>(target: string, options: RequestOptions = {}): Promise<T> {
  const text = await requestText(target, options);
  return (text === "" ? null : parseAnswer(text)) as T;
}

/** A condition of a change: what it replaces is still what was read. Without a tag, there must be nothing yet. */
export function ifMatch(tag: string | null): Record<string, string> {
  return tag === null ? { "If-None-Match": "*" } : { "If-Match": tag };
}
