import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { setList } from "../../api/lists";
import { say } from "../../app/announce";
import { tellChanged } from "../../live/events";
import { ErrorDetails } from "../../states/views";
import { plural } from "../../words/number";
import { Text } from "../../words/text";

interface EditProps {
  name: string;
  entries: string[];
  isNew: boolean;
  reload: () => Promise<void>;
}

type Way = "add" | "remove";

interface Change {
  next: string[];
  added: string[];
  removed: string[];
}

/** Adds or removes pasted lines. What would change is shown before anything is sent. */
export function EditEntries({ name, entries, isNew, reload }: EditProps): JSX.Element {
  const [pasted, setPasted] = useState("");
  const [way, setWay] = useState<Way>("add");
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const change = useMemo(() => changeOf(entries, pasted, way), [entries, pasted, way]);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await setList(name, change.next);
      setPasted("");
      say(`${name}: ${summary(change)}`);
      await reload();
      tellChanged();
    } catch (problem) {
      setError(ApiError.of(problem));
    }
    setBusy(false);
  };
  const hasChange = change.added.length + change.removed.length > 0;
  return (
    <details class="panel" open={isNew}>
      <summary>Add or remove entries</summary>
      <form onSubmit={(event) => void send(event)}>
        <label class="block">
          One entry a line
          <textarea rows={5} value={pasted} onInput={(event) => setPasted(event.currentTarget.value)} spellcheck={false} />
        </label>
        {!isNew && <WayChoice way={way} setWay={setWay} />}
        <Preview change={change} />
        {error !== null && (
          <div class="notice error" role="alert">
            <Text value={error.message} />
            <ErrorDetails error={error} />
          </div>
        )}
        <button type="submit" disabled={isBusy || !hasChange}>
          Put in force
        </button>
      </form>
    </details>
  );
}

function WayChoice({ way, setWay }: { way: Way; setWay: (way: Way) => void }): JSX.Element {
  return (
    <fieldset class="inline">
      <legend class="hidden-text">What to do with these lines</legend>
      {(["add", "remove"] as const).map((each) => (
        <label key={each}>
          <input type="radio" name="way" checked={way === each} onChange={() => setWay(each)} />{" "}
          {each === "add" ? "Add" : "Remove"}
        </label>
      ))}
    </fieldset>
  );
}

function changeOf(entries: string[], pasted: string, way: Way): Change {
  const lines = new Set(pasted.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== ""));
  const present = new Set(entries);
  if (way === "add") {
    const added = [...lines].filter((line) => !present.has(line));
    return { next: [...entries, ...added], added, removed: [] };
  }
  const removed = [...lines].filter((line) => present.has(line));
  return { next: entries.filter((entry) => !lines.has(entry)), added: [], removed };
}

function summary({ added, removed }: Change): string {
  if (removed.length > 0) return `${plural(removed.length, "entry", "entries")} removed`;
  return `${plural(added.length, "entry", "entries")} added`;
}

const SHOWN_MAX = 8;

function Preview({ change }: { change: Change }): JSX.Element {
  const lines = [
    ...change.added.map((entry) => ({ sign: "+", entry })),
    ...change.removed.map((entry) => ({ sign: "−", entry })),
  ];
  return (
    <div role="status">
      {lines.length > 0 && (
        <ul class="diff" aria-label="Change">
          {lines.slice(0, SHOWN_MAX).map(({ sign, entry }) => (
            <li key={entry} class={sign === "+" ? "added" : "removed"}>
              {sign} <Text value={entry} />
            </li>
          ))}
        </ul>
      )}
      <p class="quiet">
        {lines.length === 0 ? "Nothing would change." : `${summary(change)}; ${plural(change.next.length, "entry", "entries")} then.`}
      </p>
    </div>
  );
}
