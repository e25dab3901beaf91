/** Full hours that are needed to say what is usual. */
const N_HOURS_MIN = 3;

/** The first hour in which any rule matched: the service may not have run before it. */
export function firstHour(rules: readonly { hourly: number[] }[]): number {
  const firsts = rules.map(({ hourly }) => hourly.findIndex(hits => hits > 0)).filter(hour => hour >= 0);
  return firsts.length === 0 ? 0 : Math.min(...firsts);
}

/** The median of the full hours from `first` on; null while there are too few. The last hour is under way. */
export function usualHits(hourly: number[], first: number): number | null {
  const full = hourly.slice(first, -1).sort((a, b) => a - b);
  return full.length < N_HOURS_MIN ? null : (full[Math.floor(full.length / 2)] ?? null);
}
