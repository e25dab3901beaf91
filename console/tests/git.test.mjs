// Git operations in the browser, with a real Git server: GIT_URL is the address of a repository, GIT_PATH its folder.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { hasText, openPage, pressEnter, shown, startConsole } from "./browser.mjs";

const [REMOTE, REPOSITORY] = [process.env.GIT_URL, process.env.GIT_PATH];
const skip = REMOTE === undefined && "GIT_URL names no repository";
let running;
let author;

before(async () => {
  const env = { SERVICE_GIT_ALLOW_SCHEMES: "http,file", SERVICE_GIT_ALLOW_PRIVATE: "true", WATCH_SCRIPT_GIT_POLL_INTERVAL: "1h" };
  running = await startConsole({ env });
  author = mkdtempSync(join(tmpdir(), "tollgate-console-author-"));
});

after(async () => {
  await running.end();
  rmSync(author, { recursive: true, force: true });
});

const rule = (name, verdict = "alert") => `rule ${name} {\n  when amount > 100\n  then ${verdict} score 0.5 reason "${name}"\n}\n`;

function git(...options) {
  const who = ["-c", "user.name=author", "-c", "user.email=author@example.com"];
  return execFileSync("git", ["-C", author, ...who, ...options], { encoding: "utf8" });
}

/** Commits a file and pushes it. */
function commit(file, text, ...options) {
  writeFileSync(join(author, file), text);
  git("add", file);
  git("commit", "-q", "-m", `change ${file}`, ...options);
  git("push", "-q", ...(options.includes("--amend") ? ["--force"] : []), "origin", "HEAD:main");
}

const rules = async () => (await (await fetch(`${running.service.url}/instructions/summaries`)).json()).map(({ name }) => name);

test("a repository is cloned, followed, pushed to and taken by force", { skip }, async () => {
  execFileSync("git", ["clone", "-q", REPOSITORY, author]);
  const opened = await openPage(running, "#/sources");
  const { page } = opened;
  await shown(page, hasText, "No repository is followed");
  await page.getByLabel("Address").fill(REMOTE);
  await page.getByLabel("Address").press("Enter");
  await shown(page, hasText, "up to date");
  assert.deepEqual(await rules(), ["first"]);

  commit("second.ws", rule("second"));
  await pressEnter(page.getByRole("button", { name: "Sync", exact: true }));
  await shown(page, hasText, "is in force: 1 file added, 0 changed");
  assert.deepEqual((await rules()).sort(), ["first", "second"]);

  const { local_path } = await (await fetch(`${running.service.url}/git/status`)).json();
  appendFileSync(join(local_path, "second.ws"), "// written here\n");
  await pressEnter(page.getByRole("button", { name: "Sync", exact: true }));
  // The form takes no Enter before the answer to the sync.
  await page.getByRole("button", { name: "Push 1 changed file", disabled: false }).waitFor();
  await page.getByLabel("Message of the commit").fill("a remark");
  await page.getByLabel("Message of the commit").press("Enter");
  await shown(page, hasText, "1 file pushed as");
  git("pull", "-q", "origin", "main");
  assert.match(git("show", "HEAD:second.ws"), /written here/);

  commit("first.ws", rule("first", "block"), "--amend");
  await pressEnter(page.getByRole("button", { name: "Sync", exact: true }));
  await shown(page, () => document.querySelector('[role="alert"]') !== null);
  await pressEnter(page.getByRole("button", { name: "Forced sync…" }));
  await pressEnter(page.getByRole("button", { name: "Take the branch" }));
  await shown(page, hasText, "up to date");
  await shown(page, () => document.querySelector('[role="alert"]') === null);
  await opened.close();
});
