import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { replayTransaction } from "../../api/transactions";
import type { Replay, StoredEvaluation } from "../../api/types";
import { useKeys } from "../../app/keys";
import { SmallTable } from "../../grid/small_table";
import { ErrorDetails } from "../../states/views";
import { CopyButton } from "../../words/copy";
import { FAILURE_WORDS } from "../../words/failure";
import { Text } from "../../words/text";

interface OutcomeWords {
  mark: string;
  kind: string;
  text: string;
}

const OUTCOMES: Record<Replay["outcome"], OutcomeWords> = {
  equal: { mark: "✓", kind: "good", text: "Equal: the stored verdict follows from the stored data." },
  differs: { mark: "✗", kind: "bad", text: "Differs: the stored verdict does not follow from the stored data." },
  taken_over: { mark: "✓", kind: "good", text: "Equal, if the recorded failures of these rules are accepted." },
  not_derived: { mark: "?", kind: "warn", text: "Not derived: a rule ran out of time. Try again when the machine is less busy." },
};

type State = { kind: "idle" } | { kind: "busy" } | { kind: "done"; replay: Replay } | { kind: "failed"; error: ApiError };

interface ProofProps {
  id: string;
  evaluation: StoredEvaluation;
}

/** Derives the verdict again from what is stored, and says whether it is the same. */
export function Proof({ id, evaluation }: ProofProps): JSX.Element {
  const [state, setState] = useState<State>({ kind: "idle" });
  const prove = async () => {
    if (state.kind === "busy") return;
    setState({ kind: "busy" });
    try {
      setState({ kind: "done", replay: await replayTransaction(id) });
    } catch (error) {
      setState({ kind: "failed", error: ApiError.of(error) });
    }
  };
  useKeys("Transaction", [{ keys: "p", title: "Prove the verdict", run: () => void prove() }]);
  return (
    <section class="panel" aria-labelledby="proof-title">
      <div class="panel-head">
        <h2 id="proof-title">Proof</h2>
        <button type="button" onClick={() => void prove()} disabled={state.kind === "busy" || !evaluation.verdict}>
          Prove <kbd aria-hidden="true">p</kbd>
        </button>
      </div>
      <div role="status">
        {state.kind === "idle" && <p class="quiet">Derives the verdict again from the stored data and compares the two.</p>}
        {state.kind === "busy" && <p class="quiet">Deriving the verdict again. This takes up to 20 seconds.</p>}
        {state.kind === "failed" && <ProofFailed error={state.error} />}
        {state.kind === "done" && <ProofDone replay={state.replay} evaluation={evaluation} />}
      </div>
    </section>
  );
}

function ProofFailed({ error }: { error: ApiError }): JSX.Element {
  return (
    <div class="notice error">
      <p>
        <Text value={error.message} />
      </p>
      {error.code === "replay_too_long" && (
        <p>
          This command reads the log once for all verdicts: <code>tollgate audit replay</code>
        </p>
      )}
      <ErrorDetails error={error} />
    </div>
  );
}

function ProofDone({ replay, evaluation }: { replay: Replay; evaluation: StoredEvaluation }): JSX.Element {
  const words = OUTCOMES[replay.outcome];
  return (
    <>
      <p class={`state ${words.kind}`}>
        <span aria-hidden="true">{words.mark}</span> <strong>{words.text}</strong>
      </p>
      <p class="quiet">
        Number {replay.sequence.text} in the order of acceptance, rule set {evaluation.rule_set_version?.text ?? "–"}.{" "}
        <CopyButton text={proofText(replay, evaluation)} label="Copy the proof as text" />
      </p>
      {replay.differences.length > 0 && <Differences replay={replay} />}
      {replay.failures.map(({ name, failure }) => (
        <p key={name}>
          <Text value={name} />: <code>{failure}</code>. {FAILURE_WORDS[failure]}
        </p>
      ))}
    </>
  );
}

function Differences({ replay }: { replay: Replay }): JSX.Element {
  return (
    <SmallTable label="Differences" columns={["Member", "Stored", "Derived"]}>
      {replay.differences.map(({ what, stored, derived }) => (
        <tr key={what}>
          <td>
            <Text value={what} />
          </td>
          <td class="mono">
            <Text value={stored} />
          </td>
          <td class="mono">
            <Text value={derived} />
          </td>
        </tr>
      ))}
    </SmallTable>
  );
}

function proofText(replay: Replay, evaluation: StoredEvaluation): string {
  return [
    `Transaction: ${replay.transaction_id}`,
    `Number: ${replay.sequence.text}`,
    `Rule set: ${evaluation.rule_set_version?.text ?? "unknown"}`,
    `Verdict: ${evaluation.verdict ?? "none"}, judged at ${evaluation.evaluated_at ?? "unknown"}`,
    `Outcome of the replay: ${replay.outcome}`,
    ...replay.differences.map(({ what, stored, derived }) => `${what}: stored ${stored}, derived ${derived}`),
    ...replay.failures.map(({ name, failure }) => `Accepted failure of ${name}: ${failure}`),
  ].join("\n");
}
