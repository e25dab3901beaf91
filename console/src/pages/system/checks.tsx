import type { JSX } from "preact";
import type { Readiness } from "../../api/types";
import { SmallTable } from "../../grid/small_table";
import { type CheckState, checkState } from "../../words/readiness";
import { Text } from "../../words/text";

const STATES: Record<CheckState, { mark: string; kind: string; word: string; urgency: number }> = {
  failing: { mark: "✗", kind: "bad", word: "failing", urgency: 0 },
  degraded: { mark: "!", kind: "warn", word: "degraded", urgency: 1 },
  ok: { mark: "✓", kind: "good", word: "ok", urgency: 2 },
  fact: { mark: "·", kind: "quiet", word: "", urgency: 3 },
};

/** What each check looks at; links, the ledger and webhooks appear only once they are configured. */
const NAMES: Record<string, string> = {
  alerts: "Webhooks of alerts",
  commits: "Commits",
  confinement: "Confinement",
  disk: "Disk",
  git: "Git",
  history: "History",
  ledger: "Ledger",
  lists: "Lists",
  memory: "Memory",
  rules: "Rules",
  rules_directory: "Rules directory",
  store: "Store",
  tunnel: "Dashboard link",
  zones: "Time zone data",
};

export function Checks({ readiness }: { readiness: Readiness }): JSX.Element {
  const isReady = readiness.status === "ready";
  const checks = Object.entries(readiness.checks).map(([name, text]) => ({
    name,
    text,
    ...STATES[checkState(text, isReady)],
  }));
  checks.sort((a, b) => a.urgency - b.urgency || a.name.localeCompare(b.name));
  return (
    <>
      <p class={`state ${isReady ? "good" : "bad"}`}>
        <span aria-hidden="true">{isReady ? "✓" : "✗"}</span> <strong>{readiness.status}</strong>
      </p>
      <SmallTable label="Checks" columns={["Check", "State", "Details"]}>
        {checks.map(({ name, text, mark, kind, word }) => (
          <tr key={name}>
            <td>{NAMES[name] ?? name}</td>
            <td>
              <span class={`state ${kind}`}>
                <span aria-hidden="true">{mark}</span> {word}
              </span>
            </td>
            <td class="grow wraps">
              <Text value={text.replace(/^(ok|degraded|failing)(: )?/, "")} none="" />
            </td>
          </tr>
        ))}
      </SmallTable>
    </>
  );
}
