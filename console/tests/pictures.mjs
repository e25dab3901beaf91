// Takes the pictures of the documents: CONSOLE_URL is a service with a played population, CONSOLE_NOW its time, CONSOLE_CLOCK a
// file whose time its clock follows, LIVE a file of further payments, a line each, PICTURES a folder.

import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { openPage, pressEnter, shown, startConsole, until } from "./browser.mjs";
import { post } from "./service.mjs";

const NOW = Date.parse(process.env.CONSOLE_NOW);
const running = await startConsole();
const api = async path => (await fetch(`${running.url}/${path}`)).json();

const rules = await api("instructions/summaries");
rules.sort((a, b) => b.hits - a.hits);
const stopping = rules.filter(({ verdict }) => verdict === "review");
const blocking = rules.filter(({ verdict }) => verdict === "block" || verdict === "deny");
const [rule] = stopping;
const stopped = (await Promise.all([...blocking, ...stopping].map(({ id }) => api(`instructions/${id}/hits`)))).flatMap(({ hits }) => hits);
const payment = stopped.find(({ verdict }) => verdict === "block") ?? stopped[0];

/** Waits until no part of the page is loading. */
const isLoaded = () => document.querySelector("main h1") !== null && document.querySelector('[aria-busy="true"], .skeleton') === null;

async function take(name, hash, sought, { prepare = async () => {}, height = 800 } = {}) {
  const options = {
    viewport: { width: 1280, height },
    colorScheme: name === "editor" ? "dark" : "light",
    timezoneId: "UTC",
    locale: "en-GB",
  };
  const opened = await openPage(running, "#/none", options);
  const { page } = opened;
  await page.clock.setFixedTime(NOW);
  await page.goto(`${running.url}/console/${hash}`);
  await page.reload();
  await shown(page, text => document.body.innerText.includes(text), sought);
  await prepare(page);
  await shown(page, isLoaded, undefined, `${name} is loaded`);
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(process.env.PICTURES, `${name}.png`), animations: "disabled", caret: "hide" });
  await opened.close();
}

/** Pays for some seconds, so that there are rates. */
async function pay(page) {
  let clock = NOW / 1_000;
  for (const payment of readFileSync(process.env.LIVE, "utf8").trim().split("\n")) {
    await post(`${running.url}/inject`, payment);
    clock += 0.25;
    utimesSync(process.env.CONSOLE_CLOCK, clock, clock);
    await page.waitForTimeout(250);
  }
}

async function prove(page) {
  await pressEnter(page.getByRole("button", { name: /^Prove/ }));
  const sought = text => document.body.innerText.includes(text);
  // The service takes up to 20 seconds.
  await until(() => page.evaluate(sought, "Equal: the stored verdict follows"), "the proof", 30_000);
}

/** Writes a mistake and leaves the help open. */
async function mistake(page) {
  await shown(page, () => document.querySelector(".editor-host")?.shadowRoot?.querySelector(".cm-content"));
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(
    'rule second_large_payment {\n  description "A second large payment of an account within an hour"\n  when amount > 5000\n    and count(when source = $current.source and amount > 5000, "PT1H") >= 1\n  then review score 0.7 reason "Second large payment within an hour"\n}\n',
  );
  await shown(page, () => document.querySelector(".editor-host").shadowRoot.querySelector(".cm-lintRange-error") !== null);
}

await take("overview", "#/", "Top rules", { prepare: pay, height: 1040 });
await take("rules", "#/rules?sort=-hits", "Look-ups");
await take("rule", `#/rules/${rule.id}`, "Recent hits", { height: 960 });
await take("editor", "#/rules/new", "rule", { prepare: mistake, height: 480 });
await take("transaction", `#/transactions/${encodeURIComponent(payment.transaction_id)}`, "Matched rules", { prepare: prove });
await take("system", "#/system", "History", { prepare: page => page.waitForTimeout(6_000), height: 840 });
await running.end();
