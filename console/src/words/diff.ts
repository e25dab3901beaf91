export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Above this product of changed lines, the changed part is shown as removed and added as a whole. */
const TABLE_MAX = 1_000_000;

/** Compares two texts line by line. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split("\n");
  const now = after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const middle = diffMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end));
  return [...lines(old.slice(0, start), "same"), ...middle, ...lines(old.slice(old.length - end), "same")];
}

function lines(texts: string[], kind: DiffLine["kind"]): DiffLine[] {
  return texts.map(text => ({ kind, text }));
}

/** The longest common subsequence, by its table of lengths from the end. */
function diffMiddle(old: string[], now: string[]): DiffLine[] {
  if (old.length * now.length > TABLE_MAX) return [...lines(old, "removed"), ...lines(now, "added")];
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const below = lengths[(i + 1) * width + j] ?? 0;
      const right = lengths[i * width + j + 1] ?? 0;
      const both = (lengths[(i + 1) * width + j + 1] ?? 0) + 1;
      lengths[i * width + j] = old[i] === now[j] ? both : Math.max(below, right);
    }
  }
  return walk(old, now, lengths, width);
}

function walk(old: string[], now: string[], lengths: Uint16Array, width: number): DiffLine[] {
  const found: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const below = lengths[(i + 1) * width + j] ?? 0;
    const right = lengths[i * width + j + 1] ?? 0;
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push({ kind: "same", text: old[i] ?? "" });
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && below >= right)) {
      found.push({ kind: "removed", text: old[i] ?? "" });
      i += 1;
    } else {
      found.push({ kind: "added", text: now[j] ?? "" });
      j += 1;
    }
  }
  return found;
}

/** Leaves out unchanged lines further than `context` from a change; `null` stands for a gap. */
export function withContext(diff: DiffLine[], context: number): (DiffLine | null)[] {
  const isNear = diff.map((_, index) => diff.slice(Math.max(0, index - context), index + context + 1).some(({ kind }) => kind !== "same"));
  const shown: (DiffLine | null)[] = [];
  diff.forEach((line, index) => {
    if (isNear[index]) shown.push(line);
    else if (shown.at(-1) !== null && shown.length > 0) shown.push(null);
  });
  if (shown.at(-1) === null) shown.pop();
  return shown;
}
