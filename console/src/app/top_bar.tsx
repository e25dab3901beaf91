import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { readiness } from "../api/system";
import { lastTick, streamState } from "../live/events";
import type { StreamState } from "../live/stream";
import { useResource } from "../states/resource";
import { count } from "../words/number";
import { checkState } from "../words/readiness";
import { openKeysHelp } from "./keys_help";
import { openPalette } from "./palette";
import { go, link } from "./router";
import { theme, toggleTheme } from "./theme";

export function TopBar(): JSX.Element {
  return (
    <header class="top-bar">
      <a class="brand" href={link()}>
        Tollgate
      </a>
      <FindTransaction />
      <ReadyState />
      <LiveState />
      <span class="top-buttons">
        <button type="button" onClick={() => openPalette()} aria-keyshortcuts="Control+K">
          Palette <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <button type="button" onClick={() => openKeysHelp()} aria-label="Keys">
          <kbd aria-hidden="true">?</kbd>
        </button>
        <button type="button" onClick={toggleTheme} aria-label={theme.value === "dark" ? "Light theme" : "Dark theme"}>
          <span aria-hidden="true">{theme.value === "dark" ? "☀" : "☾"}</span>
        </button>
      </span>
    </header>
  );
}

function FindTransaction(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const open = (event: Event) => {
    event.preventDefault();
    const id = input.current?.value ?? "";
    if (id === "" || input.current === null) return;
    input.current.value = "";
    go(link("transactions", id));
  };
  const leave = (event: KeyboardEvent) => {
    if (event.key === "Escape") input.current?.blur();
  };
  return (
    <form class="find" role="search" aria-label="Transactions" onSubmit={open}>
      <input
        id="find-transaction"
        ref={input}
        type="text"
        autocomplete="off"
        spellcheck={false}
        placeholder="Transaction id"
        aria-label="Transaction id"
        aria-keyshortcuts="/"
        onKeyDown={leave}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function ReadyState(): JSX.Element {
  const { data, error } = useResource("readyz", readiness, { everyMs: 5_000 });
  const ready = data.value;
  if (error.value !== null || ready === null) {
    const word = error.value === null ? "…" : "Not reachable";
    return <StateLink mark={error.value === null ? "·" : "✗"} word={word} kind={error.value === null ? "quiet" : "bad"} />;
  }
  const degraded = Object.values(ready.checks).filter(check => checkState(check, true) === "degraded").length;
  if (ready.status !== "ready") return <StateLink mark="✗" word={capital(ready.status)} kind="bad" />;
  if (degraded > 0) return <StateLink mark="!" word={`Ready, ${degraded} degraded`} kind="warn" />;
  return <StateLink mark="✓" word="Ready" kind="quiet" />;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function StateLink({ mark, word, kind }: { mark: string; word: string; kind: string }): JSX.Element {
  return (
    <a class={`state ${kind}`} href={link("system")}>
      <span aria-hidden="true">{mark}</span> {word}
    </a>
  );
}

const STREAM_WORDS: Record<StreamState, string> = {
  connecting: "Connecting",
  live: "Live",
  waiting: "Reconnecting",
};

function LiveState(): JSX.Element {
  const state = streamState.value;
  const tick = lastTick.value;
  return (
    <span class={state === "live" ? "state live" : "state"}>
      <span aria-hidden="true">{state === "live" ? "●" : "○"}</span> {STREAM_WORDS[state]}
      {tick !== null && state === "live" && tick.in_flight > 0 && <>, {count(tick.in_flight)} in flight</>}
    </span>
  );
}
