// An esbuild plugin that turns a Lezer grammar into its parser, in memory.

import { readFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildParserFile } from "@lezer/generator";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");

async function generate(path) {
  const warnings = [];
  const { parser, terms } = buildParserFile(await readFile(resolve(ROOT, path), "utf8"), {
    fileName: path,
    warn: message => warnings.push({ text: message }),
  });
  return { parser, terms, warnings };
}

/** Paths are relative to the console, because the hashes of the bundle depend on them. */
function resolver(namespace) {
  return ({ path, resolveDir }) => ({
    path: relative(ROOT, resolve(resolveDir, path.replace(/\.terms$/, ""))),
    namespace,
  });
}

export function grammarPlugin() {
  return {
    name: "grammar",
    setup(build) {
      build.onResolve({ filter: /\.grammar$/ }, resolver("grammar"));
      build.onResolve({ filter: /\.grammar\.terms$/ }, resolver("grammar-terms"));
      build.onLoad({ filter: /.*/, namespace: "grammar" }, async ({ path }) => {
        const { parser, warnings } = await generate(path);
        return { contents: parser, loader: "js", resolveDir: dirname(resolve(ROOT, path)), warnings };
      });
      build.onLoad({ filter: /.*/, namespace: "grammar-terms" }, async ({ path }) => {
        const { terms } = await generate(path);
        return { contents: terms, loader: "js" };
      });
    },
  };
}
