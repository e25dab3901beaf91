import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Announcements } from "./announce";
import { type KeyBinding, useKeys } from "./keys";
import { KeysHelp, openKeysHelp } from "./keys_help";
import { matchPage, NAVIGATION } from "./pages";
import { openPalette, Palette } from "./palette";
import { go, link, place, route } from "./router";
import { SideBar, toggleSideBar } from "./side_bar";
import { toggleTheme } from "./theme";
import { TopBar } from "./top_bar";
import { UndoBar } from "./undo";

const FRAME_KEYS: KeyBinding[] = [
  { keys: "Ctrl+K", title: "Open the palette", run: () => openPalette() },
  { keys: "?", title: "Show the keys", run: () => openKeysHelp() },
  { keys: "/", title: "Find a transaction by its id", run: () => document.getElementById("find-transaction")?.focus() },
  { keys: "n", title: "New rule", run: () => go(link("rules", "new")) },
  { keys: "t", title: "Light or dark", run: () => toggleTheme() },
  { keys: "m", title: "Narrow or wide side bar", run: () => toggleSideBar() },
  { keys: "Escape", title: "Back", run: () => goBack() },
  ...NAVIGATION.map(({ key, title, href }) => ({ keys: `g ${key}`, title: `Go to ${title}`, run: () => go(href) })),
];

/** Goes up one level: from a rule to the rules, from a page to the overview. A transaction has no page above it. */
function goBack(): void {
  const [first = "", id] = route.value.segments;
  if (first === "transactions") history.back();
  else go(id === undefined ? link() : link(first));
}

export function Frame(): JSX.Element {
  useKeys("Everywhere", FRAME_KEYS);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={event => (event.preventDefault(), focusMain())}>
        Skip to the content
      </a>
      <aside class="open-port" aria-label="Warning">
        <span aria-hidden="true">⚠</span> Anybody who reaches this port may change rules.
      </aside>
      <TopBar />
      <SideBar />
      <main id="main" tabIndex={-1}>
        <CurrentPage />
      </main>
      <UndoBar />
      <Announcements />
      <Palette />
      <KeysHelp />
    </div>
  );
}

function focusMain(): void {
  (document.querySelector<HTMLElement>("main h1") ?? document.getElementById("main"))?.focus();
}

function CurrentPage(): JSX.Element {
  const match = matchPage(route.value.segments);
  const key = place.value;
  useEffect(() => {
    document.title = `${match?.title ?? "Not found"} · Tollgate`;
    focusMain();
  }, [key]);
  if (match === null) {
    return (
      <div class="page">
        <h1 tabIndex={-1}>Not found</h1>
        <p>
          The console has no page with this address. <a href={link()}>Overview</a>
        </p>
      </div>
    );
  }
  const { Page, id } = match;
  return <Page key={key} id={id} />;
}
