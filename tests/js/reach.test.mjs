// How far words reach through layers of masks, against torch; and what is said of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { drawPaths, firstLayers } from "../../attn_edu/views/js/paths.js";
import { reachFound, reachSentence, reachTable } from "../../attn_edu/views/js/reachwords.js";

const told = JSON.parse(readFileSync(new URL("fixtures.json", import.meta.url)));
const panelOf = ({ name, masks, n }) => ({ name, masks, first: firstLayers(masks, n, 3) });

for (const one of told.reach) {
  test(`reach equals torch's boolean products: ${one.name}`, () => {
    assert.deepEqual([...firstLayers(one.masks, one.n, 3)], one.first);
  });
  test(`the table is the one of the still picture: ${one.name}`, () => {
    const [caption, head, rows] = one.table;
    const data = { ...one, layers: 3 };
    const table = reachTable(data, [panelOf(one)], { depth: 2, word: one.n - 1 });
    assert.deepEqual(table, { caption, head, rows });
  });
}

const data = { tokens: ["a", "b", "c"], n: 3, layers: 3 };
const chain = { name: "chain", masks: [1, 0, 0, 1, 1, 0, 0, 1, 1] };
const panel = { ...chain, first: firstLayers(chain.masks, 3, 3) };

test("a pair under the pointer, or else the followed word, is named", () => {
  const say = (state) => reachSentence(data, [panel], { depth: 1, word: 2, over: null, ...state });
  assert.equal(say({}), "After 1 layer, “c” reaches, of 3 words: 2 with chain");
  assert.equal(say({ depth: 2 }), "After 2 layers, “c” reaches, of 3 words: 3 with chain");
  const over = (i, j) => say({ over: { k: 0, at: { i, j } } });
  assert.equal(over(2, 0), "chain: “c” → “a” needs 2 layers");
  assert.equal(over(1, 0), "chain: “b” → “a” needs 1 layer");
  assert.equal(over(0, 2), "chain: “a” → “c” is never reached");
  assert.equal(over(-1, 2), say({}));
  assert.equal(reachFound(panel, data, 1), "5 of 9 pairs, 56 %");
});

test("lines go down from the followed word, a layer at a time, to the words that it reaches", () => {
  const lines = [],
    dots = [];
  const pen = {
    text() {},
    rect() {},
    curve: (x0, y0, x1, y1) => lines.push([x0 - 0.5, y0, x1 - 0.5, y1].map((v) => v / 10)),
    dot: (x, y, r, fill) => fill === "ink" && dots.push([(x - 5) / 10, y / 10]),
  };
  const ink = { ink: "ink", line: "line", quiet: "quiet" };
  const heat = { left: 0, cw: 10, bare: true };
  drawPaths(pen, ink, { heat, masks: chain.masks }, data, { depth: 2, word: 2 }, 10);
  assert.deepEqual(dots, [
    [2, 1.5],
    [1, 2.5],
    [2, 2.5],
    [0, 3.5],
    [1, 3.5],
    [2, 3.5],
  ]);
  assert.equal(lines.length, 6);
});
