import type { JSX } from "preact";
import { statusUpdates } from "../../api/transactions";
import type { StatusUpdate } from "../../api/types";
import { SmallTable } from "../../grid/small_table";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { Text } from "../../words/text";
import { shortTime } from "../../words/time";

/** How the status of a transaction changed since it was judged. */
export function StatusPanel({ id }: { id: string }): JSX.Element {
  const updates = useResource(`status updates ${id}`, signal => statusUpdates(id, signal));
  return (
    <section class="panel">
      <h2>Status</h2>
      <Loaded resource={updates} what="changes of the status">
        {all => (all.length === 0 ? <p class="quiet">No change of the status was reported.</p> : <Updates updates={all} />)}
      </Loaded>
    </section>
  );
}

function Updates({ updates }: { updates: StatusUpdate[] }): JSX.Element {
  return (
    <div class="table-scroll short">
      <SmallTable label="Changes of the status" columns={["Time", "Change", "Event"]}>
        {updates.map(update => (
          <tr key={update.sequence.text}>
            <td>{shortTime(update.accepted_at)}</td>
            <td>
              <Text value={update.before} none="no status" /> → <Text value={update.after} />
            </td>
            <td class="mono">
              <Text value={update.event} />
            </td>
          </tr>
        ))}
      </SmallTable>
    </div>
  );
}
