// Loading, empty, error and old data.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { hasText, openPage, pressEnter, shown, startConsole } from "./browser.mjs";

let running;
/** Answers some requests in place of the service. */
let intercept = null;

before(async () => {
  running = await startConsole({ answer: (from, to) => intercept?.(from.url, to) });
});

beforeEach(() => {
  intercept = null;
});

after(() => running.end());

function answer(to, status, body) {
  to.writeHead(status, { "Content-Type": "application/json", "X-Request-Id": "r-1" }).end(JSON.stringify(body));
  return true;
}

test("an empty service shows how to begin", async () => {
  const opened = await openPage(running, "#/");
  await shown(opened.page, hasText, "tollgate demo");
  await shown(opened.page, hasText, "/inject -H 'Content-Type: application/json'");
  await opened.page.goto(`${running.url}/console/#/rules`);
  await shown(opened.page, hasText, "No rules are in force");
  await opened.page.goto(`${running.url}/console/#/lists`);
  await shown(opened.page, hasText, "No lists are in force");
  await opened.close();
});

test("a page that loads shows its frame at once and grey lines after 150 ms", async () => {
  let release;
  intercept = (url, to) => {
    if (!url.startsWith("/lists")) return false;
    release = () => answer(to, 200, []);
    return true;
  };
  const opened = await openPage(running, "#/lists");
  await shown(opened.page, () => document.querySelector(".skeleton") !== null);
  assert.match(await opened.page.evaluate(() => document.querySelector("main h1").innerText), /Lists/);
  await shown(opened.page, () => getComputedStyle(document.querySelector(".skeleton")).opacity === "1");
  release();
  await shown(opened.page, hasText, "No lists are in force");
  await opened.close();
});

test("an error shows its message, code and request, and can be tried again", async () => {
  intercept = (url, to) => url.startsWith("/lists") && answer(to, 503, { error: "the store did not answer", code: "unavailable" });
  const opened = await openPage(running, "#/lists");
  for (const text of ["the store did not answer", "unavailable", "r-1", "docs/api.md"]) await shown(opened.page, hasText, text);
  intercept = null;
  await opened.page.getByRole("button", { name: "Try again" }).click();
  await shown(opened.page, hasText, "No lists are in force");
  await opened.close();
});

test("a page whose first load failed loads by itself when the service answers again", async () => {
  intercept = (url, to) => url.startsWith("/lists") && answer(to, 503, { error: "the store did not answer", code: "unavailable" });
  const opened = await openPage(running, "#/lists");
  await shown(opened.page, hasText, "the store did not answer");
  intercept = null;
  await shown(opened.page, hasText, "No lists are in force");
  await opened.close();
});

test("an account in the search box is told that only ids are searched", async () => {
  const opened = await openPage(running, "#/");
  await opened.page.locator("#find-transaction").fill("acc-anna");
  await opened.page.keyboard.press("Enter");
  await shown(opened.page, hasText, "Only ids are searched: accounts");
  await opened.close();
});

test("old data stays, with its time, while it cannot be loaded again", async () => {
  intercept = (url, to) =>
    url.startsWith("/lists") && answer(to, 200, [{ name: "kept", count: 1, sha256: "00", source: { kind: "api" }, used_by: [] }]);
  const opened = await openPage(running, "#/lists");
  await shown(opened.page, hasText, "kept");
  intercept = (url, to) => url.startsWith("/lists") && answer(to, 503, { error: "overloaded", code: "overloaded" });
  await opened.page.evaluate(() => (location.hash = "#/rules"));
  await shown(opened.page, hasText, "No rules");
  await opened.page.evaluate(() => (location.hash = "#/lists"));
  await shown(opened.page, hasText, "As of");
  assert.ok(await opened.page.evaluate(hasText, "kept"));
  await opened.close();
});

test("a save whose answer breaks off says so, and can be sent again", async () => {
  intercept = (url, to) => {
    if (!url.startsWith("/compile-and-save-instruction")) return false;
    to.writeHead(201, { "Content-Type": "application/json", "Content-Length": "1000" });
    to.write('{"id": 1', () => to.destroy());
    return true;
  };
  const opened = await openPage(running, "#/rules/new");
  await shown(opened.page, hasText, "It compiles");
  const save = opened.page.getByRole("button", { name: /^Save and put in force/ });
  await pressEnter(save);
  await shown(opened.page, hasText, "The answer cannot be read");
  assert.ok(await save.isEnabled());
  await opened.close();
});

test("a service that is not ready is shown in the frame and on the system page", async () => {
  intercept = (url, to) =>
    url.startsWith("/readyz") &&
    answer(to, 503, { status: "starting", checks: { history: "loading: 40 %", git: "degraded: the remote is down" } });
  const opened = await openPage(running, "#/system");
  await shown(opened.page, hasText, "Starting");
  await shown(opened.page, hasText, "loading: 40 %");
  await opened.close();
});

test("a quarantined rule and a refused file stand on top and can be released", async () => {
  const released = [];
  intercept = (url, to) => {
    if (url === "/instructions/7/release") return (released.push(url), answer(to, 200, troubled()));
    return url.startsWith("/instructions/summaries") && answer(to, 200, [troubled()]);
  };
  const opened = await openPage(running, "#/rules");
  await shown(opened.page, hasText, "1 rule needs a decision");
  await shown(opened.page, hasText, "mules.ws:3:14");
  await pressEnter(opened.page.getByRole("button", { name: /^Release/ }));
  await shown(opened.page, hasText, "runs again");
  assert.deepEqual(released, ["/instructions/7/release"]);
  await opened.close();
});

function troubled() {
  return {
    id: 7,
    name: "mules",
    description: null,
    verdict: "block",
    score: 0.9,
    status: "quarantined",
    source: { kind: "file", path: "mules.ws" },
    cost: { instructions: 5, host_calls: 1, history_lookups: 0 },
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    hits: 0,
    failures: 32,
    hourly: Array(24).fill(0),
    quarantine: { since: "2026-01-01T00:00:00Z", cause: "failures", reason: "it failed on 32 transactions" },
    refused_change: { path: "mules.ws", line: 3, column: 14, message: "expected verdict" },
  };
}
