import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { replaceRule, saveNewRule } from "../../api/rules";
import type { Rule } from "../../api/types";
import { say } from "../../app/announce";
import { tellChanged } from "../../live/events";
import { removeDraft } from "./drafts";

export interface Saving {
  isBusy: boolean;
  error: ApiError | null;
  /** Returns the saved rule; `null` if it was refused. */
  save(script: string): Promise<Rule | null>;
  clear(): void;
}

export function useSaving(id: string | null): Saving {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const save = async (script: string) => {
    setBusy(true);
    setError(null);
    try {
      const rule = await (id === null ? saveNewRule(script) : replaceRule(id, script));
      removeDraft(id ?? "new");
      say(rule.status === "activating" ? `${rule.name} is saved and waits for the history` : `${rule.name} is in force`);
      tellChanged();
      return rule;
    } catch (problem) {
      if (problem instanceof ApiError) setError(problem);
      return null;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, save, clear: () => setError(null) };
}
