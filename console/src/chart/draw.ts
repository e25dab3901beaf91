import uPlot from "uplot";
import { isUtc } from "../words/time";
import type { ChartSeries, TimeChartProps } from "./series";

export interface Drawing {
  update(props: TimeChartProps): void;
  destroy(): void;
}

const HEIGHT_PX = 150;

/** Draws a chart into `host` and keeps its width. `onCursor` is told the index below the pointer. */
export function draw(host: HTMLElement, props: TimeChartProps, onCursor: (index: number | null) => void): Drawing {
  let series = props.series;
  const plot = new uPlot(options(host, props, onCursor), data(props), host);
  const observer = new ResizeObserver(() => {
    if (host.clientWidth > 0) plot.setSize({ width: host.clientWidth, height: HEIGHT_PX });
  });
  observer.observe(host);
  return {
    update(next) {
      if (next.series === series) return;
      series = next.series;
      plot.setData(data(next));
    },
    destroy() {
      observer.disconnect();
      plot.destroy();
    },
  };
}

function options(host: HTMLElement, props: TimeChartProps, onCursor: (index: number | null) => void): uPlot.Options {
  const style = getComputedStyle(host);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color("--quiet"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  const range: uPlot.Range.MinMax = [0, null as unknown as number];
  return {
    width: Math.max(200, host.clientWidth),
    height: HEIGHT_PX,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    tzDate: at => (isUtc.value ? uPlot.tzDate(new Date(at * 1000), "Etc/UTC") : new Date(at * 1000)),
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [range[0] as number, Math.max(1, (max ?? 1) * 1.08)] } },
    axes: [
      { ...axis, values: timeLabels },
      { ...axis, size: 58, values: (_plot, splits) => splits.map(split => props.format(split)) },
    ],
    series: [{}, ...drawnSeries(props).map(each => seriesOptions(each, props.isStacked === true, color))],
    hooks: { setCursor: [plot => onCursor(plot.cursor.left !== undefined && plot.cursor.left >= 0 ? (plot.cursor.idx ?? null) : null)] },
  };
}

/** Labels of the time axis in 24 hours. */
const timeLabels = [
  [86_400, "{D} {MMM}", null, null, null, null, null, null, 1],
  [3_600, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, ":{ss}", "\n{HH}:{mm}", null, null, null, "\n{HH}:{mm}", null, 1],
] as unknown as uPlot.Axis.Values;

/** The sums of a stack are drawn from the largest, so that each covers what is below it. */
function drawnSeries({ series, isStacked }: TimeChartProps): ChartSeries[] {
  return isStacked ? [...series].reverse() : series;
}

function seriesOptions(series: ChartSeries, isStacked: boolean, color: (name: string) => string): uPlot.Series {
  const stroke = color(series.color);
  if (!isStacked) {
    const points: uPlot.Series.Points = { show: true, size: 4, fill: stroke, filter: (plot, index) => isolated(plot.data[index]) };
    return { label: series.label, stroke, width: 1.5, spanGaps: false, points };
  }
  const paths = uPlot.paths.stepped?.({ align: 1 });
  return { label: series.label, stroke, fill: stroke, width: 1, points: { show: false }, ...(paths && { paths }) };
}

/** Values between two gaps, which no line would show. */
function isolated(values: uPlot.AlignedData[number] | undefined): number[] {
  const found: number[] = [];
  values?.forEach((value, index) => {
    if (value != null && values[index - 1] == null && values[index + 1] == null) found.push(index);
  });
  return found;
}

function data(props: TimeChartProps): uPlot.AlignedData {
  if (!props.isStacked) return [props.at, ...props.series.map(({ values }) => values)];
  const sums = props.at.map(() => 0);
  const stacked = props.series.map(({ values }) => {
    values.forEach((value, index) => {
      sums[index] = (sums[index] ?? 0) + (value ?? 0);
    });
    return [...sums];
  });
  return [props.at, ...stacked.reverse()];
}
