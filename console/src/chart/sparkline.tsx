import type { JSX } from "preact";
import { count } from "../words/number";

const BAR = 3;
const HEIGHT = 18;

/** Bars of equal spans of time, the oldest first, from zero. */
export function Sparkline({ values, label }: { values: number[]; label: string }): JSX.Element | null {
  if (values.length === 0) return null;
  const peak = Math.max(...values);
  const total = values.reduce((sum, value) => sum + value, 0);
  const path = values.map((value, index) => bar(value, index, peak)).join("");
  return (
    <svg
      class="sparkline"
      width={values.length * (BAR + 1)}
      height={HEIGHT}
      role="img"
      aria-label={`${label}: ${count(total)}, at most ${count(peak)} in an hour`}
    >
      <path d={path} />
    </svg>
  );
}

function bar(value: number, index: number, peak: number): string {
  // An hour without hits keeps a line of one pixel, so that the time axis stays visible.
  const height = value === 0 ? 1 : Math.max(2, Math.round((value / peak) * HEIGHT));
  return `M${index * (BAR + 1)} ${HEIGHT - height}h${BAR}v${height}h-${BAR}z`;
}
