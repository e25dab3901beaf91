import type { JSX } from "preact";
import { ruleHits } from "../../api/rules";
import type { VerdictRow } from "../../api/types";
import { useEvents } from "../../live/events";
import { link } from "../../app/router";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { amount } from "../../words/number";
import { Text } from "../../words/text";
import { shortTime } from "../../words/time";
import { VerdictBadge } from "../../words/verdict";

/** Hits may come several times a second; the table is loaded again at most this often. */
const RELOAD_MS = 5_000;

export function RuleHits({ id }: { id: string }): JSX.Element {
  const hits = useResource(`hits ${id}`, (signal) => ruleHits(id, signal));
  useEvents("verdicts", () => {
    if (!hits.isLoading.value && Date.now() - hits.asOf.value > RELOAD_MS) void hits.reload();
  });
  return (
    <section class="panel">
      <h2>Recent hits</h2>
      <Loaded resource={hits} what="recent hits">
        {(rows) =>
          rows.length === 0 ? (
            <p class="quiet">No hit since the service started.</p>
          ) : (
            <HitTable rows={rows} />
          )
        }
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
            <th scope="col" class="w-when">Time</th>
            <th scope="col" class="w-verdict">Verdict</th>
            <th scope="col" class="w-amount number">
              Amount
            </th>
            <th scope="col">Source</th>
            <th scope="col">Transaction</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
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
