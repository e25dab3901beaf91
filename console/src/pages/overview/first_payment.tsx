import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { apiUrl } from "../../api/client";
import { useEvents } from "../../live/events";
import { Empty } from "../../states/views";
import { CodeBlock } from "../../words/copy";
import { VERDICTS } from "../../words/verdict";

/** Shown while no transaction was judged in the last 24 hours: how to send the first one. */
export function FirstPayment({ isQuiet }: { isQuiet: boolean }): JSX.Element | null {
  const [hasArrived, setArrived] = useState(false);
  useEvents("tick", tick => {
    if (VERDICTS.some(verdict => tick.counts[verdict] > 0)) setArrived(true);
  });
  if (!isQuiet || hasArrived) return null;
  return (
    <Empty title="No transaction in the last 24 hours">
      <p>Start a demonstration with its own transactions and rules:</p>
      <CodeBlock label="Command of the demonstration" text="tollgate demo" />
      <p>Or send a first payment to this service:</p>
      <CodeBlock label="Command of a first payment" text={firstPayment()} />
      <p class="quiet" role="status">
        Waiting for a transaction…
      </p>
    </Empty>
  );
}

function firstPayment(): string {
  return [
    `curl -s ${apiUrl("inject")} -H 'Content-Type: application/json' -d '{`,
    `  "transaction_id": "txn-1", "amount": 120.50, "currency": "EUR", "reference": "invoice-881",`,
    `  "source": "acc-anna", "destination": "acc-books"`,
    `}'`,
  ].join("\n");
}
