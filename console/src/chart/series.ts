export interface ChartSeries {
  label: string;
  /** A mark before the label, where colours have a meaning. */
  mark?: string;
  /** A CSS variable with the colour. */
  color: string;
  values: (number | null)[];
}

export interface TimeChartProps {
  title: string;
  /** Seconds since 1970. */
  at: number[];
  series: ChartSeries[];
  isStacked?: boolean;
  format: (value: number | null) => string;
}
