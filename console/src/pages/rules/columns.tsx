import type { InstructionSummary } from "../../api/types";
import { link } from "../../app/router";
import { Sparkline } from "../../chart/sparkline";
import type { Column } from "../../grid/table";
import { count } from "../../words/number";
import { SourceName, sourceOrder } from "../../words/source";
import { Text } from "../../words/text";
import { ago, fullTime } from "../../words/time";
import { severity, VerdictBadge } from "../../words/verdict";
import { readDraft } from "../edit/drafts";
import { DeleteRule } from "./delete_rule";
import { RULE_STATES, ruleState, stateKind, stateMark } from "./state";

export function ruleColumns(): Column<InstructionSummary>[] {
  return [...nameColumns(), ...countColumns(), ...originColumns()];
}

function nameColumns(): Column<InstructionSummary>[] {
  return [
    {
      key: "name",
      title: "Name",
      sortKey: rule => rule.name,
      cell: rule => (
        <>
          <a href={link("rules", rule.id)}>
            <Text value={rule.name} />
          </a>
          {readDraft(rule.id) !== null && <span class="quiet"> draft in this browser</span>}
        </>
      ),
    },
    {
      key: "verdict",
      title: "Verdict",
      width: 120,
      sortKey: rule => severity(rule.verdict) + rule.score / 2,
      cell: rule => <VerdictBadge verdict={rule.verdict} score={rule.score} />,
    },
    {
      key: "state",
      title: "State",
      width: 108,
      isWideOnly: true,
      sortKey: rule => RULE_STATES.indexOf(ruleState(rule)),
      cell: rule => {
        const state = ruleState(rule);
        return (
          <span class={`state ${stateKind(state)}`}>
            <span aria-hidden="true">{stateMark(state)}</span> {state}
          </span>
        );
      },
    },
  ];
}

function countColumns(): Column<InstructionSummary>[] {
  return [
    {
      key: "hits",
      title: "Hits 24 h",
      width: 92,
      isNumber: true,
      sortKey: rule => rule.hits,
      cell: rule => count(rule.hits),
    },
    {
      key: "hourly",
      title: "By hour",
      width: 112,
      isWideOnly: true,
      cell: rule => <Sparkline values={rule.hourly} label="Hits in 24 hours" />,
    },
    {
      key: "cost",
      title: "Cost",
      width: 60,
      isWideOnly: true,
      isNumber: true,
      sortKey: rule => rule.cost.instructions,
      cell: rule => count(rule.cost.instructions),
    },
    {
      key: "lookups",
      title: "Look-ups",
      width: 80,
      isWideOnly: true,
      isNumber: true,
      sortKey: rule => rule.cost.history_lookups,
      cell: rule => count(rule.cost.history_lookups),
    },
  ];
}

function originColumns(): Column<InstructionSummary>[] {
  return [
    {
      key: "source",
      title: "Source",
      width: 96,
      isWideOnly: true,
      sortKey: rule => sourceOrder(rule.source),
      cell: rule => <SourceName source={rule.source} />,
    },
    {
      key: "changed",
      title: "Changed",
      width: 84,
      isWideOnly: true,
      isNumber: true,
      sortKey: rule => Date.parse(rule.updated_at),
      cell: rule => <span title={fullTime(rule.updated_at)}>{ago(rule.updated_at)}</span>,
    },
    { key: "delete", title: "Action", width: 72, isWideOnly: true, cell: rule => <DeleteRule rule={rule} isSmall /> },
  ];
}
