import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { releaseRule } from "../../api/rules";
import type { InstructionSummary } from "../../api/types";
import { say } from "../../app/announce";
import { link } from "../../app/router";
import { tellChanged } from "../../live/events";
import { plural } from "../../words/number";
import { Text } from "../../words/text";
import { fullTime } from "../../words/time";

const SHOWN_MAX = 5;

/** Rules that are not run, and files whose change was refused: they need a decision before anything else. */
export function Troubles({ rules }: { rules: InstructionSummary[] }): JSX.Element | null {
  const troubled = rules.filter(({ quarantine, refused_change }) => quarantine !== null || refused_change !== null);
  if (troubled.length === 0) return null;
  return (
    <section class="notice warn" aria-labelledby="troubles-title">
      <h2 id="troubles-title">{plural(troubled.length, "rule needs", "rules need")} a decision</h2>
      <ul class="outcomes">
        {troubled.slice(0, SHOWN_MAX).map(rule => (
          <li key={rule.id}>
            <a href={link("rules", rule.id)}>
              <Text value={rule.name} />
            </a>
            <TroubleText {...rule} />
          </li>
        ))}
      </ul>
      {troubled.length > SHOWN_MAX && <p>and {troubled.length - SHOWN_MAX} more: use the chips below.</p>}
    </section>
  );
}

type Troubled = Pick<InstructionSummary, "id" | "name" | "status" | "quarantine" | "refused_change">;

export function TroubleText({ id, name, status, quarantine, refused_change }: Troubled): JSX.Element {
  return (
    <>
      {quarantine !== null && (
        <>
          <span>
            {status} since {fullTime(quarantine.since)} ({quarantine.cause}): <Text value={quarantine.reason} />
          </span>
          <ReleaseRule id={id} name={name} />
        </>
      )}
      {refused_change !== null && (
        <span>
          Change refused,{" "}
          <span class="mono">
            <Text value={refused_change.path} />
            {refused_change.line !== null && `:${refused_change.line}:${refused_change.column ?? 1}`}
          </span>
          : <Text value={refused_change.message} />
        </span>
      )}
    </>
  );
}

function ReleaseRule({ id, name }: { id: string; name: string }): JSX.Element {
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const release = async () => {
    setBusy(true);
    setError(null);
    try {
      await releaseRule(id);
      say(`${name} runs again`);
      tellChanged();
    } catch (problem) {
      setError(ApiError.of(problem).message);
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" class="small" disabled={isBusy} onClick={() => void release()}>
        Release<span class="hidden-text"> {name}</span>
      </button>
      {error !== null && (
        <span class="state bad" role="alert">
          <Text value={error} />
        </span>
      )}
    </>
  );
}
