// The page's arithmetic against torch's, on the fixtures that make_fixtures.py writes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { namedMask, softmaxRows, stages, temper } from "../../attn_edu/views/js/math.js";

const told = JSON.parse(readFileSync(new URL("fixtures.json", import.meta.url)));
const { n, d, dv } = told;

function close(got, want, within, name) {
  assert.equal(got.length, want.length, `${name}: length`);
  got.forEach((x, at) => {
    const far = Math.abs(x - want[at]);
    assert.ok(
      far <= within * Math.max(1, Math.abs(want[at])),
      `${name}[${at}]: ${x}, not ${want[at]}`,
    );
  });
}

for (const one of told.attention) {
  test(`every stage equals torch: mask ${one.mask}`, () => {
    const mask = namedMask(one.mask, n, one.size, one.given);
    assert.deepEqual(mask && Array.from(mask, Number), one.given);
    const data = {
      query: Float32Array.from(one.q),
      key: Float32Array.from(one.k),
      value: Float32Array.from(one.v),
      n,
      d,
      dv,
    };
    const got = stages(data, { ...one, mask });
    for (const name of ["scores", "scaled", "weights", "output"])
      close(got[name], one[name], 1e-12, name);
  });
}

test("a word that may look at no word takes nothing", () => {
  const one = told.attention.find((c) => c.mask === "given");
  assert.deepEqual(one.given.slice(2 * n, 3 * n), Array(n).fill(0));
  const weights = softmaxRows(Float64Array.from(one.scaled), n, n, one.given);
  assert.deepEqual([...weights.slice(2 * n, 3 * n)], Array(n).fill(0));
});

test("large scores do not overflow", () => {
  close(softmaxRows(Float64Array.of(1e4, 1e4, -1e4), 1, 3, null), [0.5, 0.5, 0], 1e-15, "weights");
});

for (const one of told.temper) {
  test(`tempered weights are the softmax of scores / ${one.temperature}`, () => {
    close(
      temper(Float64Array.from(one.weights), 4, 6, one.temperature),
      one.tempered,
      1e-12,
      "row",
    );
  });
}

test("tempering keeps what a row sums to, and an empty row empty", () => {
  const rows = temper(Float64Array.of(0.2, 0.6, 0, 0), 2, 2, 2);
  assert.ok(Math.abs(rows[0] + rows[1] - 0.8) < 1e-12);
  assert.deepEqual([rows[2], rows[3]], [0, 0]);
});
