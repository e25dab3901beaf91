import { render } from "preact";
import { canReadExactly } from "./api/json";
import { Frame } from "./app/frame";
import { startKeys } from "./app/keys";
import { startRouter } from "./app/router";
import { startTheme } from "./app/theme";
import { startEvents } from "./live/events";
import "./styles/all.css";

function start(): void {
  const root = document.getElementById("app");
  if (root === null) return;
  startTheme();
  if (!canReadExactly()) {
    root.textContent = "This browser cannot read numbers exactly. Use Chromium 120, Firefox 135, Safari 18.4 or later.";
    return;
  }
  startRouter();
  startKeys();
  startEvents();
  // The document comes with the outline of the frame, for the first paint.
  root.replaceChildren();
  render(<Frame />, root);
}

start();
