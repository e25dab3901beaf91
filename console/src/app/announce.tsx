import { signal } from "@preact/signals";
import type { JSX } from "preact";

const message = signal("");

/** Tells what just happened: at the lower edge of the window, and to screen readers. */
export function say(text: string): void {
  message.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    message.value = "";
  }, 4_000);
}

let timer: ReturnType<typeof setTimeout> | undefined;

export function Announcements(): JSX.Element {
  return (
    <div class="announcements" role="status" aria-live="polite">
      {message.value !== "" && <span class="toast">{message.value}</span>}
    </div>
  );
}
