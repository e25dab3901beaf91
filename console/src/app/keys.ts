import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { readStored, store } from "./storage";

export interface KeyBinding {
  /** A key (`r`), a chord (`Ctrl+K`) or a sequence (`g r`). */
  keys: string;
  title: string;
  run(event: KeyboardEvent): void;
}

const STORED = "tollgate.letterKeys";
/** How long the first key of a sequence waits for the second. */
const SEQUENCE_MS = 1_200;

/** Whether single letters act as commands. Chords always do. */
export const letterKeys = signal(readStored(STORED) !== "false");

export function setLetterKeys(value: boolean): void {
  letterKeys.value = value;
  store(STORED, String(value));
}

type Group = { name: string; bindings: () => KeyBinding[] };
const groups = signal<Group[]>([]);

/** All bindings in force, by group, for the help. */
export function boundKeys(): { name: string; bindings: KeyBinding[] }[] {
  return groups.value.map(({ name, bindings }) => ({ name, bindings: bindings() }));
}

export function bindKeys(name: string, bindings: () => KeyBinding[]): () => void {
  const group = { name, bindings };
  groups.value = [...groups.value, group];
  return () => {
    groups.value = groups.value.filter(other => other !== group);
  };
}

/** Puts bindings in force while the component is shown, as soon as it is in the document. The latest closures run. */
export function useKeys(name: string, bindings: KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useLayoutEffect(() => bindKeys(name, () => latest.current), [name]);
}

let pending = "";
let pendingTimer: ReturnType<typeof setTimeout> | undefined;

export function startKeys(): void {
  addEventListener("keydown", event => {
    if (event.defaultPrevented || event.isComposing) return;
    const key = keyName(event);
    if (key === null) return;
    const isChord = /^(Ctrl|Alt)\+/.test(key) || /^F\d/.test(key);
    if (!isChord && isTyping(event)) return;
    if (!isChord && document.querySelector("dialog[open]") !== null) return;
    if (!isChord && !letterKeys.value && key.length === 1) return;
    if ((key === "Space" || key === "Enter") && isControl(event)) return;
    runBinding(key, event);
  });
}

function runBinding(key: string, event: KeyboardEvent): void {
  const sequence = pending === "" ? key : `${pending} ${key}`;
  clearTimeout(pendingTimer);
  pending = "";
  // The group that was added last goes first: a page before the frame.
  const all = [...groups.value].reverse().flatMap(group => group.bindings());
  const binding = all.find(each => each.keys === sequence) ?? all.find(each => each.keys === key);
  if (binding !== undefined) {
    event.preventDefault();
    binding.run(event);
  } else if (all.some(each => each.keys.startsWith(`${sequence} `))) {
    pending = sequence;
    pendingTimer = setTimeout(() => {
      pending = "";
    }, SEQUENCE_MS);
  }
}

/** Returns the name of the key as bindings spell it; `null` for a modifier alone. */
function keyName(event: KeyboardEvent): string | null {
  if (["Control", "Meta", "Alt", "Shift"].includes(event.key)) return null;
  const key = event.key === " " ? "Space" : event.key;
  if (event.ctrlKey || event.metaKey) return `Ctrl+${key.length === 1 ? key.toUpperCase() : key}`;
  return event.altKey ? `Alt+${key}` : key;
}

/** Returns whether the focused element does something of its own on Space or Enter. */
function isControl(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return target instanceof Element && target.closest("a, button, input, select, summary") !== null;
}

/** Returns whether the key goes to a field. The editor is in a shadow root, so the path of the event is looked at. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target.isContentEditable;
}
