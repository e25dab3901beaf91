import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { replaceRule, saveNewRule } from "../../api/rules";
import type { Rule } from "../../api/types";
import { say } from "../../app/announce";
import { tellChanged } from "../../live/events";
import { plural } from "../../words/number";
import { removeDraft } from "./drafts";

export interface Saving {
  isBusy: boolean;
  error: ApiError | null;
  /** Returns the saved rule; `null` if it was refused. */
  save(script: string, tag: string | null): Promise<Rule | null>;
  clear(): void;
}

export function useSaving(id: string | null): Saving {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const save = async (script: string, tag: string | null) => {
    setBusy(true);
    setError(null);
    try {
      const rule = await (id === null ? saveNewRule(script) : replaceRule(id, script, tag));
      removeDraft(id ?? "new");
      const warnings = rule.warnings.length > 0 ? `, with ${plural(rule.warnings.length, "warning")}` : "";
      say(`${rule.name} ${rule.status === "activating" ? "is saved and waits for the history" : "is in force"}${warnings}`);
      tellChanged();
      return rule;
    } catch (problem) {
      setError(ApiError.of(problem));
      return null;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, save, clear: () => setError(null) };
}
