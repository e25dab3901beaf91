import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { System, SystemSetting } from "../../api/types";
import { SmallTable } from "../../grid/small_table";
import { lastTick } from "../../live/events";
import { bytes, count, micros } from "../../words/number";
import { Text } from "../../words/text";
import { duration, fullTime } from "../../words/time";

function Rows({ rows }: { rows: [string, ComponentChildren][] }): JSX.Element {
  return (
    <dl class="fields">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Share of a limit: a bar for the eye, numbers for the reader. */
function Meter({ label, value, max }: { label: string; value: number; max: number }): JSX.Element {
  const percent = max > 0 ? Math.min(100, Math.round((value / max) * 100)) : 0;
  return <progress class={percent >= 90 ? "full" : ""} max={100} value={percent} aria-label={`${label}: ${percent} percent`} />;
}

/** Processor time per second of clock time, between two answers. */
function useCpuShare(state: System): number | null {
  const now = { cpu: state.process?.cpu_seconds ?? 0, uptime: state.uptime_seconds };
  const [last, setLast] = useState(now);
  const [share, setShare] = useState<number | null>(null);
  useEffect(() => {
    const passed = now.uptime - last.uptime;
    if (passed <= 0) return;
    setShare((now.cpu - last.cpu) / passed);
    setLast(now);
  }, [state]);
  return share;
}

export function Load({ state }: { state: System }): JSX.Element {
  const share = useCpuShare(state);
  const tick = lastTick.value;
  return (
    <Rows
      rows={[
        ["In flight", count(state.in_flight)],
        ["Latency p50, p99", `${micros(tick?.p50_us ?? null)}, ${micros(tick?.p99_us ?? null)}`],
        ["Connections", count(state.connections)],
        ["Processor", share === null ? "–" : `${Math.round(share * 100)} % of a core`],
        ["Memory of the process", state.process === null ? "–" : bytes(state.process.resident_bytes)],
        ["Open files", state.process === null ? "–" : count(state.process.open_files)],
      ]}
    />
  );
}

export function HistoryMemory({ state: { history } }: { state: System }): JSX.Element {
  return (
    <>
      <Rows
        rows={[
          ["In memory", `${bytes(history.resident_bytes)} of ${bytes(history.limit_bytes)}`],
          ["In the spill file", bytes(history.spilled_bytes)],
          ["Transactions", count(history.transactions)],
          ["Series", count(history.series)],
        ]}
      />
      <Meter label="Memory of the history" value={history.resident_bytes} max={history.limit_bytes} />
    </>
  );
}

export function Store({ state }: { state: System }): JSX.Element {
  const { disk } = state;
  return (
    <Rows
      rows={[
        ["Size of the store", bytes(disk.store_bytes)],
        ["Files of the history", bytes(disk.history_bytes)],
        ["Growth per transaction", disk.bytes_per_transaction === 0 ? "–" : bytes(disk.bytes_per_transaction)],
        ["Growth per day", bytes(disk.bytes_per_day)],
        ["Free on its disk", disk.free_bytes === null ? "–" : bytes(disk.free_bytes)],
        ["Disk full", disk.full_at === null ? "–" : fullTime(disk.full_at)],
        ["Rule set", state.rule_set_version.text],
        ["Version", state.version],
        ["Started", fullTime(state.started_at)],
        ["Running for", duration(state.uptime_seconds)],
      ]}
    />
  );
}

export function Settings({ settings }: { settings: SystemSetting[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? settings : settings.filter(({ origin }) => origin !== "default");
  return (
    <>
      <p class="quiet">
        Settings belong to the environment of the service and cannot be changed here.{" "}
        <label class="check">
          <input type="checkbox" checked={all} onChange={event => setAll(event.currentTarget.checked)} /> Also defaults
        </label>
      </p>
      {shown.length === 0 ? (
        <p>Every setting has its default.</p>
      ) : (
        <SmallTable label="Settings" columns={["Setting", "Value", "From"]}>
          {shown.map(setting => (
            <tr key={setting.name}>
              <td class="mono">{setting.name}</td>
              <td class="mono grow wraps">{settingValue(setting)}</td>
              <td>{setting.origin}</td>
            </tr>
          ))}
        </SmallTable>
      )}
    </>
  );
}

function settingValue({ value }: SystemSetting): ComponentChildren {
  return value === null ? <span class="quiet">set, not shown</span> : <Text value={value} />;
}
