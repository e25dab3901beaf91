import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { getListText, setList } from "../../api/lists";
import { say } from "../../app/announce";
import { tellChanged } from "../../live/events";
import { ErrorDetails } from "../../states/views";
import { diffLines, withContext } from "../../words/diff";
import { plural } from "../../words/number";
import { Text } from "../../words/text";
import { type Change, changeOf, EMPTY_CHANGE, summary, type Way } from "./list_change";
import { ReadingView, useReading } from "./reading";

interface EditProps {
  name: string;
  entries: string[];
  /** Digest of the text in force; null for a new list. */
  sha256: string | null;
  reload: () => Promise<void>;
}

/** The change of somebody else since the entries were shown. */
interface Conflict {
  before: string[];
  after: string[];
}

/** Adds or removes pasted lines. It shows how each line is read, and what would change, before anything is sent. */
export function EditEntries({ name, entries, sha256, reload }: EditProps): JSX.Element {
  const [pasted, setPasted] = useState("");
  const [way, setWay] = useState<Way>("add");
  const [error, setError] = useState<ApiError | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [isBusy, setBusy] = useState(false);
  const reading = useReading(name, pasted);
  const change = reading.result === null ? EMPTY_CHANGE : changeOf(entries, reading.result, way);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    setConflict(null);
    try {
      const tag = sha256 === null ? null : `"${sha256}"`;
      const before = tag === null ? "" : (await getListText(name)).text;
      const saved = await setList(name, change.apply(before), tag);
      setPasted("");
      const warnings = saved.warnings.length > 0 ? `, with ${plural(saved.warnings.length, "warning")}` : "";
      say(`${name}: ${summary(change)}${warnings}`);
      await reload();
      tellChanged();
    } catch (problem) {
      const failed = ApiError.of(problem);
      if (failed.isStale) setConflict({ before: entries, after: await currentLines(name) });
      setError(failed);
      if (failed.isStale) await reload();
    }
    setBusy(false);
  };
  const isWhole = reading.result?.n_more_lines === 0;
  const hasChange = reading.isFresh && isWhole && change.added.length + change.removed.length > 0;
  return (
    <details class="panel" open={sha256 === null}>
      <summary>Add or remove entries</summary>
      <form onSubmit={event => void send(event)}>
        <label class="block">
          One entry a line, as in a list file
          <textarea rows={5} value={pasted} onInput={event => setPasted(event.currentTarget.value)} spellcheck={false} />
        </label>
        {sha256 !== null && <WayChoice way={way} setWay={setWay} />}
        <ReadingView reading={reading} />
        <Preview change={change} />
        {error !== null && (
          <div class="notice error" role="alert">
            <Text value={error.message} />
            <ErrorDetails error={error} />
          </div>
        )}
        {conflict !== null && <ConflictView conflict={conflict} />}
        <button type="submit" disabled={isBusy || !hasChange}>
          Put in force
        </button>
      </form>
    </details>
  );
}

async function currentLines(name: string): Promise<string[]> {
  try {
    return (await getListText(name)).text.replace(/\n$/, "").split("\n");
  } catch {
    return [];
  }
}

const CONTEXT_LINES = 2;

/** What somebody else changed, as lines of the list. */
function ConflictView({ conflict }: { conflict: Conflict }): JSX.Element {
  const diff = withContext(diffLines(conflict.before.join("\n"), conflict.after.join("\n")), CONTEXT_LINES);
  return (
    <section aria-label="Change of somebody else">
      <p class="notice warn">The list was changed meanwhile, as follows. Your lines are still here: look again, then put them in force.</p>
      <pre class="diff" tabIndex={0}>
        {diff.map((line, index) => (
          <span key={index} class={line === null ? "gap" : line.kind}>
            {line === null ? "⋯\n" : `${{ same: " ", added: "+", removed: "−" }[line.kind]} ${line.text}\n`}
          </span>
        ))}
      </pre>
    </section>
  );
}

function WayChoice({ way, setWay }: { way: Way; setWay: (way: Way) => void }): JSX.Element {
  return (
    <fieldset class="inline">
      <legend class="hidden-text">What to do with these lines</legend>
      {(["add", "remove"] as const).map(each => (
        <label key={each}>
          <input type="radio" name="way" checked={way === each} onChange={() => setWay(each)} /> {each === "add" ? "Add" : "Remove"}
        </label>
      ))}
    </fieldset>
  );
}

const SHOWN_MAX = 8;

function Preview({ change }: { change: Change }): JSX.Element {
  const lines = [...change.added.map(entry => ({ sign: "+", entry })), ...change.removed.map(entry => ({ sign: "−", entry }))];
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
        {lines.length === 0 ? "Nothing would change." : `${summary(change)}; ${plural(change.count, "entry", "entries")} then.`}
      </p>
    </div>
  );
}
