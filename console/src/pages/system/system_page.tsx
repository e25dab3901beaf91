import type { JSX } from "preact";
import { readiness, systemState } from "../../api/system";
import type { System } from "../../api/types";
import { useResource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { Checks } from "./checks";
import { DeadLetters } from "./dead_letters";
import { HistoryMemory, Load, Settings, Store } from "./state_panels";

const POLL_MS = 5_000;

export function SystemPage(): JSX.Element {
  const ready = useResource("readyz", readiness, { everyMs: POLL_MS });
  const system = useResource("system", systemState, { everyMs: POLL_MS });
  return (
    <div class="page">
      <h1 tabIndex={-1}>System</h1>
      <div class="columns">
        <section class="panel">
          <h2>Readiness</h2>
          <Loaded resource={ready} what="readiness">
            {state => <Checks readiness={state} />}
          </Loaded>
        </section>
        <Loaded resource={system} what="the state of the process">
          {state => <StatePanels state={state} />}
        </Loaded>
      </div>
      <DeadLetters kind="alerts" />
      <DeadLetters kind="ledger" />
      {system.data.value !== null && (
        <section class="panel">
          <h2>Settings</h2>
          <Settings settings={system.data.value.settings} />
        </section>
      )}
    </div>
  );
}

function StatePanels({ state }: { state: System }): JSX.Element {
  return (
    <div class="column">
      <section class="panel">
        <h2>Load</h2>
        <Load state={state} />
      </section>
      <section class="panel">
        <h2>Memory of the history</h2>
        <HistoryMemory state={state} />
      </section>
      <section class="panel">
        <h2>Store</h2>
        <Store state={state} />
      </section>
    </div>
  );
}
