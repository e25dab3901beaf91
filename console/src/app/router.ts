import { computed, signal } from "@preact/signals";

/** The place that the hash of the address names: `#/rules/12?sort=hits`. It never reaches the service or its log. */
export interface Route {
  segments: string[];
  query: URLSearchParams;
}

function parseHash(hash: string): Route {
  const [pathPart = "", queryPart = ""] = split(hash.replace(/^#\/?/, ""), "?");
  const segments = pathPart
    .split("/")
    .filter(segment => segment !== "")
    .map(decode);
  return { segments, query: new URLSearchParams(queryPart) };
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const hash = signal(location.hash);
export const route = computed(() => parseHash(hash.value));
/** Changes when another page is shown, but not when only the query changes. */
export const place = computed(() => route.value.segments.map(encodeURIComponent).join("/"));

type Guard = () => boolean;
let guard: Guard | null = null;

/** Asks `ask` before the page is left; it returns whether to go. Returns the function that ends this. */
export function guardLeaving(ask: Guard): () => void {
  guard = ask;
  return () => {
    if (guard === ask) guard = null;
  };
}

export function startRouter(): void {
  addEventListener("hashchange", () => {
    if (location.hash === hash.value) return;
    if (guard !== null && !guard()) {
      history.replaceState(null, "", hash.value || "#/");
      return;
    }
    hash.value = location.hash;
  });
}

export function go(target: string): void {
  location.hash = target;
}

/** Changes the query of the current page without a new entry in the history of the browser. */
export function setQuery(changes: Record<string, string | null>): void {
  const query = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const next = `#/${place.value}${text && `?${text}`}`;
  history.replaceState(null, "", next);
  hash.value = next;
}

/** Builds an address of the console from its parts: `link("rules", id)`. */
export function link(...segments: string[]): string {
  return `#/${segments.map(encodeURIComponent).join("/")}`;
}
