import type { ListReading } from "../../api/types";
import { plural } from "../../words/number";

export type Way = "add" | "remove";

/** What pasted lines do to a list. */
export interface Change {
  added: string[];
  removed: string[];
  /** Number of entries after it. */
  count: number;
  /** Returns the text of the list after the change. */
  apply(before: string): string;
}

export const EMPTY_CHANGE: Change = { added: [], removed: [], count: 0, apply: before => before };

/** Compares the entries that the service read with those of the list. */
export function changeOf(entries: string[], reading: ListReading, way: Way): Change {
  const read = new Set(reading.lines.flatMap(({ entry }) => (entry === null ? [] : [entry])));
  const present = new Set(entries);
  if (way === "add") {
    const added = [...read].filter(entry => !present.has(entry));
    const lines = newLines(reading, present);
    return { added, removed: [], count: present.size + added.length, apply: before => append(before, lines) };
  }
  const removed = [...read].filter(entry => present.has(entry));
  return {
    added: [],
    removed,
    count: present.size - removed.length,
    apply: before => withoutEntries(before, removed),
  };
}

/** The lines as they were pasted, without entries that are there: the service reads them as it has shown. */
function newLines({ lines }: ListReading, present: Set<string>): string[] {
  const seen = new Set(present);
  const isNew = (entry: string | null) => entry === null || (!seen.has(entry) && seen.add(entry) !== undefined);
  return lines.filter(({ entry }) => isNew(entry)).map(({ text }) => text);
}

function append(before: string, lines: string[]): string {
  const end = before === "" || before.endsWith("\n") ? "" : "\n";
  return `${before}${end}${lines.join("\n")}\n`;
}

/** Leaves out the lines of these entries: plain or in quotation marks, with or without a comment behind. */
function withoutEntries(before: string, removed: string[]): string {
  const written = new Set(removed.flatMap(entry => [entry, JSON.stringify(entry)]));
  const isRemoved = (line: string) => {
    const trimmed = line.trim();
    if (written.has(trimmed)) return true;
    return [...trimmed.matchAll(/\s+#(?=\s|$)/g)].some(({ index }) => written.has(trimmed.slice(0, index)));
  };
  const kept = before.split("\n").filter(line => !isRemoved(line));
  // An empty list says that it is meant.
  const hasEntry = kept.some(line => line.trim() !== "" && !line.trim().startsWith("#"));
  return hasEntry ? kept.join("\n") : `# empty on purpose\n${kept.join("\n")}`;
}

export function summary({ added, removed }: Change): string {
  if (removed.length > 0) return `${plural(removed.length, "entry", "entries")} removed`;
  return `${plural(added.length, "entry", "entries")} added`;
}
