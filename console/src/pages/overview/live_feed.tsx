import { batch, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { RuleSummary, VerdictRow } from "../../api/types";
import { useKeys } from "../../app/keys";
import { link } from "../../app/router";
import { listen, streamState, type VerdictBatch } from "../../live/events";
import type { Resource } from "../../states/resource";
import { count, plural } from "../../words/number";
import { VerdictCells, VerdictHead } from "../../words/verdict_row";
import { latestFirst, stoppedEarlier } from "./earlier";

/** Rows kept; older ones are dropped, so that the memory of a page that stays open is bounded. */
const ROWS_MAX = 60;
/** More rows than this at once cannot be read as they come. They are then drawn once a second, which spares the machine. */
const ROWS_READABLE = 5;
const DRAW_MS = 1_000;

const rows = signal<VerdictRow[]>([]);
/** Rows that wait to be drawn, and the number of transactions that they stand for. */
const held = signal<VerdictRow[]>([]);
const n_heldBack = signal(0);
/** Transactions of the rows drawn last that have no row. */
const n_leftOut = signal(0);
/** Whether all rows are payments that were stopped before the page was opened. */
const isOfBefore = signal(false);
const isPaused = signal(false);
const isHovered = signal(false);
let drawnAt = -DRAW_MS;
let drawing: ReturnType<typeof setTimeout> | undefined;

function take({ verdicts, n_more }: VerdictBatch): void {
  batch(() => {
    held.value = [...latestFirst(verdicts), ...held.value].slice(0, ROWS_MAX);
    n_heldBack.value += verdicts.length + n_more;
  });
  const wait = verdicts.length > ROWS_READABLE ? drawnAt + DRAW_MS - performance.now() : 0;
  if (wait <= 0) resumeIfFree();
  else drawing ??= setTimeout(resumeIfFree, wait);
}

function resumeIfFree(): void {
  clearTimeout(drawing);
  drawing = undefined;
  if (isPaused.value || isHovered.value || n_heldBack.value === 0) return;
  drawnAt = performance.now();
  batch(() => {
    isOfBefore.value = false;
    n_leftOut.value = n_heldBack.value - held.value.length;
    rows.value = [...held.value, ...rows.value].slice(0, ROWS_MAX);
    held.value = [];
    n_heldBack.value = 0;
  });
}

function setPaused(value: boolean): void {
  isPaused.value = value;
  resumeIfFree();
}

function setHovered(value: boolean): void {
  isHovered.value = value;
  resumeIfFree();
}

// The feed goes on while another page is shown.
listen("verdicts", take);

/** Begins an empty feed with payments that were stopped before. They are an extra: if they cannot be had, it stays empty. */
function useEarlier({ data }: Resource<RuleSummary[]>): void {
  const rules = data.value;
  useEffect(() => {
    if (rules === null || rows.value.length > 0) return;
    const abort = new AbortController();
    stoppedEarlier(rules, abort.signal).then(
      (earlier) => {
        isOfBefore.value = rows.value.length === 0;
        rows.value = latestFirst([...rows.value, ...earlier]).slice(0, ROWS_MAX);
      },
      () => {},
    );
    return () => abort.abort();
  }, [rules]);
}

/** The verdicts as they are given, non-approved ones first. It stands still below the pointer and while paused. */
export function LiveFeed({ rules }: { rules: Resource<RuleSummary[]> }): JSX.Element {
  useEarlier(rules);
  useEffect(() => () => setHovered(false), []);
  useKeys("Live feed", [{ keys: "Space", title: "Pause or continue", run: () => setPaused(!isPaused.value) }]);
  return (
    <section class="panel feed" aria-labelledby="feed-title">
      <div class="panel-head">
        <h2 id="feed-title">Live</h2>
        <FeedState />
        <button type="button" class="small" aria-pressed={isPaused.value} onClick={() => setPaused(!isPaused.value)}>
          {isPaused.value ? "Continue" : "Pause"} <kbd aria-hidden="true">Space</kbd>
        </button>
      </div>
      <div onMouseEnter={() => setHovered(true)} onMouseLeave={() => setHovered(false)}>
        <FeedTable />
      </div>
    </section>
  );
}

function FeedState(): JSX.Element {
  if (isPaused.value || isHovered.value) {
    const why = isPaused.value ? "Paused" : "Paused below the pointer";
    return (
      <span class="quiet">
        {why}, {count(n_heldBack.value)} held back
      </span>
    );
  }
  if (streamState.value === "not_offered") return <span class="quiet">Not offered by this version of the service</span>;
  if (streamState.value !== "live") return <span class="quiet">Not connected; trying again</span>;
  if (isOfBefore.value) return <span class="quiet">Payments that were stopped before</span>;
  return <span class="quiet">{n_leftOut.value > 0 ? `and ${plural(n_leftOut.value, "other")} in the last moment` : ""}</span>;
}

function FeedTable(): JSX.Element {
  if (rows.value.length === 0) return <p class="quiet">No payment was stopped, and no verdict was given since this page was opened.</p>;
  return (
    <div class="table-scroll">
      <table aria-label="Live verdicts">
        <VerdictHead />
        <tbody>
          {rows.value.map((row) => (
            <tr key={row.sequence.text}>
              <VerdictCells row={row} href={link("transactions", row.transaction_id)} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
