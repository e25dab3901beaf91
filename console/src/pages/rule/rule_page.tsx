import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { getRule } from "../../api/rules";
import type { Instruction } from "../../api/types";
import { say } from "../../app/announce";
import { useKeys } from "../../app/keys";
import { go, link } from "../../app/router";
import { isPending } from "../../app/undo";
import { loadEditor } from "../../editor/load";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { LongText } from "../../words/long_text";
import { SourceName } from "../../words/source";
import { Text } from "../../words/text";
import { fullTime } from "../../words/time";
import { VerdictBadge } from "../../words/verdict";
import { DeleteRule, deleteLater } from "../rules/delete_rule";
import { TroubleText } from "../rules/troubles";
import { LastDay, RecentHits, useRuleHits } from "./hits";
import { Numbers } from "./numbers";
import { ScriptView } from "./script_view";
import { Incomparables, Warnings } from "./warnings";

export function RulePage({ id }: { id: string }): JSX.Element {
  const rule = useResource(`rule ${id}`, signal => getRule(id, signal), { everyMs: 5_000, onRules: true });
  const shown = rule.data.value;
  useEffect(() => {
    // The editor is the likely next step. Loaded while nothing else happens, it opens at once.
    (window.requestIdleCallback ?? setTimeout)(() => void loadEditor());
  }, []);
  const waited = useRef(false);
  useEffect(() => {
    if (waited.current && shown?.status === "active") say(`${shown.name} is in force`);
    waited.current = shown?.status === "activating";
  }, [shown?.status]);
  useKeys("Rule", [
    { keys: "e", title: "Edit", run: () => shown?.script && go(link("rules", id, "edit")) },
    { keys: "d", title: "Delete, with five seconds to undo", run: () => shown && deleteLater(shown) },
  ]);
  return (
    <div class="page rule">
      <h1 tabIndex={-1}>
        Rule{" "}
        <span class="mono">
          <Text value={shown?.name ?? id} />
        </span>
      </h1>
      <Loaded resource={rule} what="the rule">
        {loaded => <RuleView rule={loaded} />}
      </Loaded>
    </div>
  );
}

function RuleView({ rule }: { rule: Instruction }): JSX.Element {
  const hits = useRuleHits(rule.id);
  return (
    <>
      <Head rule={rule} />
      <div class="columns wide-left">
        <div class="column">
          <section class="panel">
            <h2>Script</h2>
            {rule.script === null ? (
              <p class="quiet">It came as a WebAssembly module and has no script.</p>
            ) : (
              <ScriptView script={rule.script} />
            )}
          </section>
          <Warnings rule={rule} />
          <Incomparables rule={rule} />
          <RecentHits hits={hits} />
        </div>
        <div class="column">
          <LastDay hits={hits} />
          <section class="panel">
            <h2>Numbers</h2>
            <Numbers rule={rule} />
          </section>
        </div>
      </div>
    </>
  );
}

function Head({ rule }: { rule: Instruction }): JSX.Element {
  const canEdit = rule.script !== null;
  const isOwn = rule.source.kind === "api";
  return (
    <div class="summary">
      <p class="summary-line">
        <VerdictBadge verdict={rule.verdict} score={rule.score} />
        <span class="state">{rule.status}</span>
        <SourceName source={rule.source} />
        <span class="quiet">changed {fullTime(rule.updated_at)}</span>
        <span class="actions">
          {canEdit && (
            <a class="button" href={link("rules", rule.id, "edit")}>
              {isOwn ? "Edit" : "Open in the editor"} <kbd aria-hidden="true">e</kbd>
            </a>
          )}
          <DeleteRule rule={rule} />
        </span>
      </p>
      {rule.description !== null && (
        <p>
          <LongText value={rule.description} />
        </p>
      )}
      <p class="reason">
        <span class="quiet">Reason: </span>
        <LongText value={rule.reason} />
      </p>
      {isPending(`delete rule ${rule.id}`) && <p class="notice warn">It is about to be deleted. Press u to undo.</p>}
      {(rule.quarantine !== null || rule.refused_change !== null) && (
        <div class="notice warn">
          <TroubleText {...rule} />
        </div>
      )}
      {rule.progress !== null && (
        <p>
          The history is being read for it: <progress max={1} value={rule.progress} aria-label="History read" />{" "}
          {Math.round(rule.progress * 100)} %
        </p>
      )}
    </div>
  );
}
