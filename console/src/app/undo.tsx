import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { tellChanged } from "../live/events";
import { Text } from "../words/text";
import { say } from "./announce";
import { useKeys } from "./keys";

/** Something that happens when its five seconds are over, unless it is undone. Leaving the page cancels it. */
interface PendingAct {
  key: string;
  title: string;
  at: number;
  timer: ReturnType<typeof setTimeout>;
}

const UNDO_MS = 5_000;
const pending = signal<PendingAct[]>([]);

/** Whether an act with this key waits. What it removes is shown as removed meanwhile. */
export function isPending(key: string): boolean {
  return pending.value.some(act => act.key === key);
}

/** Runs `act` in five seconds and offers to undo it until then. */
export function actLater(key: string, title: string, act: () => Promise<unknown>): void {
  if (isPending(key)) return;
  const timer = setTimeout(() => void finish(key, title, act), UNDO_MS);
  pending.value = [...pending.value, { key, title, at: Date.now() + UNDO_MS, timer }];
}

async function finish(key: string, title: string, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
    say(`${title}: done`);
  } catch (error) {
    say(`${title}: failed. ${ApiError.of(error).message}`);
  }
  tellChanged();
  remove(key);
}

function remove(key: string): void {
  pending.value = pending.value.filter(act => act.key !== key);
}

function undo(act: PendingAct): void {
  clearTimeout(act.timer);
  remove(act.key);
  say(`${act.title}: undone`);
}

export function UndoBar(): JSX.Element | null {
  const acts = pending.value;
  const last = acts.at(-1);
  useKeys("Undo", last === undefined ? [] : [{ keys: "u", title: `Undo: ${last.title}`, run: () => undo(last) }]);
  if (acts.length === 0) return null;
  return (
    <ul class="undo-bar" aria-label="Can be undone">
      {acts.map(act => (
        <li key={act.key} role="status">
          <span>
            <Text value={act.title} /> in <Countdown at={act.at} />
          </span>
          <button type="button" onClick={() => undo(act)}>
            Undo {act === last && <kbd aria-hidden="true">u</kbd>}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Countdown({ at }: { at: number }): JSX.Element {
  const [left, setLeft] = useState(() => at - Date.now());
  useEffect(() => {
    const timer = setInterval(() => setLeft(at - Date.now()), 250);
    return () => clearInterval(timer);
  }, [at]);
  return <span aria-hidden="true">{Math.max(0, Math.ceil(left / 1000))} s</span>;
}
