import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { checkList } from "../../api/lists";
import type { ListReading } from "../../api/types";
import { plural } from "../../words/number";
import { Text } from "../../words/text";

/** How the service reads the pasted lines. */
export interface Reading {
  result: ListReading | null;
  error: ApiError | null;
  /** Whether it is about the present text. */
  isFresh: boolean;
}

/** Pause after the last key before the service is asked. */
const PAUSE_MS = 200;
const SHOWN_MAX = 50;

export function useReading(name: string, pasted: string): Reading {
  const [reading, setReading] = useState<Omit<Reading, "isFresh"> & { of: string }>({ of: "", result: null, error: null });
  useEffect(() => {
    if (pasted.trim() === "") {
      setReading({ of: pasted, result: null, error: null });
      return;
    }
    const abort = new AbortController();
    const ask = async () => {
      try {
        const result = await checkList(name, pasted, abort.signal);
        setReading({ of: pasted, result, error: null });
      } catch (problem) {
        if (!abort.signal.aborted) setReading({ of: pasted, result: null, error: ApiError.of(problem) });
      }
    };
    const timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => (clearTimeout(timer), abort.abort());
  }, [name, pasted]);
  return { result: reading.result, error: reading.error, isFresh: reading.of === pasted && reading.result !== null };
}

/** Each line beside the entry that it is read as. */
export function ReadingView({ reading: { result, error } }: { reading: Reading }): JSX.Element | null {
  if (error !== null) {
    return (
      <p class="notice error" role="alert">
        <Text value={error.message} />
      </p>
    );
  }
  if (result === null) return null;
  const n_hidden = Math.max(0, result.lines.length - SHOWN_MAX) + result.n_more_lines;
  return (
    <>
      <table class="small" aria-label="How each line is read">
        <thead>
          <tr>
            <th>Line</th>
            <th>As pasted</th>
            <th>Read as</th>
          </tr>
        </thead>
        <tbody>
          {result.lines.slice(0, SHOWN_MAX).map(({ line, text, entry }) => (
            <tr key={line}>
              <td>{String(line)}</td>
              <td class="mono">
                <Text value={text} />
              </td>
              <td class="mono">{entry === null ? <span class="quiet">a comment</span> : <Text value={entry} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {result.n_more_lines > 0 && (
        <p class="notice error" role="alert">
          These are more than 100,000 lines. Put a list of that length into a file, or set it over the API.
        </p>
      )}
      {n_hidden > 0 && <p class="quiet">Not shown: {plural(n_hidden, "more line")}.</p>}
      {result.warnings.map(({ position, message }) => (
        <p key={position} class="notice warn">
          Line {String(position)}: <Text value={message} />
        </p>
      ))}
    </>
  );
}
