import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { diffLines, withContext } from "../../words/diff";
import { plural } from "../../words/number";

const CONTEXT_LINES = 2;

/** What a save would change, against the script in force. */
export function DiffPanel({ before, after }: { before: string; after: string }): JSX.Element {
  const diff = useMemo(() => diffLines(before, after), [before, after]);
  const added = diff.filter(({ kind }) => kind === "added").length;
  const removed = diff.filter(({ kind }) => kind === "removed").length;
  const isSame = added + removed === 0;
  return (
    <details class="panel diff-panel" open={!isSame}>
      <summary>
        Against what is in force: {isSame ? "no change" : `${plural(added, "line")} added, ${plural(removed, "line")} removed`}
      </summary>
      {!isSame && (
        <pre class="diff" tabIndex={0} aria-label="Change against what is in force">
          {withContext(diff, CONTEXT_LINES).map((line, index) =>
            line === null ? (
              <span key={index} class="gap">
                {"⋯\n"}
              </span>
            ) : (
              <span key={index} class={line.kind}>
                {`${{ same: " ", added: "+", removed: "−" }[line.kind]} ${line.text}\n`}
              </span>
            ),
          )}
        </pre>
      )}
    </details>
  );
}
