import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { listRules } from "../../api/rules";
import type { InstructionSummary } from "../../api/types";
import { useKeys } from "../../app/keys";
import { link, route, setQuery } from "../../app/router";
import { isPending } from "../../app/undo";
import { formatSort, parseSort } from "../../grid/sort";
import { Table } from "../../grid/table";
import { useResource } from "../../states/resource";
import { Empty, Loaded } from "../../states/views";
import { plural } from "../../words/number";
import { sourcePath } from "../../words/source";
import { ruleColumns } from "./columns";
import { RULE_STATES, type RuleState, ruleState } from "./state";
import { Troubles } from "./troubles";

export function RulesPage(): JSX.Element {
  const rules = useResource("rules", listRules, { everyMs: 30_000, onRules: true });
  useKeys("Rules", [{ keys: "f", title: "Filter", run: () => document.getElementById("rule-filter")?.focus() }]);
  return (
    <div class="page fills">
      <div class="page-head">
        <h1 tabIndex={-1}>Rules</h1>
        <a class="button" href={link("rules", "new")}>
          New rule <kbd aria-hidden="true">n</kbd>
        </a>
      </div>
      <Loaded resource={rules} what="rules">
        {all => <RuleList all={all} />}
      </Loaded>
    </div>
  );
}

function RuleList({ all }: { all: InstructionSummary[] }): JSX.Element {
  const query = route.value.query;
  const text = query.get("q") ?? "";
  const state = query.get("state");
  const present = useMemo(() => all.filter(({ id }) => !isPending(`delete rule ${id}`)), [all, ...pendingKeys(all)]);
  const shown = useMemo(() => present.filter(rule => matches(rule, text, state)), [present, text, state]);
  const columns = useMemo(ruleColumns, []);
  if (all.length === 0) return <NoRules />;
  const sort = parseSort(query.get("sort"), "name");
  return (
    <>
      <Troubles rules={present} />
      <Filter rules={present} text={text} state={state} n_shown={shown.length} />
      <Table
        label="Rules"
        columns={columns}
        rows={shown}
        rowKey={({ id }) => id}
        href={({ id }) => link("rules", id)}
        sort={sort}
        onSort={next => setQuery({ sort: formatSort(next) })}
        fills
      />
    </>
  );
}

/** A value that changes when a deletion begins, is undone or ends. */
function pendingKeys(rules: InstructionSummary[]): [string] {
  return [rules.flatMap(({ id }) => (isPending(`delete rule ${id}`) ? [id] : [])).join()];
}

function matches(rule: InstructionSummary, text: string, state: string | null): boolean {
  if (state !== null && ruleState(rule) !== state) return false;
  const words = text.toLowerCase().split(/\s+/);
  const whole = `${rule.name} ${rule.description ?? ""} ${sourcePath(rule.source) ?? ""} ${rule.verdict}`.toLowerCase();
  return words.every(word => whole.includes(word));
}

interface FilterProps {
  rules: InstructionSummary[];
  text: string;
  state: string | null;
  n_shown: number;
}

function Filter({ rules, text, state, n_shown }: FilterProps): JSX.Element {
  const counts = new Map<RuleState, number>();
  for (const rule of rules) counts.set(ruleState(rule), (counts.get(ruleState(rule)) ?? 0) + 1);
  return (
    <div class="filter" role="search" aria-label="Rules">
      <input
        id="rule-filter"
        type="search"
        placeholder="Filter by name, description, path or verdict"
        aria-label="Filter by name, description, path or verdict"
        value={text}
        onInput={event => setQuery({ q: event.currentTarget.value })}
        onKeyDown={event => event.key === "Escape" && event.currentTarget.blur()}
      />
      {RULE_STATES.filter(each => counts.has(each)).map(each => (
        <button
          key={each}
          type="button"
          class="chip"
          aria-pressed={state === each}
          onClick={() => setQuery({ state: state === each ? null : each })}
        >
          {each} {counts.get(each)}
        </button>
      ))}
      <span class="quiet" role="status">
        {plural(n_shown, "rule")}
        {n_shown === 0 && (text !== "" || state !== null) && (
          <>
            .{" "}
            <button type="button" class="small" onClick={() => setQuery({ q: null, state: null })}>
              Remove the filter
            </button>
          </>
        )}
      </span>
    </div>
  );
}

function NoRules(): JSX.Element {
  return (
    <Empty title="No rules are in force">
      <p>
        Every transaction is approved. <a href={link("rules", "new")}>Write a rule</a>,{" "}
        <a href={link("sources")}>follow a Git repository</a>, or start the service with <code>WATCH_SCRIPT_DIR=rules</code>, which holds
        the example rules.
      </p>
    </Empty>
  );
}
