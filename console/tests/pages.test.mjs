// Every page in both themes: no accessibility violation, no broken policy, no error, no sideways scrolling.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { hasText, openPage, pressEnter, shown, startConsole } from "./browser.mjs";
import { HOSTILE, seed } from "./seed.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const HOSTILE_ID = encodeURIComponent(`txn-<b>bold</b>&"'/%2F?#`);

let running;
let ids;

before(async () => {
  running = await startConsole();
  ids = await seed(running.service.url);
});

after(() => running.end());

/** The address of each page and a text that shows it is complete. */
const PAGES = [
  ["overview", () => "#/", "Failing and silent rules"],
  ["rules", () => "#/rules", "large_payment"],
  ["filtered rules", () => "#/rules?q=nothing-like-this", "Remove the filter"],
  ["rule", () => `#/rules/${ids.second_payment}`, "Recent hits"],
  ["hostile rule", () => `#/rules/${ids.hostile}`, "Recent hits"],
  ["new rule", () => "#/rules/new", "It compiles"],
  ["editor", () => `#/rules/${ids.listed}/edit`, "It compiles"],
  ["transaction", () => "#/transactions/txn-36", "Matched rules"],
  ["hostile transaction", () => `#/transactions/${HOSTILE_ID}`, "Matched rules"],
  ["unknown transaction", () => "#/transactions/nothing", "No transaction with this id"],
  ["lists", () => "#/lists", "mules"],
  ["list", () => "#/lists/mules", "acc-carla"],
  ["new list", () => "#/lists/fresh", "The first entries make it"],
  ["sources", () => "#/sources", "Rules by source"],
  ["system", () => "#/system", "Time zone data"],
  ["not found", () => "#/nowhere", "Not found"],
];

for (const colorScheme of ["light", "dark"]) {
  test(`pages in the ${colorScheme} theme`, async context => {
    for (const [name, hash, text] of PAGES) {
      await context.test(name, async () => {
        const opened = await openPage(running, hash(), { colorScheme });
        await shown(opened.page, hasText, text, `${name} shows ${text}`);
        await opened.page.waitForTimeout(300);
        assert.deepEqual(await accessibilityViolations(opened.page), []);
        assert.ok(await opened.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "scrolls sideways");
        assert.equal(await opened.page.evaluate(() => window.hacked), undefined);
        await opened.close();
      });
    }
  });
}

async function accessibilityViolations(page) {
  // In the middle of a transition, texts have colours that nobody reads.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map(animation => animation.finished)));
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document);
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(node => node.target.join(" "))
          .slice(0, 3)
          .join(" | ")} ${nodes[0]?.failureSummary ?? ""}`,
    );
  });
}

test("dialogs have no accessibility violation", async () => {
  const opened = await openPage(running, "#/rules");
  await shown(opened.page, hasText, "large_payment");
  for (const [key, text] of [
    ["?", "Settings of this browser"],
    ["Control+k", "New rule"],
  ]) {
    await opened.page.keyboard.press(key);
    await shown(opened.page, wanted => document.querySelector("dialog[open]")?.innerText.includes(wanted), text);
    assert.deepEqual(await accessibilityViolations(opened.page), []);
    await opened.page.keyboard.press("Escape");
  }
  await opened.page.keyboard.press("?");
  await pressEnter(opened.page.getByRole("button", { name: "Close" }));
  await shown(opened.page, () => document.querySelector("dialog") === null);
  await opened.close();
});

test("the rules can be read on a screen of 390 pixels without scrolling sideways", async () => {
  const opened = await openPage(running, "#/rules", { viewport: { width: 390, height: 844 } });
  await shown(opened.page, hasText, "large_payment");
  const seen = await opened.page.evaluate(() => {
    const table = document.querySelector(".table-scroll");
    return {
      page: document.documentElement.scrollWidth - innerWidth,
      table: table.scrollWidth - table.clientWidth,
      name: table.querySelector("tbody tr:not(.spacer) td").clientWidth,
    };
  });
  assert.ok(seen.page <= 0 && seen.table <= 0, JSON.stringify(seen));
  assert.ok(seen.name >= 130, JSON.stringify(seen));
  await opened.close();
});

test("hostile texts are shown as text", async () => {
  const opened = await openPage(running, `#/transactions/${HOSTILE_ID}`);
  await shown(opened.page, hasText, "Matched rules");
  const seen = await opened.page.evaluate(() => ({
    images: document.images.length,
    scripts: document.querySelectorAll("#app script").length,
    text: document.querySelector("main").innerText,
  }));
  assert.equal(seen.images, 0);
  assert.equal(seen.scripts, 0);
  assert.ok(seen.text.includes(HOSTILE.markup));
  assert.ok(seen.text.includes("U+202E"), "direction marks are named");
  assert.ok(!seen.text.includes("\u202E"), "direction marks have no effect");
  await opened.close();
});

test("amounts keep every digit", async () => {
  const opened = await openPage(running, "#/transactions/txn-exact");
  await shown(opened.page, hasText, "1,234,567,890,123,456,789.10");
  await shown(opened.page, hasText, "98,765,432,109,876,543,210.5");
  await opened.page.getByText("Raw JSON").click();
  await shown(opened.page, hasText, '"rate": 1.50');
  await opened.close();
});

test("charts can be read as tables", async () => {
  const opened = await openPage(running, "#/");
  await shown(opened.page, () => document.querySelector(".uplot canvas") !== null);
  // Space pauses the feed, but not while it belongs to a button.
  await opened.page.getByRole("button", { name: /As table.*Verdicts/ }).press("Space");
  await shown(opened.page, () => document.querySelector('table[aria-label="Verdicts per minute"] tbody tr') !== null);
  assert.deepEqual(await accessibilityViolations(opened.page), []);
  await opened.close();
});
