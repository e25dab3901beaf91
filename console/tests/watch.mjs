// Looks at the overview of demos every 15 seconds: DEMOS are their addresses, with blanks between, MINUTES is for how long. It fails if
// at any look a page is not live or shows no payments, if no payment came meanwhile, or if the browser reported an error.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { openPage, shown } from "./browser.mjs";

const DEMOS = process.env.DEMOS.split(" ");
const MINUTES = Number(process.env.MINUTES);
const PAUSE_MS = 15_000;

const look = () => ({
  isLive: document.querySelector(".state.live") !== null,
  rows: document.querySelectorAll('table[aria-label="Live verdicts"] tr[data-index]').length,
  newest: document.querySelector('table[aria-label="Live verdicts"] tr[data-index="0"]')?.innerText ?? null,
});

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const demos = [];
for (const url of DEMOS) {
  const opened = await openPage({ browser, url });
  await shown(opened.page, () => document.querySelector(".state.live") !== null, undefined, "a live page");
  await shown(opened.page, () => document.querySelector('tr[data-index="0"]') !== null, undefined, "a payment");
  demos.push({ url, opened, looks: 0, good: 0, changes: 0, newest: null, changedAt: performance.now(), longestQuiet: 0 });
}
const end = performance.now() + MINUTES * 60_000;
while (performance.now() < end) {
  await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
  for (const demo of demos) {
    const { isLive, rows, newest } = await demo.opened.page.evaluate(look);
    demo.looks += 1;
    if (isLive && rows > 0) demo.good += 1;
    else console.log(`${new Date().toISOString()} ${demo.url}: live ${isLive}, ${rows} rows`);
    if (newest !== demo.newest) {
      demo.changes += 1;
      demo.newest = newest;
      demo.changedAt = performance.now();
    }
    demo.longestQuiet = Math.max(demo.longestQuiet, performance.now() - demo.changedAt);
  }
}
for (const { url, opened, looks, good, changes, longestQuiet } of demos) {
  const quiet = longestQuiet / 60_000;
  console.log(
    `${url}: ${good} of ${looks} looks live with payments, ${changes} changes of the first row, quiet for ${quiet.toFixed(1)} min`,
  );
  await opened.close();
  assert.equal(good, looks, url);
  assert.ok(changes > 1, `${url}: no new payment`);
}
await browser.close();
