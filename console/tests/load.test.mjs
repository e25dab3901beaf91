// The console of a service under load: first content with many rules and transactions, and what readers of the event stream cost.
// FULL=1 measures in full, on a release build.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { hasText, openPage, shown, startConsole } from "./browser.mjs";
import { BINARY } from "./service.mjs";

const IS_FULL = process.env.FULL === "1";
const SLACK = Number(process.env.TIME_SLACK ?? 1);
const N_RULES = IS_FULL ? 1_000 : 100;
const N_TRANSACTIONS = IS_FULL ? 1_000_000 : 5_000;
const N_READERS = 10;
const N_PAIRS = IS_FULL ? 30 : 1;
/** Lowest rate of injects beside readers, relative to that without. The one pair in CI has other tests beside it. */
const RATE_MIN = IS_FULL ? 0.97 : 0;
/** Largest CPU time of the service for an inject beside readers, relative to that without. */
const CPU_MAX = IS_FULL ? 1 / RATE_MIN : 3;
const FIRST_CONTENT_MS = 1_000;

/** Writes rules with a question each. */
function rulesDirectory(n_rules) {
  const directory = mkdtempSync(join(tmpdir(), "tollgate-console-rules-"));
  for (let number = 0; number < n_rules; number += 1) {
    const script = `rule many_${number} {\n  when amount > ${number} and count(when source == $current.source and amount > ${number}, "PT1H") >= 100000\n  then review score 0.5 reason "Many payments"\n}\n`;
    writeFileSync(join(directory, `many_${number}.ws`), script);
  }
  return directory;
}

/** Runs the load generator in a closed loop for this time. Returns the verdicts per second. */
async function load(url, seconds) {
  const loop = ["bench", "service", "--url", url, "--seconds", String(seconds), "--loads", "1", "--connections", "64"];
  const { stderr } = await promisify(execFile)(BINARY, loop);
  return Number(/closed loop: (\d+) a second/.exec(stderr)[1]);
}

/** Returns the CPU time of the service in seconds, and the number of transactions that it judged. */
async function spent(url) {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const total = /^tollgate_transactions_judged_total(?:\{[^}]*\})? (\d+)/gm;
  const n_judged = [...metrics.matchAll(total)].reduce((sum, [, n]) => sum + Number(n), 0);
  return { cpu: Number(/^process_cpu_seconds_total (\S+)/m.exec(metrics)[1]), n_judged };
}

/** Returns the time, and the CPU time of the browser and of this process, in seconds. This process reads the streams. */
async function spentByReaders(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const { user, system } = process.cpuUsage();
  return {
    at: performance.now() / 1e3,
    browser: processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0),
    streams: (user + system) / 1e6,
  };
}

/**
 * Runs the load generator. Returns the verdicts per second, the CPU time of the service for each in microseconds, and
 * the shares of a core that the browser and this process took.
 */
async function measured({ service: { url }, browser }, seconds) {
  // A page that was just opened is still being drawn.
  await load(url, 1);
  const [before, readBefore] = [await spent(url), await spentByReaders(browser)];
  const rate = await load(url, seconds);
  const [after, readAfter] = [await spent(url), await spentByReaders(browser)];
  const elapsed = readAfter.at - readBefore.at;
  return {
    rate,
    cpu: ((after.cpu - before.cpu) / (after.n_judged - before.n_judged)) * 1e6,
    browser: (readAfter.browser - readBefore.browser) / elapsed,
    streams: (readAfter.streams - readBefore.streams) / elapsed,
  };
}

/** The median, and the bounds of its 95 % confidence interval, by ranks. */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
  return { middle: sorted[Math.floor(sorted.length / 2)], low: sorted[rank], high: sorted[sorted.length - 1 - rank] };
}

const written = ({ middle, low, high }) => `${middle.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;

test("every page shows its first content soon, with many rules and transactions", async context => {
  const rules = rulesDirectory(N_RULES);
  const running = await startConsole({ rules });
  const { url } = running.service;
  await fetch(`${url}/lists/watched`, { method: "PUT", headers: { "Content-Type": "application/json" }, body: '["acc-1"]' });
  const payment = { transaction_id: "txn-first", amount: 5, currency: "EUR", reference: "first", source: "acc-a", destination: "acc-b" };
  await fetch(`${url}/inject`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(payment) });
  while ((await spent(url)).n_judged < N_TRANSACTIONS) await load(url, IS_FULL ? 60 : 2);
  context.diagnostic(`${N_RULES} rules, ${(await spent(url)).n_judged} transactions`);
  const [{ id }] = await (await fetch(`${url}/instructions/summaries`)).json();
  const pages = [
    ["#/", "Top rules"],
    ["#/rules", `${N_RULES.toLocaleString("en")} rules`],
    [`#/rules/${id}`, "Recent hits"],
    [`#/rules/${id}/edit`, "It compiles"],
    ["#/transactions/txn-first", "acc-a"],
    ["#/lists", "watched"],
    ["#/sources", "Git"],
    ["#/system", "History"],
  ];
  for (const [hash, text] of pages) {
    const opened = await openPage(running, hash);
    const after = await shown(
      opened.page,
      sought => document.body.innerText.includes(sought) && performance.now(),
      text,
      `${hash}: ${text}`,
    );
    await opened.close();
    context.diagnostic(`${hash.replace(/\d+/, "…")}: ${after.toFixed(0)} ms`);
    assert.ok(after <= FIRST_CONTENT_MS * SLACK, `${hash}: ${after} ms`);
  }
  await running.end();
  rmSync(rules, { recursive: true });
});

/** Opens event streams and reads them until `stop` is called. Returns it, and the number of bytes read so far. */
async function readStreams(url, n_readers) {
  const read = { n_bytes: 0 };
  const requests = [];
  for (let reader = 0; reader < n_readers; reader += 1) {
    const request = get(`${url}/events`);
    requests.push(request);
    const [answer] = await once(request, "response");
    assert.equal(answer.statusCode, 200);
    // The end of the test breaks it off.
    answer.on("error", () => {});
    answer.on("data", piece => {
      read.n_bytes += piece.length;
    });
  }
  const stop = () => {
    for (const request of requests) request.destroy();
  };
  return { read, stop };
}

test("readers of the event stream leave injects their rate", async context => {
  const running = await startConsole({ rules: join(process.env.TOLLGATE_REPOSITORY, "rules") });
  const { url } = running.service;
  const seconds = IS_FULL ? 5 : 1;
  const beside = async () => {
    const opened = await openPage(running);
    await shown(opened.page, hasText, "Overview");
    const readers = await readStreams(url, N_READERS);
    const found = await measured(running, seconds);
    readers.stop();
    await opened.close();
    assert.ok(readers.read.n_bytes > 0, "the readers get events");
    return found;
  };
  const ratios = [];
  for (let pair = 0; pair < N_PAIRS; pair += 1) {
    const first = pair % 2 === 0 ? await beside() : await measured(running, seconds);
    const second = pair % 2 === 0 ? await measured(running, seconds) : await beside();
    const [read, unread] = pair % 2 === 0 ? [first, second] : [second, first];
    ratios.push({ rate: read.rate / unread.rate, cpu: read.cpu / unread.cpu, browser: read.browser, streams: read.streams });
  }
  await running.end();
  const [rate, cpu, browser, streams] = ["rate", "cpu", "browser", "streams"].map(name => median(ratios.map(ratio => ratio[name])));
  context.diagnostic(
    `beside a browser and ${N_READERS} readers, relative to without: rate ${written(rate)}, CPU time for an inject ${written(cpu)}`,
  );
  context.diagnostic(`shares of a core: the browser ${written(browser)}, this process with the other readers ${written(streams)}`);
  // The interval tells a miss from the noise of a shared machine.
  assert.ok(rate.high >= RATE_MIN, `${rate.high} < ${RATE_MIN}`);
  assert.ok(cpu.low <= CPU_MAX, `${cpu.low} > ${CPU_MAX}`);
});
