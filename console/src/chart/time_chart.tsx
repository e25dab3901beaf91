import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../app/theme";
import { fullTime, isUtc, shortTime } from "../words/time";
import type { Drawing } from "./draw";
import type { TimeChartProps } from "./series";

/** A chart over time that can be shown as a table. Its drawing is loaded when the first chart is shown. */
export function TimeChart(props: TimeChartProps): JSX.Element {
  const [isTable, setTable] = useState(false);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        <button type="button" class="small" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          As table<span class="hidden-text">: {props.title}</span>
        </button>
      </figcaption>
      {isTable ? <ChartTable {...props} /> : <ChartCanvas {...props} />}
    </figure>
  );
}

function ChartCanvas(props: TimeChartProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const shape = `${theme.value} ${isUtc.value} ${props.series.map(({ label }) => label).join("\n")}`;
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    let isGone = false;
    void import("./draw").then(({ draw }) => {
      if (!isGone && host.current !== null) drawing.current = draw(host.current, latest.current, setCursor);
    });
    return () => {
      isGone = true;
      drawing.current?.destroy();
      drawing.current = null;
    };
  }, [shape]);
  useEffect(() => drawing.current?.update(props), [props.at, props.series]);
  const index = cursor ?? props.at.length - 1;
  return (
    <>
      <div class="chart-canvas" ref={host} role="img" aria-label={`${props.title}, ${describe(props)}`} />
      <Legend {...props} index={index} isCursor={cursor !== null} />
    </>
  );
}

function describe({ series, at, format }: TimeChartProps): string {
  if (at.length === 0) return "no data";
  const last = series.map(({ label, values }) => `${label} ${format(values.at(-1) ?? null)}`).join(", ");
  return `now ${last}. The button above shows all values as a table.`;
}

/** The values at the pointer, or the latest ones. */
function Legend(props: TimeChartProps & { index: number; isCursor: boolean }): JSX.Element {
  const { series, at, index, isCursor, format } = props;
  const time = at[index];
  return (
    <p class="legend" aria-hidden="true">
      <span class="quiet legend-time">{isCursor && time !== undefined ? shortTime(time * 1000) : "Latest"}</span>
      {series.map(({ label, mark, color, values }) => (
        <span key={label} class="legend-entry">
          <span class="legend-mark" style={{ color: `var(${color})` }}>
            {mark ?? "—"}
          </span>{" "}
          {label} <strong>{format(values[index] ?? null)}</strong>
        </span>
      ))}
    </p>
  );
}

/** Rows of the table of a chart; a day has 1,440 minutes, so only those with values are shown. */
const TABLE_ROWS_MAX = 200;

function ChartTable({ title, at, series, format }: TimeChartProps): JSX.Element {
  const rows = at.map((time, index) => ({ time, index })).filter(({ index }) => series.some(({ values }) => values[index]));
  const shown = rows.slice(-TABLE_ROWS_MAX).reverse();
  return (
    <div class="chart-table" tabIndex={0} role="group" aria-label={`${title}, table`}>
      <table aria-label={title}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ label, mark }) => (
              <th scope="col" class="number" key={label}>
                {mark !== undefined && <span aria-hidden="true">{mark} </span>}
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ time, index }) => (
            <tr key={time}>
              <td>{fullTime(time * 1000)}</td>
              {series.map(({ label, values }) => (
                <td class="number" key={label}>
                  {format(values[index] ?? null)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="quiet">No values in this time.</p>}
      {rows.length > shown.length && <p class="quiet">The latest {TABLE_ROWS_MAX} times with values.</p>}
    </div>
  );
}
