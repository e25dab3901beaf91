import { ifMatch, path, request, requestTagged, type TaggedText } from "./client";
import type { List, ListReading, ListWithEntries, SavedList, Schemas } from "./types";

export function listLists(signal: AbortSignal): Promise<List[]> {
  return request("lists", { signal });
}

export function getList(name: string, signal: AbortSignal): Promise<ListWithEntries> {
  return request(path`lists/${name}`, { signal });
}

/** Returns a list as the text of a list file, with its comments. */
export function getListText(name: string, signal?: AbortSignal): Promise<TaggedText> {
  return requestTagged(path`lists/${name}`, { headers: { Accept: "text/plain" }, ...(signal && { signal }) });
}

/** Tells how the service reads a text; it changes nothing. */
export function checkList(name: string, text: string, signal: AbortSignal): Promise<ListReading> {
  const body: Schemas["ListToCheck"] = { text };
  return request(path`lists/${name}/check`, { method: "POST", body, signal });
}

/** Sets a list, if it is still the one with this tag; without a tag, if there is none yet. */
export function setList(name: string, text: string, tag: string | null): Promise<SavedList> {
  return request(path`lists/${name}`, { method: "PUT", text, headers: ifMatch(tag) });
}

export function deleteList(name: string, sha256: string): Promise<void> {
  return request(path`lists/${name}`, { method: "DELETE", headers: ifMatch(`"${sha256}"`) });
}
