// Builds the console: node build.mjs OUT_DIR
//
//   src/ ──▶ esbuild ──▶ hashed files ──▶ budgets ──▶ index.html, files.json, LICENSES.txt
//
// The output depends on the sources and the lock file only, so two builds are equal byte for byte.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { grammarPlugin } from "./build/grammar.mjs";
import { licenses } from "./build/licenses.mjs";

const ROOT = dirname(fileURLToPath(import.meta.url));

/** Gzip sizes in bytes beyond which the build fails. */
const BUDGETS = { initial: 60_000, chart: 25_000, editor: 140_000, css: 12_000 };

const CONTENT_TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

/** The pages, in chunks that are loaded when they are needed. */
const PAGES = { entryPoints: { main: "src/main.tsx" }, splitting: true, format: "esm" };
/** A classic script that is run before the first paint. */
const THEME = { entryPoints: { theme: "src/app/first_theme.ts" }, format: "iife" };

async function bundle(entry) {
  return build({
    absWorkingDir: ROOT,
    ...entry,
    bundle: true,
    target: ["chrome120", "firefox135", "safari18"],
    outdir: "out",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
    charset: "utf8",
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins: [grammarPlugin()],
    logLevel: "warning",
  });
}

/** Returns the files that are loaded with `file`: itself and what it imports at once. */
function closure(outputs, file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { path, kind } of outputs[file].imports) {
    if (kind === "import-statement") closure(outputs, path, seen);
  }
  return seen;
}

/** Returns the chunks that the entry imports at once: the browser loads them together with it. */
function preloaded({ outputs }) {
  const entry = Object.keys(outputs).find(file => outputs[file].entryPoint === "src/main.tsx");
  return [...closure(outputs, entry)]
    .filter(file => file !== entry)
    .map(file => basename(file))
    .sort();
}

/** Returns the gzip size of each part, each without what is already loaded. */
function sizes(metafile, contents, theme) {
  const { outputs } = metafile;
  const entryOf = source => Object.keys(outputs).find(file => outputs[file].entryPoint === source);
  const gzip = files => [...files].reduce((sum, file) => sum + gzipSync(contents.get(basename(file)), { level: 9 }).length, 0);
  const initial = closure(outputs, entryOf("src/main.tsx"));
  const lazy = source => gzip([...closure(outputs, entryOf(source))].filter(file => !initial.has(file)));
  return {
    initial: gzip([...initial, theme]),
    chart: lazy("src/chart/draw.ts"),
    editor: lazy("src/editor/editor.ts"),
    css: gzip(Object.keys(outputs).filter(file => file.endsWith(".css"))),
  };
}

function checkBudgets(measured) {
  let isWithin = true;
  for (const [part, limit] of Object.entries(BUDGETS)) {
    const size = measured[part];
    const verdict = size <= limit ? "ok" : "TOO LARGE";
    console.log(`${part.padEnd(8)} ${(size / 1000).toFixed(1).padStart(6)} kB gzip of ${limit / 1000}  ${verdict}`);
    isWithin &&= size <= limit;
  }
  if (!isWithin) throw new Error("the console exceeds its budget");
}

async function main(outDir) {
  const { outputFiles, metafile } = await bundle(PAGES);
  const theme = (await bundle(THEME)).outputFiles;
  const contents = new Map([...outputFiles, ...theme].map(({ path, contents: bytes }) => [basename(path), Buffer.from(bytes)]));
  checkBudgets(sizes(metafile, contents, theme[0].path));
  const name = pattern => [...contents.keys()].find(file => pattern.test(file));
  const template = await readFile(join(ROOT, "src/index.html"), "utf8");
  const preloads = preloaded(metafile).map(file => `<link rel="modulepreload" href="${file}">`);
  const html = template
    .replace("{{theme}}", name(/^theme-\w+\.js$/))
    .replace("{{css}}", name(/^main-\w+\.css$/))
    .replace("{{main}}", name(/^main-\w+\.js$/))
    .replace("{{preload}}", preloads.join("\n"));
  const immutable = [...contents.keys()].sort();
  contents.set("index.html", Buffer.from(html));
  contents.set("LICENSES.txt", Buffer.from(await licenses(ROOT, metafile)));
  const files = ["index.html", "LICENSES.txt", ...immutable].map(path => ({
    path,
    content_type: CONTENT_TYPES[path.split(".").pop()],
    immutable: immutable.includes(path),
  }));
  contents.set("files.json", Buffer.from(`${JSON.stringify(files, null, 1)}\n`));
  await rm(outDir, { recursive: true, force: true });
  await mkdir(outDir, { recursive: true });
  for (const [file, bytes] of contents) await writeFile(join(outDir, file), bytes);
}

const outDir = process.argv[2];
if (outDir === undefined) {
  console.error("usage: node build.mjs OUT_DIR");
  process.exit(2);
}
await main(outDir);
