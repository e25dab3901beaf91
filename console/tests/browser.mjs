// A browser, the built console and a service for the tests of a file. Any error in the browser fails the test that sees it.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";
import { startService, until } from "./service.mjs";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
export const DIST = process.env.CONSOLE_DIST ?? join(ROOT, "dist");

export { until };

/** Starts everything. With CONSOLE_URL the console is served by the service itself, at that address. */
export async function startConsole({ port, rules, answer, env } = {}) {
  if (!existsSync(join(DIST, "files.json"))) execFileSync("node", [join(ROOT, "build.mjs"), DIST], { stdio: "inherit" });
  const own = process.env.CONSOLE_URL;
  const service = own === undefined ? await startService({ port, rules, env }) : { url: own, end: async () => {} };
  const front = own === undefined ? await serve(DIST, () => service.url, { answer }) : { url: own, server: null };
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--enable-precise-memory-info"],
  });
  return {
    service,
    url: front.url,
    browser,
    async end() {
      await browser.close();
      front.server?.closeAllConnections();
      front.server?.close();
      await service.end();
    },
  };
}

/** Network answers that are expected are no errors of the console. */
const EXPECTED = /Failed to load resource/;

/** Opens a page of the console in a browser context of its own. */
export async function openPage(running, hash = "#/", options = {}) {
  const context = options.context ?? (await running.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options }));
  const page = await context.newPage();
  const errors = [];
  page.on("console", message => {
    if (["error", "warning"].includes(message.type()) && !EXPECTED.test(message.text())) errors.push(message.text());
  });
  page.on("pageerror", error => errors.push(error.stack ?? error.message));
  await page.addInitScript(() => {
    window.violations = [];
    addEventListener("securitypolicyviolation", event => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(`${running.url}/console/${hash}`);
  return {
    page,
    context,
    errors,
    /** Fails if the browser reported an error or a violation of the policy. */
    async close() {
      const violations = await page.evaluate(() => window.violations);
      if (options.context === undefined) await context.close();
      else await page.close();
      const all = [...errors, ...violations];
      if (all.length > 0) throw new Error(`the browser reported:\n${all.join("\n")}`);
    },
  };
}

/** Presses Enter on a button once it is enabled: a disabled one takes no key. */
export async function pressEnter(button) {
  await button.and(button.page().locator(":enabled")).press("Enter");
}

/** Waits until `read` returns something true in the page. The policy forbids what `waitForFunction` does. */
export async function shown(page, read, argument, what = argument ?? String(read)) {
  let last;
  const found = until(
    async () => {
      last = await page.evaluate(read, argument);
      return last;
    },
    what,
    10_000,
  );
  await found.catch(async error => {
    throw new Error(`${error.message}; the page shows:\n${await page.evaluate(() => document.body.innerText.slice(0, 2_000))}`);
  });
  return last;
}

export const hasText = text => document.body.innerText.includes(text);
