import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";
import type { FinalVerdict, InstructionSummary, Stats, Tick } from "../../api/types";
import { link } from "../../app/router";
import { lastTick, useEvents } from "../../live/events";
import type { Resource } from "../../states/resource";
import { count, micros, rateText } from "../../words/number";
import { VERDICTS, VerdictBadge } from "../../words/verdict";

/** Ticks of the last seconds, for the rate. */
const RATE_MS = 10_000;
const recentTicks = signal<{ at: number; n: number }[]>([]);

const rate = computed(() => {
  const ticks = recentTicks.value;
  const first = ticks[0];
  const last = ticks.at(-1);
  if (first === undefined || last === undefined || last.at === first.at) return null;
  const total = ticks.slice(1).reduce((sum, { n }) => sum + n, 0);
  return total / ((last.at - first.at) / 1000);
});

function addTick(tick: Tick): void {
  const at = Date.parse(tick.at);
  const n = VERDICTS.reduce((sum, verdict) => sum + tick.counts[verdict], 0);
  recentTicks.value = [...recentTicks.value.filter(old => old.at > at - RATE_MS), { at, n }];
}

interface Props {
  stats: Resource<Stats>;
  rules: Resource<InstructionSummary[]>;
}

export function Headline({ stats, rules }: Props): JSX.Element {
  useEvents("tick", addTick);
  const tick = lastTick.value;
  const perSecond = rate.value;
  return (
    <dl class="figures">
      <Figure name="Transactions per second" value={perSecond === null ? "–" : rateText(perSecond)} />
      <Figure name="p50" value={micros(tick?.p50_us ?? null)} />
      <Figure name="p99" value={micros(tick?.p99_us ?? null)} />
      {VERDICTS.map(verdict => (
        <div key={verdict}>
          <dt>
            <VerdictBadge verdict={verdict} done /> in 24 h
          </dt>
          <dd>{count(total(stats.data.value, verdict))}</dd>
        </div>
      ))}
      <div>
        <dt>Rules</dt>
        <dd>
          <a href={link("rules")}>{count(rules.data.value?.length)}</a>
        </dd>
      </div>
    </dl>
  );
}

function Figure({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function total(stats: Stats | null, verdict: FinalVerdict): number | null {
  if (stats === null) return null;
  return stats.series.find(({ key }) => key === verdict)?.values.reduce((sum, value) => sum + value, 0) ?? 0;
}
