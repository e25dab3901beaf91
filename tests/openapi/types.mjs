// Writes the schemas of an API description as TypeScript: node types.mjs TOOLS DOCUMENT OUTPUT
//
// DOCUMENT is a file or an address. The order of its members makes no difference.

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [tools, document, output] = process.argv.slice(2);
const { default: generate, astToString } = createRequire(`${resolve(tools)}/`)("openapi-typescript");

async function read() {
  if (!/^https?:/.test(document)) return readFile(document, "utf8");
  const answer = await fetch(document);
  if (!answer.ok) throw new Error(`${document} answered ${answer.status}`);
  return answer.text();
}

const { openapi, info, components } = JSON.parse(await read());
// Paths would make the file six times as long, and the console names its paths itself.
const nodes = await generate({ openapi, info, components, paths: {} }, { alphabetize: true, emptyObjectsUnknown: true });
const schemas = nodes.filter(({ name }) => name?.text === "components");
const head = "// Generated from /openapi.json by `npm run types`, with openapi-typescript. Do not edit.\n\n";
await writeFile(output, head + astToString(schemas));
