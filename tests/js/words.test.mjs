// What the views say under their pictures.
import assert from "node:assert/strict";
import { test } from "node:test";
import { wrap } from "../../attn_edu/views/js/layout.js";
import { headName, mapSentence, mapTable } from "../../attn_edu/views/js/mapwords.js";
import { divisor, stepSentence, stepTable, stepTitles } from "../../attn_edu/views/js/stepwords.js";
import { weightShades } from "../../attn_edu/views/js/shades.js";
import { show } from "../../attn_edu/views/js/words.js";

const data = {
  tokens: { query: ["a", "b"], key: ["x", "y", "z"] },
  n: 2,
  m: 3,
  layers: 2,
  heads: 1,
  says: ["Attention map", "looks at", "is looked at by", "masked"],
};
const flat = Float32Array.of(0.5, 0.25, 0.25, 0, 0, 1);
const none = { at: null, row: null, col: null };

test("numbers have a true minus, and zero has none", () => {
  assert.equal(show(-1.234), "−1.23");
  assert.equal(show(-0.001), "0.00");
  assert.equal(show(NaN), "NaN");
  assert.equal(show(-Infinity), "−∞");
});

test("the map names a cell, a row, a column, or nothing", () => {
  const say = (state, hidden = null, digits = 4) =>
    mapSentence(data, { ...none, ...state }, flat, hidden, digits);
  assert.equal(say({}), "");
  assert.equal(say({ at: { i: 0, j: 1 }, row: 1 }), "“a” → “y”: 0.2500");
  assert.equal(say({ at: { i: 0, j: 1 } }, null, 2), "“a” → “y”: about 0.25");
  assert.equal(say({ at: { i: 1, j: 0 } }, [0, 0, 0, 1, 0, 0]), "“b” → “x”: masked");
  assert.equal(say({ row: 0 }), "“a” looks at “x” 0.5000, “y” 0.2500, “z” 0.2500");
  assert.equal(say({ row: 1, col: 2 }), "“b” → “z”: 1.0000");
  assert.equal(say({ col: 2 }), "“z” is looked at by “b” 1.0000, “a” 0.2500");
  assert.equal(say({ at: { i: -1, j: 0 } }), "“x” is looked at by “a” 0.5000");
  const moved = { ...data, says: ["Influence map", "depends on", "moves", "zero"] };
  const tell = (state) => mapSentence(moved, { ...none, ...state }, flat, [0, 0, 0, 1, 0, 0], 4);
  assert.equal(tell({ row: 1 }), "“b” depends on “z” 1.0000");
  assert.equal(tell({ col: 0 }), "“x” moves “a” 0.5000");
  assert.equal(tell({ at: { i: 1, j: 0 } }), "“b” → “x”: zero");
});

test("the map's table holds every weight of a small map and the largest of a large", () => {
  assert.deepEqual(mapTable(data, flat, "name"), {
    caption: "name",
    head: ["word", "x", "y", "z"],
    rows: [
      ["a", "0.500", "0.250", "0.250"],
      ["b", "0.000", "0.000", "1.000"],
    ],
  });
  const tokens = Array.from({ length: 17 }, (_, k) => `w${k}`);
  const eye = Float32Array.from({ length: 289 }, (_, c) => +(c % 18 === 0));
  const large = mapTable({ tokens: { query: tokens, key: tokens }, n: 17, m: 17 }, eye, "name");
  assert.match(large.caption, /the three largest/);
  assert.deepEqual(large.rows[16], ["w16", "w16 1.000"]);
});

test("only what there is a choice of is named", () => {
  assert.equal(headName(data, { layer: 1, head: 0 }), "layer 1");
  assert.equal(headName({ layers: 1, heads: 1 }, { layer: 0, head: 0 }), "weights");
});

test("the divisor has its name where it is 1, √d or d", () => {
  assert.equal(divisor(1 / Math.sqrt(32), 32), "5.66 = √d");
  assert.equal(divisor(1, 32), "1.00 (not scaled)");
  assert.equal(divisor(1 / 32, 32), "32.00 = d");
  assert.equal(divisor(0.3, 32), "3.33");
});

const step = { tokens: ["a", "b"], n: 2, d: 4 };
const now = { scores: [4, -2, 1, 1], scaled: [2, -1, 0.5, 0.5], weights: [0.95, 0.05, 1, 0] };
now.masked = now.scaled;
const hidden = [0, 0, 0, 1];

test("one pair of words is followed through the steps", () => {
  assert.equal(
    stepSentence(step, { row: 0, col: 1 }, now, hidden),
    "“a” → “b”: score −2.000, scaled −1.000, weight 0.0500",
  );
  assert.match(stepSentence(step, { row: 1, col: 1 }, now, hidden), /masked: weight 0$/);
  assert.equal(
    stepSentence(step, { row: 0, col: null }, now, null),
    "“a” = 0.95 · “a” + 0.05 · “b”",
  );
  const empty = { ...now, weights: [0, 0, 1, 0] };
  assert.match(stepSentence(step, { row: 0, col: null }, empty, null), /may look at no word/);
  assert.equal(stepSentence(step, { row: null, col: null }, now, null), "");
});

test("the steps' table is the row of the chosen word", () => {
  const { caption, rows } = stepTable(step, { row: 1 }, now, hidden);
  assert.equal(caption, "The row of “b”");
  assert.deepEqual(rows[1], ["b", "1.0000", "0.5000", "−∞", "0.0000"]);
});

test("titles tell the setting", () => {
  const titles = stepTitles(step, { scale: 0.5, temperature: 2, mask: "window", size: 3 });
  assert.deepEqual(titles[1], ["2 scaled", "÷ 2.00 = √d, ÷ 2.00"]);
  assert.deepEqual(titles[2], ["3 masked", "window of 3"]);
});

test("colours: each choice sends the largest weight to the end of the ramp", () => {
  const code = ({ zero = 0, gain, root }, v, i) =>
    zero + (gain[i] ?? gain) * (root ? Math.sqrt(v) : v);
  const weights = Float64Array.of(0.25, 0.5, 0.1, 0);
  assert.equal(code(weightShades(weights, 2, 2, "linear", false), 1, 0), 255);
  assert.equal(code(weightShades(weights, 2, 2, "sqrt", false), 0.25, 0), 127.5);
  const rows = weightShades(weights, 2, 2, "row", false);
  assert.deepEqual([code(rows, 0.5, 0), code(rows, 0.1, 1)], [255, 255]);
  const two = weightShades(Float64Array.of(-2, 1), 1, 2, "linear", false);
  assert.deepEqual([code(two, -2, 0), code(two, 0, 0), two.low], [1, 128, "−2.00"]);
  assert.equal(code(weightShades(Float64Array.of(4, NaN), 1, 2, "linear", false), 4, 0), 255);
});

test("panels wrap into rows, and where that is asked", () => {
  const sizes = [
    [50, 10],
    [60, 20],
    [30, 5],
  ];
  assert.deepEqual(wrap(sizes, 115, 4, () => false), {
    places: [
      [0, 0],
      [54, 0],
      [0, 24],
    ],
    size: [114, 29],
  });
  assert.deepEqual(wrap(sizes, 999, 4, (k) => k === 1).places, [
    [0, 0],
    [0, 14],
    [64, 14],
  ]);
});
