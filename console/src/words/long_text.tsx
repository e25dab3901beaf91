import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { count } from "./number";
import { Text } from "./text";

/** Characters shown of a long text until it is asked for. */
const SHOWN_MAX = 320;

/** A text that may be long: its begin, and a button that shows the rest. */
export function LongText({ value, none }: { value: string | null | undefined; none?: string }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const text = value ?? "";
  if (isWhole || text.length <= SHOWN_MAX) return <Text value={value} {...(none !== undefined && { none })} />;
  return (
    <>
      <Text value={text.slice(0, SHOWN_MAX)} />…{" "}
      <button type="button" class="small" onClick={() => setWhole(true)}>
        Show all {count(text.length)} characters
      </button>
    </>
  );
}
