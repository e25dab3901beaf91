// Parts of the console without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { source } from "./sources.mjs";

test("amounts compare by value, whatever their spelling", async () => {
  const { Decimal, compareDecimals } = await source("api/decimal.ts");
  const order = ["-1e3", "-10.5", "-0.01", "0", "0.01", "0.010", "1", "1.0", "9", "10", "1234567890123456789.10", "2e30"];
  for (let index = 1; index < order.length; index += 1) {
    const [left, right] = [order[index - 1], order[index]].map(text => new Decimal(text));
    assert.ok(compareDecimals(left, right) <= 0, `${left} <= ${right}`);
    assert.ok(compareDecimals(right, left) >= 0, `${right} >= ${left}`);
  }
  assert.equal(compareDecimals(new Decimal("1.50"), new Decimal("1.5")), 0);
  assert.equal(compareDecimals(new Decimal("-0"), new Decimal("0.00")), 0);
  assert.ok(compareDecimals(new Decimal("1234567890123456789.10"), new Decimal("1234567890123456789.11")) < 0);
});

test("thousands are grouped without losing a digit", async () => {
  const { groupThousands } = await source("api/decimal.ts");
  assert.equal(groupThousands("1234567890123456789.10"), "1,234,567,890,123,456,789.10");
  assert.equal(groupThousands("-1000"), "-1,000");
  assert.equal(groupThousands("100.0000"), "100.0000");
  assert.equal(groupThousands("1e21"), "1e21");
});

test("the usual matches of a rule are the median of the full hours since any rule matched", async () => {
  const { firstHour, usualHits } = await source("pages/overview/usual.ts");
  for (const [hourly, other, usual] of [
    [[4, 1, 9, 2, 70], [0, 0, 0, 0, 0], 4],
    // The service did not run before the second hour.
    [[0, 6, 8, 5, 9], [0, 0, 0, 0, 1], 6],
    // It ran, and this rule matched nothing.
    [[0, 0, 0, 0, 12], [0, 3, 3, 3, 3], 0],
    [[0, 0, 700, 3, 2], [0, 0, 0, 0, 0], null],
    [[0, 0, 0, 0, 12], [0, 0, 0, 0, 5], null],
  ]) {
    assert.equal(usualHits(hourly, firstHour([{ hourly }, { hourly: other }])), usual, JSON.stringify(hourly));
  }
});

test("a stream is split into events, wherever its pieces are cut", async () => {
  const { EventParser } = await source("live/sse.ts");
  const stream = ': alive\n\nid: 7\nevent: tick\ndata: {"a":1}\n\nevent: rules\r\ndata: x\r\ndata: y\r\n\r\nretry: 5\n\n';
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const parser = new EventParser("3");
    const events = [...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))];
    assert.deepEqual(
      events,
      [
        { type: "tick", data: '{"a":1}', id: "7" },
        { type: "rules", data: "x\ny", id: "7" },
      ],
      `cut at ${cut}`,
    );
  }
});

test("rows are sorted by key, those without one last", async () => {
  const { sortRows } = await source("grid/sort.ts");
  const rows = [{ n: 2 }, { n: null }, { n: 10 }, { n: 1 }];
  assert.deepEqual(
    sortRows(rows, row => row.n, false).map(row => row.n),
    [1, 2, 10, null],
  );
  assert.deepEqual(
    sortRows(rows, row => row.n, true).map(row => row.n),
    [10, 2, 1, null],
  );
  const names = ["rule10", "rule9", "Rule1"].map(name => ({ name }));
  assert.deepEqual(
    sortRows(names, row => row.name, false).map(row => row.name),
    ["Rule1", "rule9", "rule10"],
  );
});

test("a diff applied to the old text gives the new one", async () => {
  const { diffLines } = await source("words/diff.ts");
  const texts = ["", "a", "a\nb\nc", "a\nc", "x\na\nb\nd\nc\n", "c\nb\na"];
  for (const before of texts) {
    for (const after of texts) {
      const diff = diffLines(before, after);
      const kept = skip =>
        diff
          .filter(({ kind }) => kind !== skip)
          .map(({ text }) => text)
          .join("\n");
      assert.equal(kept("added"), before);
      assert.equal(kept("removed"), after);
    }
  }
});

test("only unambiguous help texts are corrections", async () => {
  const { replacementOf } = await source("words/replacement.ts");
  const of = help => replacementOf({ help });
  assert.equal(of("write `==`"), "==");
  assert.equal(of("write a plain `-`"), "-");
  assert.equal(of("did you mean `review`? a verdict is one of allow, approve"), "review");
  assert.equal(of("write the digits without `_`"), null);
  assert.equal(of("write `then` and a verdict first: `then review`"), null);
  assert.equal(of(null), null);
});

test("numbers of a document keep their digits", async () => {
  const { indentJson, canReadExactly } = await source("api/json.ts");
  if (!canReadExactly()) return; // Node before 21 has no `context.source`; the browser tests look at the same.
  assert.equal(
    indentJson('{"a":1.50,"b":[98765432109876543210.5,{}]}'),
    '{\n  "a": 1.50,\n  "b": [\n    98765432109876543210.5,\n    {}\n  ]\n}',
  );
});
