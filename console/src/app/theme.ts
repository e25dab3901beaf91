import { computed, effect, signal } from "@preact/signals";
import { readStored, store } from "./storage";

export type ThemeChoice = "system" | "light" | "dark";

const STORED = "tollgate.theme";
const systemIsDark = signal(false);

export const themeChoice = signal<ThemeChoice>("system");
/** The theme that is shown. */
export const theme = computed(() => (themeChoice.value === "system" ? (systemIsDark.value ? "dark" : "light") : themeChoice.value));

export function startTheme(): void {
  const query = matchMedia("(prefers-color-scheme: dark)");
  systemIsDark.value = query.matches;
  query.addEventListener("change", () => {
    systemIsDark.value = query.matches;
  });
  const stored = readStored(STORED);
  if (stored === "light" || stored === "dark") themeChoice.value = stored;
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

export function setTheme(choice: ThemeChoice): void {
  themeChoice.value = choice;
  store(STORED, choice === "system" ? null : choice);
}

export function toggleTheme(): void {
  setTheme(theme.value === "dark" ? "light" : "dark");
}
