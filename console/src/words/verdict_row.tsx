import type { JSX } from "preact";
import type { VerdictRow } from "../api/types";
import { amount } from "./number";
import { Text } from "./text";
import { clockTime, fullTime } from "./time";
import { VerdictBadge } from "./verdict";

/** Columns and heading of a table of verdicts. */
export function VerdictHead(): JSX.Element {
  return (
    <thead>
      <tr>
        <th scope="col" class="w-time">
          Time
        </th>
        <th scope="col" class="w-verdict">
          Verdict
        </th>
        <th scope="col" class="w-amount number">
          Amount
        </th>
        <th scope="col" class="w-currency">
          Currency
        </th>
        <th scope="col">Source</th>
        <th scope="col">Destination</th>
        <th scope="col">Transaction</th>
        <th scope="col" class="w-rules">
          Rules or reason
        </th>
      </tr>
    </thead>
  );
}

export function VerdictCells({ row, href }: { row: VerdictRow; href: string }): JSX.Element {
  return (
    <>
      <td>
        <time dateTime={row.accepted_at} title={fullTime(row.accepted_at)}>
          {clockTime(row.accepted_at)}
        </time>
      </td>
      <td>
        <VerdictBadge verdict={row.verdict} score={row.verdict === "approve" && row.score === 0 ? null : row.score} done />
      </td>
      <td class="number mono">{amount(row.amount)}</td>
      <td>
        <Text value={row.currency} />
      </td>
      <td class="mono">
        <Text value={row.source} />
      </td>
      <td class="mono">
        <Text value={row.destination} />
      </td>
      <td class="mono">
        <a href={href}>
          <Text value={row.transaction_id} />
        </a>
      </td>
      <td>
        <Text value={row.rules.length > 0 ? row.rules.join(", ") : row.reason} none="" />
      </td>
    </>
  );
}
