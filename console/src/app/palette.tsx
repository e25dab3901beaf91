import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { listLists } from "../api/lists";
import { listRules } from "../api/rules";
import type { InstructionSummary, List } from "../api/types";
import { Text } from "../words/text";
import { openKeysHelp } from "./keys_help";
import { NAVIGATION } from "./pages";
import { go, link } from "./router";
import { toggleTheme } from "./theme";

interface Command {
  id: string;
  kind: string;
  title: string;
  run(): void;
}

const SHOWN_MAX = 12;
const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

const FIXED: Command[] = [
  ...NAVIGATION.map(({ title, href }) => ({ id: href, kind: "Page", title, run: () => go(href) })),
  { id: "new", kind: "Action", title: "New rule", run: () => go(link("rules", "new")) },
  { id: "theme", kind: "Action", title: "Light or dark theme", run: toggleTheme },
  { id: "keys", kind: "Action", title: "Show the keys", run: openKeysHelp },
];

/** Returns the commands that contain all words of the query, those that begin with it first. */
function findCommands(query: string, named: Command[]): Command[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== "");
  const found = [...FIXED, ...named].filter(({ title }) => words.every(word => title.toLowerCase().includes(word)));
  const first = words[0] ?? "";
  found.sort((a, b) => Number(b.title.toLowerCase().startsWith(first)) - Number(a.title.toLowerCase().startsWith(first)));
  const shown = found.slice(0, SHOWN_MAX);
  if (query !== "") {
    const id = query.trim();
    shown.push({ id: "find", kind: "Transaction", title: id, run: () => go(link("transactions", id)) });
  }
  return shown;
}

function commandsOfRule({ id, name }: InstructionSummary): Command[] {
  return [
    { id: `rule-${id}`, kind: "Rule", title: name, run: () => go(link("rules", id)) },
    { id: `edit-${id}`, kind: "Edit rule", title: name, run: () => go(link("rules", id, "edit")) },
  ];
}

function commandOfList({ name }: List): Command {
  return { id: `list-${name}`, kind: "List", title: name, run: () => go(link("lists", name)) };
}

export function Palette(): JSX.Element | null {
  return isOpen.value ? <OpenPalette /> : null;
}

/** Commands of the rules and lists. Without an answer the palette still offers pages and actions. */
function useNamed(): Command[] {
  const [ofRules, setOfRules] = useState<Command[]>([]);
  const [ofLists, setOfLists] = useState<Command[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    listRules(abort.signal).then(
      rules => setOfRules(rules.flatMap(commandsOfRule)),
      () => undefined,
    );
    listLists(abort.signal).then(
      lists => setOfLists(lists.map(commandOfList)),
      () => undefined,
    );
    return () => abort.abort();
  }, []);
  return useMemo(() => [...ofRules, ...ofLists], [ofRules, ofLists]);
}

function OpenPalette(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [query, setQuery] = useState("");
  const [selected, setSelected] = useState(0);
  const named = useNamed();
  const commands = useMemo(() => findCommands(query, named), [query, named]);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = () => {
    isOpen.value = false;
  };
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    dialog.current?.close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setSelected((selected + step + commands.length) % Math.max(1, commands.length));
    else if (event.key === "Enter") run(commands[selected]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog class="palette" ref={dialog} onClose={close} aria-label="Palette">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`command-${selected}`}
        aria-label="Page, rule, list, action or transaction id"
        placeholder="Page, rule, list, action or transaction id"
        autocomplete="off"
        spellcheck={false}
        value={query}
        onInput={event => (setQuery(event.currentTarget.value), setSelected(0))}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-list" role="listbox" aria-label="Commands">
        {commands.map((command, index) => (
          <li key={command.id} id={`command-${index}`} role="option" aria-selected={index === selected} onClick={() => run(command)}>
            <span class="quiet">{command.kind}</span> <Text value={command.title} />
          </li>
        ))}
      </ul>
    </dialog>
  );
}
