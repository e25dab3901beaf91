import { path, request } from "./client";
import type { ListWithEntries, NamedList } from "./types";

export function listLists(signal: AbortSignal): Promise<NamedList[]> {
  return request("lists", { signal });
}

export function getList(name: string, signal: AbortSignal): Promise<ListWithEntries> {
  return request(path`lists/${name}`, { signal });
}

export function setList(name: string, entries: string[]): Promise<NamedList> {
  return request(path`lists/${name}`, { method: "PUT", body: entries });
}

export function deleteList(name: string): Promise<void> {
  return request(path`lists/${name}`, { method: "DELETE" });
}
