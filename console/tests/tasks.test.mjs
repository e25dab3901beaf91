// The tasks of people, by keyboard alone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hasText, openPage, pressEnter, shown, startConsole, until } from "./browser.mjs";
import { seed } from "./seed.mjs";

let running;
let ids;

before(async () => {
  running = await startConsole();
  ids = await seed(running.service.url);
});

after(() => running.end());

const heading = () => document.querySelector("main h1")?.innerText ?? "";
const editorText = () => document.querySelector(".editor-host")?.shadowRoot?.querySelector(".cm-content")?.innerText ?? "";

function press(page, ...keys) {
  return keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
}

test("finding a transaction takes the slash, its id and Enter", async () => {
  const opened = await openPage(running);
  await shown(opened.page, hasText, "Overview");
  await press(opened.page, "/");
  await opened.page.keyboard.type("txn-36");
  await press(opened.page, "Enter");
  await shown(opened.page, hasText, "Large payment");
  assert.match(await opened.page.evaluate(heading), /txn-36/);
  await opened.close();
});

test("a verdict is proved with one key", async () => {
  const opened = await openPage(running, "#/transactions/txn-36");
  await shown(opened.page, hasText, "Matched rules");
  await press(opened.page, "p");
  await shown(opened.page, hasText, "Equal: the stored verdict follows");
  await opened.close();
});

test("rules are reached, sorted and opened from the keyboard", async () => {
  const opened = await openPage(running);
  await shown(opened.page, hasText, "Overview");
  await press(opened.page, "g", "u");
  await shown(opened.page, hasText, "large_payment");
  await pressEnter(opened.page.getByRole("button", { name: /Hits 24 h/ }));
  await shown(opened.page, () => location.hash.includes("sort=-hits"));
  const first = await opened.page.evaluate(() => document.querySelector("tbody tr[data-index] a").innerText);
  await press(opened.page, "j", "Enter");
  await shown(opened.page, hasText, "Recent hits");
  assert.ok((await opened.page.evaluate(heading)).includes(first));
  const summaries = await (await fetch(`${running.service.url}/instructions/summaries`)).json();
  const { hits } = summaries.find(({ name }) => name === first);
  assert.ok(hits > 0);
  await shown(opened.page, hasText, `Transactions matched\n${hits}`);
  await press(opened.page, "Escape");
  await shown(opened.page, hasText, "Look-ups");
  await opened.close();
});

test("the palette opens a rule by a part of its name", async () => {
  const opened = await openPage(running);
  await shown(opened.page, hasText, "Overview");
  await press(opened.page, "Control+k");
  await opened.page.keyboard.type("second");
  await shown(opened.page, () => document.querySelector("#palette-list li[aria-selected=true]")?.innerText.includes("second_payment"));
  await press(opened.page, "Enter");
  await shown(opened.page, hasText, "Third payment within an hour");
  await opened.close();
});

test("the palette opens a list", async () => {
  const opened = await openPage(running);
  await shown(opened.page, hasText, "Overview");
  await press(opened.page, "Control+k");
  await opened.page.keyboard.type("mule");
  await shown(opened.page, () => /List\s+mules/.test(document.querySelector("#palette-list li[aria-selected=true]")?.innerText));
  await press(opened.page, "Enter");
  await shown(opened.page, () => document.querySelector('table[aria-label="Entries"]') !== null);
  await opened.close();
});

test("letters sleep in fields and can be switched off", async () => {
  const opened = await openPage(running);
  await shown(opened.page, hasText, "Overview");
  await press(opened.page, "/");
  await opened.page.keyboard.type("guntg?");
  assert.match(await opened.page.evaluate(heading), /Overview/);
  await press(opened.page, "Escape", "?");
  await shown(opened.page, () => document.querySelector("dialog.keys-help[open]") !== null);
  await opened.page.getByLabel("Single letters are commands").uncheck();
  await press(opened.page, "Escape", "g", "u");
  await opened.page.waitForTimeout(300);
  assert.match(await opened.page.evaluate(heading), /Overview/);
  await press(opened.page, "Control+k");
  await shown(opened.page, () => document.querySelector("dialog.palette[open]") !== null);
  await opened.close();
});

test("the theme is switched and kept", async () => {
  const opened = await openPage(running, "#/", { colorScheme: "light" });
  const theme = () => document.documentElement.dataset.theme;
  await shown(opened.page, () => document.documentElement.dataset.theme === "light");
  await press(opened.page, "t");
  assert.equal(await opened.page.evaluate(theme), "dark");
  await opened.page.reload();
  await shown(opened.page, () => document.documentElement.dataset.theme === "dark");
  await opened.close();
});

test("a new rule is written, corrected with one key and saved", async () => {
  const opened = await openPage(running, "#/rules/new");
  const { page } = opened;
  await shown(page, editorText);
  await press(page, "Control+a");
  await page.keyboard.insertText("rule tuned {\n  when amount <> 77\n  then alert score 0.2\n}\n");
  await shown(page, hasText, "is not part of this language");
  await shown(page, () => document.querySelector(".editor-host").shadowRoot.querySelector(".cm-lintRange-error") !== null);
  await press(page, "Control+.");
  await shown(page, () =>
    document.querySelector(".editor-host").shadowRoot.querySelector(".cm-content").innerText.includes("amount != 77"),
  );
  await shown(page, hasText, "It compiles");
  await press(page, "Control+s");
  await shown(page, () => /Rule\s+tuned/.test(document.querySelector("main h1").innerText));
  const rules = await (await fetch(`${running.service.url}/instructions`)).json();
  assert.ok(rules.some(({ name }) => name === "tuned"));
  await opened.close();
});

test("an edit shows its difference, survives a reload and replaces the rule", async () => {
  const opened = await openPage(running, `#/rules/${ids.large_payment}/edit`);
  const { page } = opened;
  await shown(page, editorText);
  await press(page, "Control+a");
  await page.keyboard.insertText(
    'rule large_payment {\n  description "Payments above 9,500"\n  when amount > 9500\n  then block score 0.9 reason "Large payment"\n}\n',
  );
  await shown(page, hasText, "2 lines added, 2 lines removed");
  await page.waitForTimeout(400);
  await page.goto(`${running.url}/console/#/rules`);
  await shown(page, () => /large_payment\s+draft in this browser/.test(document.body.innerText));
  await page.goto(`${running.url}/console/#/rules/${ids.large_payment}/edit`);
  await page.reload();
  await shown(page, hasText, "An unsaved text");
  assert.match(await shown(page, editorText), /9500/);
  await press(page, "Control+s");
  await shown(page, hasText, "Recent hits");
  const script = async () => (await (await fetch(`${running.service.url}/instructions/${ids.large_payment}`)).json()).script;
  // The console does not wait until the rule is in force.
  await until(async () => (await script()).includes("9500"), "the new script is in force");
  await opened.close();
});

test("a refused save is explained and keeps the text", async () => {
  const opened = await openPage(running, `#/rules/${ids.listed}/edit`);
  const { page } = opened;
  await shown(page, editorText);
  await press(page, "Control+a");
  await page.keyboard.insertText("rule second_payment { when amount > 1 then alert }");
  await shown(page, hasText, "A save would be refused");
  await press(page, "Control+s");
  await shown(page, hasText, "Not saved.");
  await shown(page, hasText, "name_taken");
  assert.match(await page.evaluate(editorText), /second_payment/);
  await opened.close();
});

test("completion offers fields, lists and verdicts", async () => {
  const opened = await openPage(running, "#/rules/new");
  const { page } = opened;
  await shown(page, editorText);
  const offered = async text => {
    await press(page, "Control+a");
    await page.keyboard.insertText(text.slice(0, -1));
    await page.keyboard.type(text.slice(-1));
    const labels = () =>
      [...document.querySelector(".editor-host").shadowRoot.querySelectorAll(".cm-completionLabel")].map(each => each.innerText).join();
    return shown(page, labels, undefined, `completion of ${text}`);
  };
  assert.match(await offered("rule a { when curr"), /currency/);
  assert.match(await offered("rule a { when source in $mu"), /mules/);
  assert.match(await offered("rule a { when amount > 1 then re"), /review/);
  assert.match(await offered("rule a { when cou"), /count/);
  await opened.close();
});

test("a deletion can be undone for five seconds and happens after them", async () => {
  const opened = await openPage(running, `#/rules/${ids.never}`);
  const { page } = opened;
  const exists = async () => (await fetch(`${running.service.url}/instructions/${ids.never}`)).ok;
  await shown(page, hasText, "Recent hits");
  await press(page, "d");
  await shown(page, hasText, "Delete never_matches");
  await press(page, "u");
  await shown(page, hasText, "undone");
  await page.waitForTimeout(5_500);
  assert.ok(await exists(), "an undone deletion deletes nothing");
  await press(page, "d");
  await page.waitForTimeout(2_500);
  assert.ok(await exists(), "nothing is deleted within five seconds");
  await until(async () => !(await exists()), "the rule is deleted");
  await opened.close();
});

test("a deletion in the list leaves the focus on the row that follows", async () => {
  const opened = await openPage(running, "#/rules?q=payment");
  const { page } = opened;
  await pressEnter(page.getByRole("button", { name: "Delete large_payment" }));
  await shown(page, () => document.activeElement.matches("tr[data-index]") && document.activeElement.innerText.includes("second_payment"));
  await press(page, "u", "Enter");
  await shown(page, () => /Rule\s+large_payment/.test(document.querySelector("main h1").innerText));
  await opened.close();
});

test("a list is made and extended, and its change is shown before", async () => {
  const opened = await openPage(running, "#/lists");
  const { page } = opened;
  await page.getByLabel("Name of a new list").fill("watched");
  await press(page, "Enter");
  await page.getByLabel("One entry a line").fill("acc-1\nacc-2\nacc-1\n");
  await shown(page, hasText, "2 entries added; 2 entries then.");
  await pressEnter(page.getByRole("button", { name: "Put in force" }));
  await shown(page, () => document.querySelectorAll('table[aria-label="Entries"] tr[data-index]').length === 2);
  const list = await (await fetch(`${running.service.url}/lists/watched`)).json();
  assert.deepEqual(list.entries, ["acc-1", "acc-2"]);
  await opened.close();
});
