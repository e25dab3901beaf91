import { Decimal } from "./decimal";
import { requestText } from "./client";
import type { SystemState } from "./types";

/** Reads a page of metrics: the texts of the values by name and labels. */
export function parseMetrics(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^([a-z_]+(?:\{[^}]*\})?) (\S+)/.exec(line);
    if (match !== null) values.set(match[1] ?? "", match[2] ?? "");
  }
  return values;
}

/** The state of the process from the metrics, which have no limits and no settings. */
export async function stateFromMetrics(signal: AbortSignal): Promise<SystemState> {
  const values = parseMetrics(await requestText("metrics", { signal, headers: { Accept: "*/*" } }));
  const number = (name: string) => Number(values.get(name) ?? 0);
  const startedAt = number("process_start_time_seconds");
  const build = [...values.keys()].find((name) => name.startsWith("tollgate_build_info")) ?? "";
  return {
    version: /version="([^"]*)"/.exec(build)?.[1] ?? "unknown",
    started_at: new Date(startedAt * 1000).toISOString(),
    uptime_seconds: Date.now() / 1000 - startedAt,
    rule_set_version: new Decimal(values.get("tollgate_rule_set_version") ?? "0"),
    process: {
      resident_bytes: number("process_resident_memory_bytes"),
      cpu_seconds: number("process_cpu_seconds_total"),
      open_files: number("process_open_fds"),
    },
    disk: null,
    history: {
      transactions: number("tollgate_history_transactions"),
      series: number("tollgate_history_series"),
      resident_bytes: number("tollgate_history_resident_bytes"),
      limit_bytes: null,
      spilled_bytes: number("tollgate_history_spilled_bytes"),
    },
    connections: { open: number("tollgate_connections_open"), max: null },
    in_flight: number("tollgate_transactions_in_flight"),
    settings: null,
  };
}
