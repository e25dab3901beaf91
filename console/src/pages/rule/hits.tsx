import type { JSX } from "preact";
import { ruleHits } from "../../api/rules";
import type { Hits, VerdictRow } from "../../api/types";
import { link } from "../../app/router";
import { Sparkline } from "../../chart/sparkline";
import { useEvents } from "../../live/events";
import { type Resource, useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { amount, count } from "../../words/number";
import { Text } from "../../words/text";
import { shortTime } from "../../words/time";
import { VerdictBadge } from "../../words/verdict";

/** Hits may come several times a second; the table is loaded again at most this often. */
const RELOAD_MS = 5_000;

/** Loads what a rule did lately, and again as verdicts come. */
export function useRuleHits(id: string): Resource<Hits> {
  const hits = useResource(`hits ${id}`, signal => ruleHits(id, signal));
  useEvents("verdicts", () => {
    if (!hits.isLoading.value && Date.now() - hits.asOf.value > RELOAD_MS) void hits.reload();
  });
  return hits;
}

export function RecentHits({ hits }: { hits: Resource<Hits> }): JSX.Element {
  return (
    <section class="panel">
      <h2>Recent hits</h2>
      <Loaded resource={hits} what="recent hits">
        {({ hits: rows }) => (rows.length === 0 ? <p class="quiet">No hit since the service started.</p> : <HitTable rows={rows} />)}
      </Loaded>
    </section>
  );
}

export function LastDay({ hits }: { hits: Resource<Hits> }): JSX.Element {
  return (
    <section class="panel">
      <h2>Last 24 hours</h2>
      <Loaded resource={hits} what="the last 24 hours">
        {({ hourly, failures }) => (
          <dl class="fields">
            <div>
              <dt>Transactions matched</dt>
              <dd class="mono">{count(hourly.reduce((sum, n) => sum + n, 0))}</dd>
            </div>
            <div>
              <dt>By hour</dt>
              <dd>
                <Sparkline values={hourly} label="Hits in 24 hours" />
              </dd>
            </div>
            <div>
              <dt>Transactions it failed on</dt>
              <dd class="mono">{count(failures)}</dd>
            </div>
          </dl>
        )}
      </Loaded>
    </section>
  );
}

function HitTable({ rows }: { rows: VerdictRow[] }): JSX.Element {
  return (
    <div class="table-scroll short">
      <table aria-label="Recent hits">
        <thead>
          <tr>
            <th scope="col" class="w-when">
              Time
            </th>
            <th scope="col" class="w-verdict">
              Verdict
            </th>
            <th scope="col" class="w-amount number">
              Amount
            </th>
            <th scope="col">Source</th>
            <th scope="col">Transaction</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.sequence.text}>
              <td>{shortTime(row.accepted_at)}</td>
              <td>
                <VerdictBadge verdict={row.verdict} done />
              </td>
              <td class="number mono">
                {amount(row.amount)} <Text value={row.currency} />
              </td>
              <td class="mono">
                <Text value={row.source} />
              </td>
              <td class="mono">
                <a href={link("transactions", row.transaction_id)}>
                  <Text value={row.transaction_id} />
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
