import { batch, type Signal, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { InstructionSummary, VerdictBatch, VerdictRow } from "../../api/types";
import { useKeys } from "../../app/keys";
import { link } from "../../app/router";
import { Table } from "../../grid/table";
import { listen, streamState } from "../../live/events";
import type { Resource } from "../../states/resource";
import { count, plural } from "../../words/number";
import { severity } from "../../words/verdict";
import { latestFirst, stoppedEarlier, withEarlier } from "./earlier";
import { COLUMNS } from "./feed_columns";

/** Rows kept; older ones are dropped, so that the memory of a page that stays open is bounded. */
const ROWS_MAX = 60;

const rows = signal<VerdictRow[]>([]);
/** Rows that wait to be drawn, and the number of transactions that they stand for. */
const held = signal<VerdictRow[]>([]);
const n_heldBack = signal(0);
/** Transactions of the rows drawn last that have no row. */
const n_leftOut = signal(0);
/** Whether all rows are payments that were stopped before the page was opened. */
const isOfBefore = signal(false);
const isPaused = signal(false);
/** Whether the pointer or the focus is in the table: what is about to be opened must not move away. */
const isHovered = signal(false);
const isFocused = signal(false);

/** The latest rows first. Of more than are kept, the severest are kept and come first. */
function kept(found: VerdictRow[]): VerdictRow[] {
  const latest = latestFirst(found);
  if (latest.length <= ROWS_MAX) return latest;
  return latest.sort((a, b) => severity(b.verdict) - severity(a.verdict)).slice(0, ROWS_MAX);
}

function take({ verdicts, n_more }: VerdictBatch): void {
  batch(() => {
    held.value = kept([...verdicts, ...held.value]);
    n_heldBack.value += verdicts.length + n_more;
    resumeIfFree();
  });
}

function resumeIfFree(): void {
  if (whyPaused() !== null || n_heldBack.value === 0) return;
  batch(() => {
    isOfBefore.value = false;
    n_leftOut.value = n_heldBack.value - held.value.length;
    rows.value = [...held.value, ...rows.value].slice(0, ROWS_MAX);
    held.value = [];
    n_heldBack.value = 0;
  });
}

function whyPaused(): string | null {
  if (isPaused.value) return "Paused";
  if (isHovered.value) return "Paused below the pointer";
  return isFocused.value ? "Paused while a row has the focus" : null;
}

function set(pause: Signal<boolean>, value: boolean): void {
  pause.value = value;
  resumeIfFree();
}

// The feed goes on while another page is shown.
listen("verdicts", take);

/** Begins an empty feed with payments that were stopped before. They are an extra: if they cannot be had, it stays empty. */
function useEarlier({ data }: Resource<InstructionSummary[]>): void {
  const rules = data.value;
  useEffect(() => {
    if (rules === null || rows.value.length > 0) return;
    const abort = new AbortController();
    stoppedEarlier(rules, abort.signal).then(
      earlier => {
        isOfBefore.value = rows.value.length === 0;
        rows.value = withEarlier(rows.value, earlier).slice(0, ROWS_MAX);
      },
      () => {},
    );
    return () => abort.abort();
  }, [rules]);
}

/** The pointer and the focus leave the table with the page. */
function leave(): void {
  isFocused.value = false;
  set(isHovered, false);
}

/** The verdicts as they are given, non-approved ones first. It stands still below the pointer, with the focus and while paused. */
export function LiveFeed({ rules }: { rules: Resource<InstructionSummary[]> }): JSX.Element {
  useEarlier(rules);
  useEffect(() => leave, []);
  const toggle = () => set(isPaused, !isPaused.value);
  useKeys("Live feed", [{ keys: "Space", title: "Pause or continue", run: toggle }]);
  return (
    <section class="panel feed" aria-labelledby="feed-title">
      <div class="panel-head">
        <h2 id="feed-title">Live</h2>
        <FeedState />
        <button type="button" class="small" aria-pressed={isPaused.value} onClick={toggle}>
          {isPaused.value ? "Continue" : "Pause"} <kbd aria-hidden="true">Space</kbd>
        </button>
      </div>
      <div
        onMouseEnter={() => set(isHovered, true)}
        onMouseLeave={() => set(isHovered, false)}
        onFocusIn={({ target }) => set(isFocused, (target as Element).matches(":focus-visible"))}
        onFocusOut={() => set(isFocused, false)}
      >
        <FeedTable />
      </div>
    </section>
  );
}

function FeedState(): JSX.Element {
  const why = whyPaused();
  if (why !== null) {
    return (
      <span class="quiet">
        {why}, {count(n_heldBack.value)} held back
      </span>
    );
  }
  if (streamState.value !== "live") return <span class="quiet">Not connected; trying again</span>;
  if (isOfBefore.value) return <span class="quiet">Payments that were stopped before</span>;
  return <span class="quiet">{n_leftOut.value > 0 ? `and ${plural(n_leftOut.value, "other")} in the last moment` : ""}</span>;
}

function FeedTable(): JSX.Element {
  if (rows.value.length === 0) return <p class="quiet">No payment was stopped, and no verdict was given since this page was opened.</p>;
  return (
    <Table
      label="Live verdicts"
      columns={COLUMNS}
      rows={rows.value}
      rowKey={({ sequence }) => sequence.text}
      href={({ transaction_id }) => link("transactions", transaction_id)}
    />
  );
}
