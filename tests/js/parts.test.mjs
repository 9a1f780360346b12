// Payload, colours, labels and the splitting of heads, against what Python says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Lines } from "../../attn_edu/views/js/lines.js";
import { unpack } from "../../attn_edu/views/js/codec.js";
import { TOKEN_COLOURS, inkOn, ramp } from "../../attn_edu/views/js/palette.js";
import { SvgPen } from "../../attn_edu/views/js/pen.js";
import { divisors, source } from "../../attn_edu/views/js/split.js";
import { largest } from "../../attn_edu/views/js/words.js";

const told = JSON.parse(readFileSync(new URL("fixtures.json", import.meta.url)));

for (const { part, within, start } of told.codec) {
  test(`${part.kind} of ${part.shape} comes out as it went in, within ${within}`, async () => {
    const { shape, values, digits } = await unpack(part);
    assert.deepEqual(shape, part.shape);
    assert.equal(
      values.length,
      shape.reduce((a, b) => a * b, 1),
    );
    assert.equal(digits, { u1: 2, u2: 3 }[part.kind] ?? 4);
    start.forEach((want, at) => {
      const got = values[at];
      if (want === null) assert.ok(Number.isNaN(got), `[${at}] is not NaN`);
      else
        assert.ok(Math.abs(got - want) <= within + 1e-6 * within, `[${at}]: ${got}, not ${want}`);
    });
  });
}

test("an unknown kind of payload is an error", async () => {
  await assert.rejects(
    unpack({ ...told.codec[0].part, kind: "xx" }),
    /unknown kind of payload: xx/,
  );
});

test("no payload is nothing", async () => assert.equal(await unpack(null), null));

for (const kind of ["weight", "score"]) {
  test(`the ${kind} ramp is the one of the still picture`, () => {
    ramp(kind, false).forEach((rgb, code) =>
      rgb.forEach((x, k) =>
        assert.ok(Math.abs(x - told.ramp[kind][code][k]) <= 1, `${kind} ${code}`),
      ),
    );
  });
}

test("weights grow darker on light paper and lighter on dark, step by step", () => {
  const grey = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  for (const dark of [false, true]) {
    const greys = ramp("weight", dark).map(grey);
    for (let k = 8; k < 256; k += 8)
      assert.ok(dark ? greys[k] > greys[k - 8] : greys[k] < greys[k - 8], `${k}`);
  }
});

test("numbers in cells contrast with every colour by 4.5 to 1", () => {
  const linear = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  for (const dark of [false, true]) {
    for (const rgb of [...ramp("weight", dark), ...ramp("score", dark)]) {
      const a = light(rgb) + 0.05,
        b = (inkOn(rgb) === "#fff" ? 1 : 0) + 0.05;
      assert.ok(Math.max(a, b) / Math.min(a, b) >= 4.5, `${rgb}`);
    }
  }
});

test("words keep the colours of the still picture", () =>
  assert.deepEqual(TOKEN_COLOURS, told.colours));

for (const { n, heads, d, ...ways } of told.split) {
  test(`where ${n} words of ${heads} heads by ${d} come from`, () => {
    for (const [how, want] of Object.entries(ways)) {
      want.forEach((rows, h) =>
        rows.forEach((cells, i) =>
          cells.forEach((at, c) =>
            assert.equal(source(how, { n, heads, d }, h, i, c), at, `${how} ${h} ${i} ${c}`),
          ),
        ),
      );
    }
  });
}

test("heads may be as many as divide the features", () => {
  assert.deepEqual(divisors(12), [1, 2, 3, 4, 6, 12]);
  assert.deepEqual(divisors(1), [1]);
});

test("labels cannot break out of a saved SVG", () => {
  const pen = new SvgPen(10, 10, "#fff");
  pen.text(`</text><script>"'&`, 1, 2, { fill: "#000" });
  assert.ok(!String(pen).includes("<script"));
  assert.match(String(pen), /&#60;\/text&#62;&#60;script&#62;&#34;&#39;&#38;/);
});

test("the largest weights come first, ties in order, zeros and NaN never", () => {
  assert.deepEqual(largest([9, 0.2, 0.5, NaN, 0.5, 0], 1, 5, 5), [1, 3, 0]);
});

test("lines are drawn for large numbers of either sign, the largest last", () => {
  const lines = new Lines(["row"], ["a", "b", "c", "d"], "is largest for");
  lines.every = true; // few words: layout would measure them in a page
  const found = lines.pick([0.5, -1.7, 0.01, -0.2], { row: null, col: null });
  assert.deepEqual(found.map(([, j]) => j), [3, 0, 1]);
});
