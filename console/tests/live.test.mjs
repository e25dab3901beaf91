// The event stream: one for all tabs, taken over, continued after the last event, paused by the reader.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { hasText, openPage, shown, startConsole, until } from "./browser.mjs";
import { seed, transaction } from "./seed.mjs";
import { post } from "./service.mjs";

let running;
/** Streams of the stand-in for the service; `null` lets the service itself answer. */
let streams = null;
/** Requests for the hits of rules that are not answered yet; `null` lets the service itself answer. */
let hits = null;

before(async () => {
  running = await startConsole({
    answer: (from, to) => {
      if (from.url.startsWith("/events")) return stand(from, to);
      return hits !== null && /^\/instructions\/\d+\/hits/.test(from.url) && hits.push(to) > 0;
    },
  });
  await seed(running.service.url, 5);
});

beforeEach(() => {
  streams = null;
  hits = null;
});

after(() => running.end());

function stand(from, to) {
  if (streams === null) return false;
  to.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
  const stream = { lastId: from.headers["last-event-id"] ?? null, to, isOpen: true };
  to.on("close", () => (stream.isOpen = false));
  streams.push(stream);
  return true;
}

function send(stream, id, type, data) {
  stream.to.write(`id: ${id}\nevent: ${type}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
}

const isLive = () => document.querySelector(".state.live") !== null;
const open = () => streams.filter(({ isOpen }) => isOpen);

function row(sequence, verdict = "review") {
  return {
    sequence,
    transaction_id: `live-${sequence}`,
    accepted_at: new Date().toISOString(),
    amount: 1.5,
    currency: "EUR",
    source: "acc-a",
    destination: null,
    verdict,
    score: 0.5,
    reason: "because",
    rules: ["some_rule"],
  };
}

test("ten tabs hold one stream, and all hear it", async () => {
  streams = [];
  const first = await openPage(running);
  const tabs = [first];
  await until(() => streams.length === 1, "the first tab opens a stream");
  for (let number = 2; number <= 10; number += 1) tabs.push(await openPage(running, "#/", { context: first.context }));
  for (const { page } of tabs) await shown(page, isLive);
  assert.equal(streams.length, 1);
  send(streams[0], 41, "verdicts", { verdicts: [row(41)], n_more: 0 });
  for (const { page } of tabs) await shown(page, hasText, "live-41");
  await first.page.close();
  await until(() => streams.length === 2, "another tab takes over");
  assert.equal(streams[1].lastId, "41");
  await until(() => open().length === 1, "the first stream is closed");
  send(streams[1], 42, "verdicts", { verdicts: [row(42)], n_more: 0 });
  for (const { page } of tabs.slice(1)) await shown(page, hasText, "live-42");
  await first.context.close();
});

test("a broken stream is opened again after the last event", async () => {
  streams = [];
  const opened = await openPage(running);
  await until(() => streams.length === 1, "a stream");
  send(streams[0], 7, "tick", {
    at: new Date().toISOString(),
    sequence: 7,
    counts: { approve: 1, review: 0, block: 0, alert: 0 },
    p50_us: 310,
    p99_us: 900,
    in_flight: 2,
  });
  await shown(opened.page, hasText, "310 µs");
  streams[0].to.destroy();
  await until(() => streams.length === 2, "another stream");
  assert.equal(streams[1].lastId, "7");
  await opened.close();
});

test("a stream that the service ends at its age limit is renewed while the page stays live", async () => {
  const tick = in_flight => ({ at: new Date().toISOString(), sequence: 7, counts: {}, p50_us: null, p99_us: null, in_flight });
  streams = [];
  const opened = await openPage(running);
  await until(() => streams.length === 1, "a stream");
  send(streams[0], 7, "tick", tick(33));
  await shown(opened.page, hasText, "33 in flight");
  await opened.page.evaluate(() => {
    window.wasInterrupted = false;
    const look = () => (window.wasInterrupted ||= document.querySelector(".state.live") === null);
    new MutationObserver(look).observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
  });
  streams[0].to.end();
  await until(() => streams.length === 2, "another stream");
  assert.equal(streams[1].lastId, "7");
  send(streams[1], 8, "tick", tick(55));
  await shown(opened.page, hasText, "55 in flight");
  assert.equal(await opened.page.evaluate(() => window.wasInterrupted), false);
  await opened.close();
});

test("resync and changes of the rules load the page again", async () => {
  streams = [];
  const opened = await openPage(running, "#/rules");
  await until(() => streams.length === 1, "a stream");
  await shown(opened.page, hasText, "large_payment");
  await post(`${running.service.url}/compile-and-save-instruction`, { script: "rule appeared { when amount > 1 then alert }" });
  send(streams[0], 8, "rules", { rule_set_version: 900 });
  await shown(opened.page, hasText, "appeared");
  await post(`${running.service.url}/compile-and-save-instruction`, { script: "rule later { when amount > 1 then alert }" });
  send(streams[0], 9, "resync", {});
  await shown(opened.page, hasText, "later");
  await opened.close();
});

test("the feed pauses with space, below the pointer and with the focus, and counts what it holds back", async () => {
  streams = [];
  const opened = await openPage(running);
  const { page } = opened;
  await until(() => streams.length === 1, "a stream");
  send(streams[0], 1, "verdicts", { verdicts: [row(1)], n_more: 0 });
  await shown(page, hasText, "live-1");
  await page.keyboard.press("Space");
  send(streams[0], 2, "verdicts", { verdicts: [row(2), row(3)], n_more: 17 });
  await shown(page, hasText, "Paused, 19 held back");
  assert.ok(!(await page.evaluate(hasText, "live-2")));
  await page.keyboard.press("Space");
  await shown(page, hasText, "live-3");
  await page.hover('table[aria-label="Live verdicts"]');
  send(streams[0], 4, "verdicts", { verdicts: [row(4)], n_more: 0 });
  await shown(page, hasText, "Paused below the pointer, 1 held back");
  await page.mouse.move(5, 5);
  await shown(page, hasText, "live-4");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  send(streams[0], 5, "verdicts", { verdicts: [row(5)], n_more: 0 });
  await shown(page, hasText, "Paused while a row has the focus, 1 held back");
  assert.match(await page.evaluate(() => document.activeElement.innerText), /live-3/);
  await page.getByRole("heading", { name: "Overview" }).focus();
  await shown(page, hasText, "live-5");
  await opened.close();
});

test("the feed goes on while another page is shown", async () => {
  streams = [];
  const opened = await openPage(running);
  await until(() => streams.length === 1, "a stream");
  send(streams[0], 1, "verdicts", { verdicts: [row(1)], n_more: 0 });
  await shown(opened.page, hasText, "live-1");
  await opened.page.evaluate(() => (location.hash = "#/rules"));
  await shown(opened.page, () => document.querySelector("h1").innerText === "Rules");
  send(streams[0], 2, "verdicts", { verdicts: [row(2, "block")], n_more: 0 });
  send(streams[0], 3, "tick", { at: new Date().toISOString(), sequence: 3, counts: {}, p50_us: null, p99_us: null, in_flight: 77 });
  await shown(opened.page, hasText, "77 in flight");
  await opened.page.evaluate(() => (location.hash = "#/"));
  await shown(opened.page, hasText, "live-2");
  await opened.close();
});

test("rows that come faster than they can be read are drawn once a second, and all are counted", async () => {
  streams = [];
  const opened = await openPage(running);
  await until(() => streams.length === 1, "a stream");
  const many = first => ({ verdicts: Array.from({ length: 20 }, (_, index) => row(first + index)), n_more: 100 });
  for (let batch = 0; batch < 4; batch += 1) send(streams[0], batch, "verdicts", many(1 + 20 * batch));
  await shown(opened.page, hasText, "live-80");
  // The first batch is drawn at once, the others together: 60 rows, and 300 others.
  await shown(opened.page, hasText, "and 300 others");
  await opened.close();
});

test("the feed shows the severest verdicts first when there are more than it keeps", async () => {
  [streams, hits] = [[], []];
  const opened = await openPage(running);
  await until(() => streams.length === 1 && hits.length > 0, "a stream, and requests for earlier payments");
  const many = Array.from({ length: 80 }, (_, index) => row(index + 1, index === 3 ? "block" : "approve"));
  send(streams[0], 1, "verdicts", { verdicts: many, n_more: 0 });
  const isFirst = () => document.querySelector('table[aria-label="Live verdicts"] tr[data-index="0"]')?.innerText.includes("live-4");
  await shown(opened.page, isFirst);
  // Earlier payments that come afterwards do not change the order.
  const answered = hits.map(to => new Promise(resolve => to.on("close", resolve)));
  for (const to of hits) to.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ hits: [row(0)] }));
  await Promise.all(answered);
  send(streams[0], 2, "tick", { at: new Date().toISOString(), sequence: 80, counts: {}, p50_us: null, p99_us: null, in_flight: 77 });
  await shown(opened.page, hasText, "77 in flight");
  assert.ok(await opened.page.evaluate(isFirst));
  await opened.close();
});

test("sequence numbers and amounts of the stream keep their digits", async () => {
  streams = [];
  const opened = await openPage(running);
  await until(() => streams.length === 1, "a stream");
  const big = JSON.stringify({ verdicts: [row(1)], n_more: 0 }).replace('"amount":1.5', '"amount":98765432109876543210.50');
  send(streams[0], 1, "verdicts", big);
  await shown(opened.page, hasText, "98,765,432,109,876,543,210.50");
  await opened.close();
});

test("verdicts of the service arrive, also after its restart", { skip: process.env.CONSOLE_URL !== undefined }, async () => {
  const opened = await openPage(running);
  await shown(opened.page, isLive);
  // The service may leave out what it accepts within the first moments of a stream.
  await opened.page.waitForTimeout(1_000);
  await post(`${running.service.url}/inject`, { ...transaction(9), transaction_id: "before-restart" });
  await shown(opened.page, hasText, "before-restart");
  await running.service.stop();
  await shown(opened.page, hasText, "Not connected; trying again");
  await running.service.start();
  await shown(opened.page, isLive);
  await opened.page.waitForTimeout(1_000);
  await post(`${running.service.url}/inject`, { ...transaction(18), transaction_id: "after-restart" });
  await shown(opened.page, hasText, "after-restart");
  await opened.close();
});
