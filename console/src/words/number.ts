import { type Decimal, groupThousands } from "../api/decimal";
import { lazy } from "./lazy";

const whole = lazy(() => new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 }));
const tenths = lazy(() => new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 }));

/** A count: `14,210`. */
export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : whole().format(value);
}

/** A rate, with a decimal where it is small: `0.3`. */
export function rateText(value: number): string {
  return value < 10 ? tenths().format(value) : count(value);
}

/** An amount with all its digits. */
export function amount(value: Decimal): string {
  return groupThousands(value.text);
}

/** A score: at least two decimals, and all that it has. */
export function score(value: number): string {
  return Number.isInteger(value * 100) ? value.toFixed(2) : String(value);
}

/** Microseconds, in the unit that reads best: `310 µs`, `2.1 ms`. */
export function micros(value: number | null): string {
  if (value === null) return "–";
  if (value < 1_000) return `${whole().format(value)} µs`;
  if (value < 1_000_000) return `${tenths().format(value / 1_000)} ms`;
  return `${tenths().format(value / 1_000_000)} s`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(value: number): string {
  let unit = 0;
  let scaled = value;
  while (scaled >= 1024 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? whole().format(scaled) : tenths().format(scaled)} ${UNITS[unit]}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
