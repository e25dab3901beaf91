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

const rows = signal<VerdictRow[]>([]);
/** Rows that wait while the feed is paused, and how many were left out of it. */
const held = signal<VerdictRow[]>([]);
const n_heldBack = signal(0);
/** Transactions that the stream counted without sending them. */
const n_leftOut = signal(0);
const isPaused = signal(false);
const isHovered = signal(false);

function take({ verdicts, n_more }: VerdictBatch): void {
  const newest = latestFirst(verdicts);
  batch(() => {
    if (isPaused.value || isHovered.value) {
      held.value = [...newest, ...held.value].slice(0, ROWS_MAX);
      n_heldBack.value += verdicts.length + n_more;
    } else {
      rows.value = [...newest, ...rows.value].slice(0, ROWS_MAX);
      n_leftOut.value = n_more;
    }
  });
}

function resumeIfFree(): void {
  if (isPaused.value || isHovered.value) return;
  batch(() => {
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

/** Begins an empty feed with payments that were stopped before. They are an extra: if they cannot be had, it stays empty. */
function useEarlier({ data }: Resource<RuleSummary[]>): void {
  const rules = data.value;
  useEffect(() => {
    if (rules === null || rows.value.length > 0) return;
    const abort = new AbortController();
    stoppedEarlier(rules, abort.signal).then(
      (earlier) => {
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
  useEffect(() => listen("verdicts", take), []);
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
    return <span class="quiet">Paused, {count(n_heldBack.value)} held back</span>;
  }
  if (streamState.value === "not_offered") return <span class="quiet">Not offered by this version of the service</span>;
  if (streamState.value !== "live") return <span class="quiet">Not connected; trying again</span>;
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
