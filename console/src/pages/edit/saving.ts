import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { checkScript, replaceRule, saveNewRule } from "../../api/rules";
import type { Instruction } from "../../api/types";
import { say } from "../../app/announce";
import { tellChanged } from "../../live/events";
import { plural } from "../../words/number";
import { removeDraft } from "./drafts";

/** How long a save waits for the trial of its rule. */
const CHECK_MS = 10_000;

export interface Saving {
  isBusy: boolean;
  error: ApiError | null;
  /** How many of the latest transactions the rule would have stopped; a save waits until that is confirmed. */
  broad: string | null;
  /** Returns the saved rule; `null` if it was refused or has to be confirmed. */
  save(script: string, tag: string | null, isConfirmed: boolean): Promise<Instruction | null>;
  clear(): void;
}

export function useSaving(id: string | null): Saving {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [broad, setBroad] = useState<string | null>(null);
  const save = async (script: string, tag: string | null, isConfirmed: boolean) => {
    setBusy(true);
    setError(null);
    setBroad(null);
    try {
      const would_have_matched = isConfirmed ? null : await breadthOf(script, id);
      if (would_have_matched !== null) {
        setBroad(would_have_matched);
        return null;
      }
      const rule = await (id === null ? saveNewRule(script, isConfirmed) : replaceRule(id, script, tag, isConfirmed));
      removeDraft(id ?? "new");
      const warnings = rule.warnings.length > 0 ? `, with ${plural(rule.warnings.length, "warning")}` : "";
      say(`${rule.name} ${rule.status === "activating" ? "is saved and waits for the history" : "is in force"}${warnings}`);
      tellChanged();
      return rule;
    } catch (problem) {
      const refused = ApiError.of(problem);
      if (refused.code === "confirmation_required") setBroad(/\d+ of \d+/.exec(refused.message)?.[0] ?? "most");
      else setError(refused);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const clear = () => (setError(null), setBroad(null));
  return { isBusy, error, broad, save, clear };
}

/** Asks how many transactions a script would have stopped. A check that fails leaves the answer to the save. */
async function breadthOf(script: string, id: string | null): Promise<string | null> {
  try {
    return (await checkScript(script, id, true, AbortSignal.timeout(CHECK_MS))).would_have_matched;
  } catch {
    return null;
  }
}
