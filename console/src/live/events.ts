import { batch as drawTogether, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Decimal } from "../api/decimal";
import { parseAnswer } from "../api/json";
import type { Tick, VerdictBatch } from "../api/types";
import { Pace } from "./pace";
import { startSharedStream } from "./shared_stream";
import type { ServerEvent } from "./sse";
import type { StreamState } from "./stream";

interface EventTypes {
  tick: Tick;
  verdicts: VerdictBatch;
  rules: { rule_set_version: Decimal };
  resync: Record<string, never>;
  /** This tab changed a rule or a list. */
  changed: null;
}

type Handler<Name extends keyof EventTypes> = (event: EventTypes[Name]) => void;

const handlers: { [Name in keyof EventTypes]: Set<Handler<Name>> } = {
  tick: new Set(),
  verdicts: new Set(),
  rules: new Set(),
  resync: new Set(),
  changed: new Set(),
};

export const streamState = signal<StreamState>("connecting");
export const lastTick = signal<Tick | null>(null);
/** Version of the rule set that the stream named last. */
export const ruleSetVersion = signal<Decimal | null>(null);

export function startEvents(): void {
  startSharedStream({
    onEvent: dispatch,
    onState: state => {
      streamState.value = state;
    },
  });
  listen("tick", tick => {
    lastTick.value = tick;
  });
  listen("rules", rules => {
    ruleSetVersion.value = rules.rule_set_version;
  });
}

const pace = new Pace((tick, batch) => {
  drawTogether(() => {
    if (tick !== null) tell("tick", tick);
    if (batch !== null) tell("verdicts", batch);
  });
});

function dispatch(event: ServerEvent): void {
  const name = event.type as keyof EventTypes;
  if (!(name in handlers)) return;
  const parsed: unknown = parseAnswer(event.data);
  if (name === "tick") pace.addTick(parsed as Tick);
  else if (name === "verdicts") pace.addVerdicts(parsed as VerdictBatch);
  else tell(name, parsed as EventTypes[typeof name]);
}

function tell<Name extends keyof EventTypes>(name: Name, event: EventTypes[Name]): void {
  const called: Set<Handler<Name>> = handlers[name];
  for (const handler of called) handler(event);
}

/** Has the lists of rules loaded again, also while there is no event stream. */
export function tellChanged(): void {
  tell("changed", null);
}

/** Calls `handler` for each event of a type. Returns the function that ends it. */
export function listen<Name extends keyof EventTypes>(name: Name, handler: Handler<Name>): () => void {
  const set = handlers[name] as Set<Handler<Name>>;
  set.add(handler);
  return () => set.delete(handler);
}

/** Calls `handler` for each event of a type while the component is shown. */
export function useEvents<Name extends keyof EventTypes>(name: Name, handler: Handler<Name>): void {
  useEffect(() => listen(name, handler), [name]);
}
