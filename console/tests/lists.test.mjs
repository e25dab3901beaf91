// Lists: how pasted lines are read, and two people who edit one list or one rule.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hasText, openPage, pressEnter, shown, startConsole, until } from "./browser.mjs";
import { post } from "./service.mjs";

let running;

before(async () => {
  running = await startConsole();
});

after(() => running.end());

const api = (path, options) => fetch(`${running.service.url}/${path}`, options);

async function entriesOf(name) {
  return (await (await api(`lists/${name}`)).json()).entries;
}

function setEntries(name, entries) {
  return api(`lists/${name}`, { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(entries) });
}

function readTable() {
  const rows = [...document.querySelectorAll('table[aria-label="How each line is read"] tbody tr')];
  return rows.map(row => [...row.cells].map(cell => cell.innerText.trim()).join(" | ")).join("\n");
}

test("pasted lines are shown as they are read, and are sent as text", async () => {
  const opened = await openPage(running, "#/lists/sanctions");
  const { page } = opened;
  const sent = [];
  page.on("request", request => request.method() === "PUT" && sent.push(request.headers()["content-type"]));
  await page.getByLabel("One entry a line").fill('acct-x # OFAC 2026\n# since May\n"acct-y"\nacct-z,OFAC\n');
  await shown(page, hasText, "3 entries added; 3 entries then.");
  assert.equal(
    await page.evaluate(readTable),
    '1 | acct-x # OFAC 2026 | acct-x\n2 | # since May | a comment\n3 | "acct-y" | "acct-y"\n4 | acct-z,OFAC | acct-z,OFAC',
  );
  await shown(page, hasText, "Line 3: the quotation marks are part of the entry");
  await shown(page, hasText, "Line 4: it looks like a row of a table");
  await pressEnter(page.getByRole("button", { name: "Put in force" }));
  await shown(page, () => document.querySelectorAll('table[aria-label="Entries"] tr[data-index]').length === 3);
  assert.deepEqual(await entriesOf("sanctions"), ["acct-x", '"acct-y"', "acct-z,OFAC"]);
  assert.ok(sent.length === 1 && sent[0].startsWith("text/plain"), String(sent));
  await opened.close();
});

test("entries are removed with their comments, the last one too", async () => {
  await setEntries("removed", ["a # b", "c"]);
  const opened = await openPage(running, "#/lists/removed");
  const { page } = opened;
  await page.getByText("Add or remove entries").click();
  await page.getByLabel("One entry a line").fill('"a # b"\n');
  await page.getByLabel("Remove").check();
  await shown(page, hasText, "1 entry removed; 1 entry then.");
  await pressEnter(page.getByRole("button", { name: "Put in force" }));
  await shown(page, () => document.querySelectorAll('table[aria-label="Entries"] tr[data-index]').length === 1);
  await page.getByLabel("One entry a line").fill("c\n");
  await shown(page, hasText, "1 entry removed; 0 entries then.");
  await pressEnter(page.getByRole("button", { name: "Put in force" }));
  await shown(page, () => document.querySelectorAll('table[aria-label="Entries"] tr[data-index]').length === 0);
  assert.deepEqual(await entriesOf("removed"), []);
  await opened.close();
});

test("a stale change of a list is refused, shown as a comparison, and nobody's entry is lost", async () => {
  await setEntries("shared", ["first"]);
  // The events of the service do not arrive, so the page does not follow.
  const opened = await openPage(running, "#/lists/shared");
  const { page } = opened;
  await page.route("**/events?*", route => route.abort());
  await page.reload();
  await page.getByText("Add or remove entries").click();
  await page.getByLabel("One entry a line").fill("mine\n");
  await shown(page, hasText, "1 entry added; 2 entries then.");
  await setEntries("shared", ["first", "theirs"]);
  await pressEnter(page.getByRole("button", { name: "Put in force" }));
  await shown(page, hasText, "precondition_failed");
  await shown(page, () => document.querySelector('[aria-label="Change of somebody else"]')?.innerText.includes("+ theirs"));
  assert.deepEqual(await entriesOf("shared"), ["first", "theirs"]);
  await shown(page, hasText, "1 entry added; 3 entries then.");
  await pressEnter(page.getByRole("button", { name: "Put in force" }));
  await shown(page, () => document.querySelectorAll('table[aria-label="Entries"] tr[data-index]').length === 3);
  assert.deepEqual(await entriesOf("shared"), ["first", "theirs", "mine"]);
  await opened.close();
});

test("a stale save of a rule is refused once, beside the rule in force", async () => {
  const script = amount => `rule shared {\n  when amount > ${amount}\n  then review score 0.5\n}\n`;
  const { id } = await post(`${running.service.url}/compile-and-save-instruction`, { script: script(1) });
  const opened = await openPage(running, `#/rules/${id}/edit`);
  const { page } = opened;
  const editorText = () => document.querySelector(".editor-host")?.shadowRoot?.querySelector(".cm-content")?.innerText ?? "";
  await page.route("**/events?*", route => route.abort());
  await page.reload();
  await shown(page, editorText);
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(script(3));
  await api(`instructions/${id}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ script: script(2) }),
  });
  await page.keyboard.press("Control+s");
  await shown(page, hasText, "The rule in force has changed since this edit began.");
  await shown(page, () => document.querySelector(".diff-panel pre")?.innerText.includes("−   when amount > 2"));
  assert.match((await (await api(`instructions/${id}`)).json()).script, /amount > 2/);
  await page.keyboard.press("Control+s");
  await shown(page, hasText, "Recent hits");
  const inForce = async () => (await (await api(`instructions/${id}`)).json()).script;
  // The console does not wait until the rule is in force.
  await until(async () => (await inForce()).includes("amount > 3"), "the second save is in force");
  await opened.close();
});

test("a rule that would stop most payments is saved after a question only", async () => {
  for (let number = 0; number < 120; number += 1) {
    await post(`${running.service.url}/inject`, { transaction_id: `b-${number}`, amount: 5, currency: "EUR", reference: "r" });
  }
  const opened = await openPage(running, "#/rules/new");
  const { page } = opened;
  const editorText = () => document.querySelector(".editor-host")?.shadowRoot?.querySelector(".cm-content")?.innerText ?? "";
  await shown(page, editorText);
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("rule everything {\n  when amount > 0\n  then block score 1\n}\n");
  await shown(page, hasText, "It compiles");
  await page.keyboard.press("Control+s");
  await shown(page, hasText, "This rule would have matched 120 of 120 of the latest transactions");
  const names = async () => (await (await api("instructions")).json()).map(({ name }) => name);
  assert.ok(!(await names()).includes("everything"));
  await pressEnter(page.getByRole("button", { name: "Save it all the same" }));
  await shown(page, hasText, "Recent hits");
  assert.ok((await names()).includes("everything"));
  await opened.close();
});
