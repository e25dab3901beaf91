// Modules of the console for tests without a browser.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { grammarPlugin } from "../build/grammar.mjs";
import { ROOT } from "./browser.mjs";

/** Bundles a module of `src` and imports it. */
export async function source(path) {
  const outfile = join(mkdtempSync(join(tmpdir(), "console-source-")), "module.mjs");
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
  return import(pathToFileURL(outfile).href);
}
