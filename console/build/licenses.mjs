// Collects the licences of the packages whose code is in the bundle.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Returns the packages that the inputs of the bundle come from. */
function packagesOf(metafile) {
  const found = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) found.add(match[1]);
  }
  return [...found].sort();
}

async function licenseOf(root, name) {
  const directory = join(root, "node_modules", name);
  const { version, license } = JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
  const file = (await readdir(directory)).sort().find(each => /^licen[sc]e/i.test(each));
  const text = file ? (await readFile(join(directory, file), "utf8")).trim() : "(the package has no file with its licence)";
  return `${name} ${version} (${license})\n\n${text}\n`;
}

export async function licenses(root, metafile) {
  const texts = await Promise.all(packagesOf(metafile).map(name => licenseOf(root, name)));
  return `The console contains code of these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
