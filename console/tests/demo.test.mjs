// The first command of the README: a browser shows a blocked payment and its reason.
//
// FULL=1 runs it to the letter, in a fresh clone. Otherwise it runs the binary that is there, on a free port, with fewer customers.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { shown } from "./browser.mjs";
import { BINARY, until } from "./service.mjs";

const IS_FULL = process.env.FULL === "1";
const SLACK = Number(process.env.TIME_SLACK ?? 1);
const REPOSITORY = process.env.TOLLGATE_REPOSITORY;
const LIMIT_MS = 60_000;
const BUILD_MS = 60 * 60_000;

/** Returns the first command of a README. */
function firstCommand(repository) {
  const readme = readFileSync(join(repository, "README.md"), "utf8");
  return /^```sh\n(.*)\n```$/m.exec(readme)[1];
}

/** Returns where the command runs, and the command. */
function place(directory) {
  if (IS_FULL) {
    const clone = join(directory, "clone");
    execFileSync("git", ["clone", "-q", REPOSITORY, clone]);
    return { cwd: clone, command: firstCommand(clone) };
  }
  const command = firstCommand(REPOSITORY).replace(/^cargo run --release --locked --(?= )/, `"${BINARY}"`);
  assert.match(command, /^"/, "the README runs the service");
  return { cwd: directory, command: `${command} --port 0 --customers 40` };
}

/** Makes an `xdg-open` that notes the address it is to open. */
function opener(directory) {
  const [folder, note] = [join(directory, "bin"), join(directory, "opened")];
  mkdirSync(folder);
  writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > '${note}.new' && mv '${note}.new' '${note}'\n`);
  chmodSync(join(folder, "xdg-open"), 0o755);
  return { folder, note };
}

/** Starts the demo. `builtAt` is the end of the build, `said` what it printed. */
function start(directory) {
  const { folder, note } = opener(directory);
  const temporary = join(directory, "temporary");
  mkdirSync(temporary);
  const { CARGO_TARGET_DIR: _, ...inherited } = process.env;
  const env = { ...inherited, PATH: `${folder}:${process.env.PATH}`, TMPDIR: temporary };
  const { cwd, command } = place(directory);
  const child = spawn("sh", ["-c", `exec ${command}`], { cwd, env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
  const demo = { child, note, temporary, said: "", builtAt: IS_FULL ? null : performance.now() };
  demo.ended = new Promise(resolve => child.once("exit", (code, signal) => resolve(code ?? signal)));
  child.stderr.setEncoding("utf8").on("data", text => {
    demo.said += text;
    if (demo.builtAt === null && demo.said.includes("Finished `release`")) demo.builtAt = performance.now();
  });
  return demo;
}

/** Returns the rules that blocked a payment in the feed, and follows it to the payment. */
function openBlocked() {
  for (const row of document.querySelectorAll('table[aria-label="Live verdicts"] tr[data-index]')) {
    const [, verdict] = row.querySelectorAll("td");
    if (!/block/i.test(verdict.innerText)) continue;
    row.querySelector("a[href*='transactions']").click();
    return row.lastElementChild.innerText;
  }
  return null;
}

test("the first command of the README shows a blocked payment and its reason within a minute", async context => {
  const directory = mkdtempSync(join(tmpdir(), "tollgate-demo-"));
  const demo = start(directory);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    await until(() => existsSync(demo.note), "the demo opens a page", IS_FULL ? BUILD_MS : LIMIT_MS * SLACK);
    const page = await browser.newPage();
    const address = readFileSync(demo.note, "utf8");
    await page.goto(address);
    const limit = LIMIT_MS * SLACK;
    let rules = null;
    await until(async () => (rules = await page.evaluate(openBlocked)), "a blocked payment", limit);
    const reason = await shown(page, () => document.querySelector(".summary .reason")?.innerText, undefined, "a reason");
    const text = await page.evaluate(() => document.querySelector("main").innerText);
    assert.ok(text.includes("Blocked") && text.includes(rules.split(",")[0]), text);
    const seconds = (performance.now() - demo.builtAt) / 1_000;
    context.diagnostic(`blocked: "${reason}", ${seconds.toFixed(1)} s after the ${IS_FULL ? "end of the build" : "start"}`);
    assert.ok(seconds * 1_000 <= limit, `${seconds} s`);
    await until(() => demo.said.includes("now they pay live"), "the past is played", limit);
    context.diagnostic(
      `live ${((performance.now() - demo.builtAt) / 1_000).toFixed(1)} s after it: ${/payments judged: .*/.exec(demo.said)[0]}`,
    );
    const saved = await (await fetch(new URL("instructions/summaries", address))).json();
    assert.ok(saved.length > 0 && saved.every(({ source }) => source.kind === "api"), "every rule can be changed over the API");
  } finally {
    await browser.close();
    process.kill(-demo.child.pid, "SIGINT");
  }
  assert.equal(await demo.ended, 0, demo.said);
  assert.deepEqual(
    readdirSync(demo.temporary).filter(name => name.startsWith("tollgate-")),
    [],
    "nothing is left",
  );
  rmSync(directory, { recursive: true, force: true });
});
