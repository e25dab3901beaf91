// Builds the console at each change of its sources and serves it in front of a service: node dev.mjs SERVICE_URL PORT

import { spawn, spawnSync } from "node:child_process";
import { watch } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, "dist");
/** Milliseconds without a change before a build begins: editors write a file in several steps. */
const QUIET = 100;

const [service, port] = process.argv.slice(2);
let server;
let timer;

/** Builds and serves the result. After a build that fails, the last one stays. */
function rebuild() {
  const { status } = spawnSync("node", ["build.mjs", DIST], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) return;
  const serve = () => {
    server = spawn("node", ["tests/serve.mjs", DIST, service, port], { cwd: ROOT, stdio: "inherit" });
  };
  if (server === undefined) return serve();
  server.once("exit", serve);
  server.kill();
}

rebuild();
watch(join(ROOT, "src"), { recursive: true }, () => {
  clearTimeout(timer);
  timer = setTimeout(rebuild, QUIET);
});
