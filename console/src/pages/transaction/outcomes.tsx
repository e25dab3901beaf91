import type { JSX } from "preact";
import type { FailedRule, StoredEvaluation } from "../../api/types";
import { link } from "../../app/router";
import { FAILURE_WORDS } from "../../words/failure";
import { LongText } from "../../words/long_text";
import { Text } from "../../words/text";
import { severity, VerdictBadge } from "../../words/verdict";

export function MatchedRules({ evaluation }: { evaluation: StoredEvaluation }): JSX.Element {
  const rules = [...(evaluation.triggered ?? [])].sort((a, b) => severity(b.verdict) - severity(a.verdict));
  if (rules.length === 0) return <p class="quiet">{evaluation.verdict ? "No rule matched." : "It was not judged."}</p>;
  return (
    <ul class="outcomes">
      {rules.map(rule => (
        <li key={rule.instruction_id}>
          <VerdictBadge verdict={rule.verdict} score={rule.score} />
          <a href={link("rules", rule.instruction_id)}>
            <Text value={nameOf(rule)} />
          </a>
          {rule.reason !== undefined && (
            <p class="reason">
              <LongText value={rule.reason} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function nameOf(rule: { instruction_id: string; name?: string }): string {
  return rule.name ?? `rule ${rule.instruction_id}`;
}

/** Returns whether a failure is of a rule; others are reasons to hold every payment. */
function isOfRule(failed: FailedRule): boolean {
  return Number(failed.instruction_id) !== 0;
}

export function FailedRules({ evaluation }: { evaluation: StoredEvaluation }): JSX.Element | null {
  const failed = evaluation.failures ?? [];
  if (failed.length === 0) return null;
  return (
    <>
      <h3>Failed rules</h3>
      <p class="quiet">A rule that fails raises the verdict to at least review.</p>
      <ul class="outcomes">
        {failed.map(rule => (
          <li key={`${rule.instruction_id} ${nameOf(rule)}`}>
            <span class="state bad">
              <span aria-hidden="true">✗</span> {rule.failure}
            </span>
            {isOfRule(rule) ? (
              <a href={link("rules", rule.instruction_id)}>
                <Text value={nameOf(rule)} />
              </a>
            ) : (
              <Text value={nameOf(rule)} />
            )}
            <p class="reason">{FAILURE_WORDS[rule.failure]}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
