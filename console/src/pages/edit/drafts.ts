import { readStored, store } from "../../app/storage";

/** Unsaved scripts, kept in this browser until they are saved or discarded. */
const PREFIX = "tollgate.draft.";

export interface Draft {
  script: string;
  at: number;
  /** The tag of the rule that the text is an edit of. */
  tag: string | null;
}

export function readDraft(id: string): Draft | null {
  try {
    const draft = JSON.parse(readStored(PREFIX + id) ?? "null") as Draft | null;
    return draft !== null && typeof draft.script === "string" ? draft : null;
  } catch {
    return null;
  }
}

export function writeDraft(id: string, script: string, tag: string | null): void {
  store(PREFIX + id, JSON.stringify({ script, at: Date.now(), tag }));
}

export function removeDraft(id: string): void {
  store(PREFIX + id, null);
}
