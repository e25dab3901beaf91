import type { JSX } from "preact";
import type { InstructionSummary } from "../../api/types";
import { link } from "../../app/router";
import { Sparkline } from "../../chart/sparkline";
import { SmallTable } from "../../grid/small_table";
import type { Resource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { count, plural } from "../../words/number";
import { Text } from "../../words/text";
import { severity, VerdictBadge } from "../../words/verdict";
import { firstHour, usualHits } from "./usual";

const SHOWN_MAX = 8;

export function RuleWatch({ rules }: { rules: Resource<InstructionSummary[]> }): JSX.Element {
  return (
    <>
      <section class="panel">
        <h2>Top rules, those that stop payments first</h2>
        <Loaded resource={rules} what="rules">
          {all => <TopRules rules={all} />}
        </Loaded>
      </section>
      <section class="panel">
        <h2>Failing and silent rules</h2>
        <Loaded resource={rules} what="rules">
          {all => <Unhealthy rules={all} />}
        </Loaded>
      </section>
    </>
  );
}

function TopRules({ rules }: { rules: InstructionSummary[] }): JSX.Element {
  const top = rules.filter(({ hits }) => hits > 0);
  const stops = ({ verdict }: InstructionSummary) => Number(severity(verdict) >= severity("review"));
  top.sort((a, b) => stops(b) - stops(a) || (b.hourly.at(-1) ?? 0) - (a.hourly.at(-1) ?? 0) || b.hits - a.hits);
  const first = firstHour(rules);
  if (top.length === 0) return <p class="quiet">No rule matched in the last 24 hours.</p>;
  return (
    <SmallTable label="Top rules" columns={["Rule", "Verdict", { number: "This hour" }, { number: "Usual" }, "24 h"]}>
      {top.slice(0, SHOWN_MAX).map(rule => (
        <TopRule key={rule.id} rule={rule} usual={usualHits(rule.hourly, first)} />
      ))}
    </SmallTable>
  );
}

function TopRule({ rule, usual }: { rule: InstructionSummary; usual: number | null }): JSX.Element {
  const now = rule.hourly.at(-1) ?? 0;
  const isUnusual = usual !== null && now > 10 && now > usual * 3;
  return (
    <tr>
      <td class="grow">
        <a href={link("rules", rule.id)}>
          <Text value={rule.name} />
        </a>
      </td>
      <td>
        <VerdictBadge verdict={rule.verdict} />
      </td>
      <td class="number">
        {isUnusual && <strong>↑ unusual </strong>}
        {count(now)}
      </td>
      <td class="number">{count(usual)}</td>
      <td>
        <Sparkline values={rule.hourly} label="Hits per hour" />
      </td>
    </tr>
  );
}

/** Why a rule needs a look; the most urgent first. */
function complaint(rule: InstructionSummary): { urgency: number; text: string } | null {
  if (rule.quarantine !== null) return { urgency: 3, text: `Not run (${rule.status}): ${rule.quarantine.reason}` };
  if (rule.refused_change !== null) return { urgency: 2, text: `Its changed file was refused: ${rule.refused_change.message}` };
  if (rule.failures > 0) return { urgency: 1, text: `Failed on ${plural(rule.failures, "transaction")} in 24 h` };
  if (rule.hits === 0) return { urgency: 0, text: "No hit in 24 h" };
  return null;
}

function Unhealthy({ rules }: { rules: InstructionSummary[] }): JSX.Element {
  const found = rules.flatMap(rule => {
    const reason = complaint(rule);
    return reason === null ? [] : [{ rule, ...reason }];
  });
  found.sort((a, b) => b.urgency - a.urgency);
  if (found.length === 0) return <p class="quiet">None.</p>;
  return (
    <>
      <ul class="complaints">
        {found.slice(0, SHOWN_MAX).map(({ rule, urgency, text }) => (
          <li key={rule.id}>
            <span class={urgency > 0 ? "state bad" : "state"}>
              <span aria-hidden="true">{urgency > 0 ? "✗" : "○"}</span> {urgency > 0 ? "Failing" : "Silent"}
            </span>
            <a href={link("rules", rule.id)}>
              <Text value={rule.name} />
            </a>
            <VerdictBadge verdict={rule.verdict} />
            <span class="quiet cut">
              <Text value={text} />
            </span>
          </li>
        ))}
      </ul>
      {found.length > SHOWN_MAX && (
        <p>
          <a href={`${link("rules")}?sort=hits`}>{plural(found.length - SHOWN_MAX, "more rule")}</a>
        </p>
      )}
    </>
  );
}
