import type { JSX } from "preact";
import type { ApiError } from "../../api/client";
import { ErrorDetails } from "../../states/views";
import { bytes, count } from "../../words/number";
import { Text } from "../../words/text";
import { VerdictBadge } from "../../words/verdict";
import type { Checking } from "./checking";

/** What the rule would cost and need. It is of the last text that compiled. */
export function CostPanel({ checking, canSave }: { checking: Checking; canSave: boolean }): JSX.Element | null {
  const { result } = checking;
  if (result === null) return null;
  const { rule, refusal } = result;
  return (
    <section class="panel">
      <h2>Worst case and needs</h2>
      {refusal !== null && canSave && (
        <p class="notice warn below">
          A save would be refused: <Text value={refusal.error} /> <code>{refusal.code}</code>
        </p>
      )}
      {rule === null ? (
        <p class="quiet">Known once it compiles.</p>
      ) : (
        <dl class="fields">
          <Row name="Verdict">
            <VerdictBadge verdict={rule.verdict} score={rule.score} />
          </Row>
          <Row name="Instructions">{count(rule.cost.instructions)}</Row>
          <Row name="Host calls">{count(rule.cost.host_calls)}</Row>
          <Row name="History look-ups">{count(rule.cost.history_lookups)}</Row>
          {rule.estimate !== null && <Row name="Fuel of look-ups, mean">{count(rule.estimate.fuel)}</Row>}
          {rule.estimate !== null && <Row name="History that it adds">{bytes(rule.estimate.history_bytes)}</Row>}
          <Row name="Fields">{names(rule.fields)}</Row>
          <Row name="Lists">{names(rule.lists)}</Row>
        </dl>
      )}
    </section>
  );
}

function Row({ name, children }: { name: string; children: JSX.Element | string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function names(all: string[]): JSX.Element {
  if (all.length === 0) return <span class="quiet">none</span>;
  return (
    <span class="mono">
      <Text value={all.join(", ")} />
    </span>
  );
}

export function SaveRefused({ error }: { error: ApiError }): JSX.Element {
  return (
    <div class="notice error" role="alert">
      <p>
        <strong>Not saved.</strong> <Text value={error.message} />
      </p>
      {error.body.missing !== undefined && (
        <ul>
          {error.body.missing.map(missing => (
            <li key={missing}>
              <Text value={missing} />
            </li>
          ))}
        </ul>
      )}
      <ErrorDetails error={error} />
    </div>
  );
}

interface ConfirmProps {
  /** Such as `480 of 500`. */
  broad: string;
  confirm: () => void;
  cancel: () => void;
}

/** Asks before a rule is saved that would have stopped most of the latest transactions. */
export function ConfirmBroad({ broad, confirm, cancel }: ConfirmProps): JSX.Element {
  return (
    <div class="notice warn" role="alertdialog" aria-label="The rule would stop most transactions">
      <p>
        <strong>Not saved yet.</strong> This rule would have matched {broad} of the latest transactions, and would hold or stop each of
        them.
      </p>
      <p>
        <button type="button" class="primary" onClick={confirm}>
          Save it all the same
        </button>{" "}
        <button type="button" onClick={cancel}>
          Back to the rule
        </button>
      </p>
    </div>
  );
}
