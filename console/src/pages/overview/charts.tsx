import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Stats } from "../../api/types";
import type { ChartSeries } from "../../chart/series";
import { TimeChart } from "../../chart/time_chart";
import type { Resource } from "../../states/resource";
import { Loaded } from "../../states/views";
import { count, micros } from "../../words/number";
import { VERDICTS, verdictMark, verdictWord } from "../../words/verdict";

interface Props {
  stats: Resource<Stats>;
}

/** Steps shown at least, also where nothing happened. */
const STEPS_MIN = 60;

/** Returns the first step to show: a service that is young does not fill a day. */
function firstStep({ series, steps }: Stats): number {
  const begins = series.map(({ values }) => values.findIndex(value => value > 0)).filter(step => step >= 0);
  return Math.max(0, Math.min(steps - STEPS_MIN, ...begins.map(step => step - 5)));
}

function seconds(stats: Stats): number[] {
  const from = Date.parse(stats.from) / 1000;
  const first = firstStep(stats);
  return Array.from({ length: stats.steps - first }, (_, step) => from + (first + step) * stats.step_seconds);
}

export function VerdictChart({ stats }: Props): JSX.Element {
  return (
    <Loaded resource={stats} what="statistics">
      {data => <Verdicts data={data} />}
    </Loaded>
  );
}

function Verdicts({ data }: { data: Stats }): JSX.Element {
  const at = useMemo(() => seconds(data), [data]);
  const series = useMemo(() => VERDICTS.map(verdict => verdictSeries(data, verdict)), [data]);
  return <TimeChart title="Verdicts per minute" at={at} series={series} isStacked format={count} />;
}

function verdictSeries(data: Stats, verdict: (typeof VERDICTS)[number]): ChartSeries {
  const values = data.series.find(({ key }) => key === verdict)?.values ?? new Array<number>(data.steps).fill(0);
  const shown = values.slice(firstStep(data));
  return { label: verdictWord(verdict), mark: verdictMark(verdict), color: `--${verdict}`, values: shown };
}

export function LatencyChart({ stats }: Props): JSX.Element {
  return (
    <Loaded resource={stats} what="statistics">
      {data => <Latencies data={data} />}
    </Loaded>
  );
}

function Latencies({ data }: { data: Stats }): JSX.Element {
  const at = useMemo(() => seconds(data), [data]);
  const series = useMemo(
    () => [
      { label: "p50", mark: "─", color: "--approve", values: data.latency.p50_us.slice(firstStep(data)) },
      { label: "p99", mark: "━", color: "--alert", values: data.latency.p99_us.slice(firstStep(data)) },
    ],
    [data],
  );
  return <TimeChart title="Latency" at={at} series={series} format={micros} />;
}
