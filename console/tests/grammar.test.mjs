// Every script that the compiler accepts has a tree without a mistake in the editor.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./browser.mjs";
import { source } from "./sources.mjs";

/** The repository around `console/`, or wherever the scripts are. */
const REPOSITORY = process.env.TOLLGATE_REPOSITORY ?? join(ROOT, "..");

function scriptsBelow(directory) {
  if (!existsSync(directory)) return [];
  const files = readdirSync(directory, { withFileTypes: true, recursive: true });
  return files.filter(file => file.name.endsWith(".ws")).map(file => join(file.parentPath ?? file.path, file.name));
}

/** Scripts of the documentation that are meant to compile. */
function examples() {
  const path = join(REPOSITORY, "docs/language.md");
  if (!existsSync(path)) return [];
  const blocks = readFileSync(path, "utf8").matchAll(/```tollgate\n([\s\S]*?)```/g);
  return [...blocks].map(([, script]) => script);
}

test("scripts of the repository parse without a mistake", async context => {
  const { scriptParser } = await source("editor/parser.ts");
  const files = ["rules", "compiler/tests/golden/emit", "compiler/tests/golden/check", "compiler/tests/golden/fused"]
    .flatMap(folder => scriptsBelow(join(REPOSITORY, folder)))
    .map(path => ({ name: path, script: readFileSync(path, "utf8") }));
  const all = [...files, ...examples().map((script, index) => ({ name: `example ${index + 1}`, script }))];
  if (all.length === 0) return context.skip("no repository around the console");
  const wrong = all.flatMap(({ name, script }) => mistakes(scriptParser, name, script));
  assert.deepEqual(wrong, []);
  return context.diagnostic(`${all.length} scripts`);
});

function mistakes(parser, name, script) {
  const found = [];
  parser.parse(script).iterate({
    enter: node => {
      if (node.type.isError) found.push(`${name} at ${node.from}: ${JSON.stringify(script.slice(node.from - 20, node.from + 20))}`);
    },
  });
  return found;
}

test("a script with mistakes still has the parts around them", async () => {
  const { scriptParser } = await source("editor/parser.ts");
  const tree = scriptParser.parse('rule A { when amount <> 5 and currency == "EUR then hold }').toString();
  assert.match(tree, /RuleDeclaration/);
  assert.match(tree, /WhenWord/);
});
