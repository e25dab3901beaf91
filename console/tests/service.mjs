// Starts a real service for a test, in a directory of its own.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

export const BINARY = process.env.TOLLGATE_BIN ?? join(ROOT, "../target/release/tollgate");

/** Starts a service with `rules` as its rules directory and waits until it is ready. */
export async function startService({ port: wanted, rules, env = {} } = {}) {
  const port = wanted ?? (await freePort());
  const directory = mkdtempSync(join(tmpdir(), "tollgate-console-"));
  mkdirSync(join(directory, "rules"));
  const settings = {
    SERVICE_PORT: String(port),
    SERVICE_DATA_DIR: join(directory, "data"),
    WATCH_SCRIPT_DIR: rules ?? join(directory, "rules"),
    SERVICE_LOG: "error",
    ...env,
  };
  const url = `http://127.0.0.1:${port}`;
  let child = null;
  const start = async () => {
    child = spawn(BINARY, [], { cwd: directory, env: { PATH: process.env.PATH, ...settings }, stdio: "ignore" });
    await until(async () => (await fetch(`${url}/readyz`)).ok, "the service is ready");
  };
  const stop = async () => {
    if (child === null) return;
    const ended = new Promise(resolve => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    child = null;
  };
  await start();
  return {
    url,
    directory,
    start,
    stop,
    async end() {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Returns a port that nobody listens on, so that tests may run beside each other. */
function freePort() {
  return new Promise(resolve => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Waits until `check` holds; what it throws counts as not yet. */
export async function until(check, what, timeoutMs = 20_000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      if (await check()) return;
    } catch {
      // Not yet.
    }
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

export async function post(url, body) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}
