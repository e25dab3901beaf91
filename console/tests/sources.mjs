// Modules of the console for tests without a browser.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { grammarPlugin } from "../build/grammar.mjs";
import { ROOT } from "./browser.mjs";

/** Bundles a module of `src` and imports it. */
export async function source(path) {
  const folder = mkdtempSync(join(tmpdir(), "console-source-"));
  const outfile = join(folder, "module.mjs");
  await build({
    entryPoints: [join(ROOT, "src", path)],
    bundle: true,
    format: "esm",
    platform: "node",
    outfile,
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins: [grammarPlugin()],
    logLevel: "error",
  });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
