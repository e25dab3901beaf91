import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { checkScript } from "../../api/rules";
import type { ScriptCheck } from "../../api/types";

const DEBOUNCE_MS = 50;
/** The look-ups are estimated once nothing was typed for this time. */
const ESTIMATE_MS = 700;

export interface Checking {
  /** The latest result; `null` before the first one. */
  result: ScriptCheck | null;
  /** Whether the result is of the text in the editor. */
  isCurrent: boolean;
  error: ApiError | null;
}

/** Has the service check a script while it is typed. Only the latest text is waited for. */
export function useChecking(script: string, id: string | null): Checking {
  const [state, setState] = useState<{ script: string; result: ScriptCheck | null; error: ApiError | null }>({
    script: "",
    result: null,
    error: null,
  });
  const isFirst = useRef(true);
  useEffect(() => {
    const abort = new AbortController();
    const check = async () => {
      try {
        const result = await checkScript(script, id, false, abort.signal);
        setState({ script, result, error: null });
        if (result.rule === null || result.rule.cost.history_lookups === 0) return;
        await new Promise(resolve => setTimeout(resolve, ESTIMATE_MS));
        if (abort.signal.aborted) return;
        const { rule } = await checkScript(script, id, true, abort.signal);
        setState({ script, result: { ...result, rule }, error: null });
      } catch (error) {
        if (!abort.signal.aborted) setState(old => ({ ...old, script, error: ApiError.of(error) }));
      }
    };
    const timer = setTimeout(() => void check(), isFirst.current ? 0 : DEBOUNCE_MS);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [script, id]);
  return { result: state.result, error: state.error, isCurrent: state.script === script };
}
