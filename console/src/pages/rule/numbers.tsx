import type { JSX } from "preact";
import type { Instruction } from "../../api/types";
import { bytes, count } from "../../words/number";
import { fullTime } from "../../words/time";

export function Numbers({ rule }: { rule: Instruction }): JSX.Element {
  const { module, estimate } = rule;
  const rows: [string, string][] = [
    ["Id", rule.id],
    ["Instructions, worst case", count(module.cost.instructions)],
    ["Host calls, worst case", count(module.cost.host_calls)],
    ["History look-ups", count(module.cost.history_lookups)],
  ];
  if (estimate !== null) {
    rows.push(
      ["Fuel of its look-ups, mean", count(estimate.fuel)],
      ["History it added when saved", bytes(estimate.history_bytes)],
      ["of that never spilled", bytes(estimate.kept_bytes)],
      ["Estimated from transactions", count(estimate.transactions)],
    );
  }
  rows.push(
    ["Module", `${bytes(module.bytes)}, ABI ${module.abi_version}`],
    ["SHA-256", module.sha256],
    ["Created", fullTime(rule.created_at)],
    ["Changed", fullTime(rule.updated_at)],
  );
  return (
    <dl class="fields">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="mono">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
