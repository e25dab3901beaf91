import { signal } from "@preact/signals";
import { readStored, store } from "../app/storage";
import { lazy } from "./lazy";

/** Whether times are shown in UTC or in the zone of the browser. */
export const isUtc = signal(readStored("tollgate.utc") !== "false");

export function setUtc(value: boolean): void {
  isUtc.value = value;
  store("tollgate.utc", String(value));
}

function formatter(options: Intl.DateTimeFormatOptions): (at: number) => string {
  const make = (timeZone: string | undefined) => new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", ...options, timeZone });
  const utc = lazy(() => make("UTC"));
  const local = lazy(() => make(undefined));
  return at => (isUtc.value ? utc() : local()).format(at);
}

const CLOCK: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const clock = formatter(CLOCK);
const minute = formatter({ hour: "2-digit", minute: "2-digit" });
const day = formatter({ day: "2-digit", month: "short", year: "numeric" });
const monthDay = formatter({ day: "2-digit", month: "short" });

type Instant = string | number;

function millis(at: Instant): number {
  return typeof at === "number" ? at : Date.parse(at);
}

function safely(at: Instant, format: (at: number) => string): string {
  const value = millis(at);
  return Number.isNaN(value) ? String(at) : format(value);
}

/** `12:04:07` */
export function clockTime(at: Instant): string {
  return safely(at, clock);
}

/** `12:04` */
export function minuteTime(at: Instant): string {
  return safely(at, minute);
}

/** `24 Nov 2026, 12:04:07` */
export function fullTime(at: Instant): string {
  return safely(at, value => `${day(value)}, ${clock(value)}`);
}

/** `24 Nov, 12:04` */
export function shortTime(at: Instant): string {
  return safely(at, value => `${monthDay(value)}, ${minute(value)}`);
}

const STEPS: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** `3 d 4 h`, `12 min 5 s` */
export function duration(seconds: number): string {
  const first = STEPS.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [size, unit] = STEPS[first] as [number, string];
  const whole = `${Math.floor(seconds / size)} ${unit}`;
  const next = STEPS[first + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return next && rest > 0 ? `${whole} ${rest} ${next[1]}` : whole;
}

/** `5 min ago` */
export function ago(at: Instant, now = Date.now()): string {
  const seconds = Math.max(0, (now - millis(at)) / 1000);
  if (Number.isNaN(seconds)) return String(at);
  const [size, unit] = STEPS.find(([step]) => seconds >= step) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}
