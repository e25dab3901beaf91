import type { VerdictRow } from "../../api/types";
import { link } from "../../app/router";
import type { Column } from "../../grid/table";
import { amount } from "../../words/number";
import { Text } from "../../words/text";
import { clockTime, fullTime } from "../../words/time";
import { VerdictBadge } from "../../words/verdict";

/** Columns of the live verdicts. The transaction and the rules share the width that the others leave. */
export const COLUMNS: Column<VerdictRow>[] = [
  {
    key: "time",
    title: "Time",
    width: 76,
    cell: ({ accepted_at }) => (
      <time dateTime={accepted_at} title={fullTime(accepted_at)}>
        {clockTime(accepted_at)}
      </time>
    ),
  },
  {
    key: "verdict",
    title: "Verdict",
    width: 128,
    cell: ({ verdict, score }) => <VerdictBadge verdict={verdict} score={verdict === "approve" && score === 0 ? null : score} done />,
  },
  { key: "amount", title: "Amount", width: 120, isNumber: true, cell: row => <span class="mono">{amount(row.amount)}</span> },
  { key: "currency", title: "Currency", width: 72, cell: ({ currency }) => <Text value={currency} /> },
  { key: "source", title: "Source", width: 116, cell: ({ source }) => <Mono value={source} /> },
  { key: "destination", title: "Destination", width: 116, cell: ({ destination }) => <Mono value={destination} /> },
  {
    key: "transaction",
    title: "Transaction",
    cell: ({ transaction_id }) => (
      <a class="mono" href={link("transactions", transaction_id)}>
        <Text value={transaction_id} />
      </a>
    ),
  },
  {
    key: "rules",
    title: "Rules or reason",
    cell: ({ rules, reason }) => <Text value={rules.length > 0 ? rules.join(", ") : reason} none="" />,
  },
];

function Mono({ value }: { value: string | null }) {
  return (
    <span class="mono">
      <Text value={value} />
    </span>
  );
}
