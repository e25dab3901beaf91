import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { NAVIGATION } from "./pages";
import { route } from "./router";
import { readStored, store } from "./storage";

const STORED = "tollgate.sideBar";
const isNarrow = signal(readStored(STORED) === "narrow");

export function toggleSideBar(): void {
  isNarrow.value = !isNarrow.value;
  store(STORED, isNarrow.value ? "narrow" : "wide");
}

export function SideBar(): JSX.Element {
  const [current = ""] = route.value.segments;
  return (
    <nav class={isNarrow.value ? "side-bar narrow" : "side-bar"} aria-label="Pages">
      <ul>
        {NAVIGATION.map(({ title, href, key, segment }) => (
          <li key={href}>
            <a href={href} aria-current={segment === current ? "page" : undefined}>
              <span class={isNarrow.value ? "hidden-text" : "side-title"}>{title}</span>
              <kbd aria-hidden="true">g {key}</kbd>
            </a>
          </li>
        ))}
      </ul>
      <button type="button" class="plain" onClick={toggleSideBar} aria-label={isNarrow.value ? "Wide side bar" : "Narrow side bar"}>
        {isNarrow.value ? "»" : "« Narrow"}
      </button>
    </nav>
  );
}
