import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "../../words/copy";

interface Piece {
  text: string;
  classes: string;
}

/** A script with the colours of the editor. It is plain text until the grammar is loaded. */
export function ScriptView({ script }: { script: string }): JSX.Element {
  const [pieces, setPieces] = useState<Piece[]>([{ text: script, classes: "" }]);
  useEffect(() => {
    let isGone = false;
    setPieces([{ text: script, classes: "" }]);
    void import("../../editor/highlight").then(({ highlight }) => {
      if (!isGone) setPieces(highlight(script));
    });
    return () => {
      isGone = true;
    };
  }, [script]);
  return (
    <div class="code-block">
      <pre class="script" tabIndex={0} aria-label="Script">
        <code>
          {pieces.map(({ text, classes }, index) =>
            classes === "" ? (
              text
            ) : (
              <span key={index} class={classes}>
                {text}
              </span>
            ),
          )}
        </code>
      </pre>
      <CopyButton text={script} label="Copy the script" />
    </div>
  );
}
