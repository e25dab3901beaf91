import type { Tick, VerdictBatch } from "../api/types";
import { VERDICTS } from "../words/verdict";

/** More rows than this at once cannot be read as they come. */
const ROWS_READABLE = 5;
const DELIVER_MS = 1_000;
/** Rows kept until the next delivery. A hidden tab may have to wait for a minute. */
const ROWS_MAX = 200;

/**
 * Delivers a few verdicts at once. Ticks, and verdicts that come faster than they can be read, are combined and delivered
 * once a second, which keeps a page under load cheap.
 */
export class Pace {
  #tick: Tick | null = null;
  #batch: VerdictBatch | null = null;
  #deliveredAt = -DELIVER_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly deliver: (tick: Tick | null, batch: VerdictBatch | null) => void) {}

  addTick(tick: Tick): void {
    this.#tick = this.#tick === null ? tick : addedTicks(this.#tick, tick);
    this.#deliverIn(this.#deliveredAt + DELIVER_MS - performance.now());
  }

  addVerdicts(batch: VerdictBatch): void {
    this.#batch = this.#batch === null ? batch : addedBatches(this.#batch, batch);
    const isReadable = batch.verdicts.length <= ROWS_READABLE;
    this.#deliverIn(isReadable ? 0 : this.#deliveredAt + DELIVER_MS - performance.now());
  }

  #deliverIn(waitMs: number): void {
    if (waitMs <= 0) this.#deliverNow();
    else this.#timer ??= setTimeout(() => this.#deliverNow(), waitMs);
  }

  #deliverNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#deliveredAt = performance.now();
    const [tick, batch] = [this.#tick, this.#batch];
    this.#tick = null;
    this.#batch = null;
    this.deliver(tick, batch);
  }
}

/** Returns the latest tick with the counts of both. */
function addedTicks(earlier: Tick, later: Tick): Tick {
  const counts = { ...later.counts };
  for (const verdict of VERDICTS) counts[verdict] = earlier.counts[verdict] + later.counts[verdict];
  return { ...later, counts };
}

function addedBatches(earlier: VerdictBatch, later: VerdictBatch): VerdictBatch {
  const verdicts = [...earlier.verdicts, ...later.verdicts];
  const n_dropped = Math.max(0, verdicts.length - ROWS_MAX);
  return { verdicts: verdicts.slice(n_dropped), n_more: earlier.n_more + later.n_more + n_dropped };
}
