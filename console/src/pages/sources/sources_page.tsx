import type { JSX } from "preact";
import { gitStatus } from "../../api/git";
import { listRules } from "../../api/rules";
import type { InstructionSource, InstructionSummary } from "../../api/types";
import { link } from "../../app/router";
import { SmallTable } from "../../grid/small_table";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { count } from "../../words/number";
import { SOURCE_KINDS } from "../../words/source";
import { CloneForm } from "./clone_form";
import { GitActions } from "./git_actions";
import { GitFiles, GitState } from "./git_state";

export function SourcesPage(): JSX.Element {
  const git = useResource("git", gitStatus, { everyMs: 10_000, onRules: true });
  const rules = useResource("rules", listRules, { onRules: true });
  return (
    <div class="page">
      <h1 tabIndex={-1}>Git and sources</h1>
      <section class="panel">
        <h2>Git</h2>
        <Loaded resource={git} what="the state of the repository">
          {status =>
            status.configured ? (
              <>
                <GitState status={status} />
                <GitActions status={status} reload={git.reload} />
                <GitFiles status={status} />
              </>
            ) : (
              <CloneForm reload={git.reload} />
            )
          }
        </Loaded>
      </section>
      <section class="panel">
        <h2>Rules by source</h2>
        <Loaded resource={rules} what="rules">
          {all => <BySource rules={all} />}
        </Loaded>
      </section>
    </div>
  );
}

const KINDS: InstructionSource["kind"][] = ["file", "git", "api", "upload"];

const EXPLAINED: Record<InstructionSource["kind"], string> = {
  file: "Files below the rules directory; change them there",
  git: "Files of the repository; change them there",
  api: "Scripts saved over the API or in this console",
  upload: "WebAssembly modules uploaded over the API",
};

function BySource({ rules }: { rules: InstructionSummary[] }): JSX.Element {
  return (
    <SmallTable label="Rules by source" columns={["Source", { number: "Rules" }, { number: "Refused changes" }, "What it is"]}>
      {KINDS.map(kind => {
        const those = rules.filter(({ source }) => source.kind === kind);
        return (
          <tr key={kind}>
            <td>{SOURCE_KINDS[kind]}</td>
            <td class="number">{those.length === 0 ? "0" : <a href={`${link("rules")}?sort=source`}>{count(those.length)}</a>}</td>
            <td class="number">{count(those.filter(({ refused_change }) => refused_change !== null).length)}</td>
            <td class="quiet grow">{EXPLAINED[kind]}</td>
          </tr>
        );
      })}
    </SmallTable>
  );
}
