// The page's closed forms against those of attn_edu/costs, on what make_cost_fixtures.py writes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cost } from "../../attn_edu/views/js/costs.js";

const told = JSON.parse(readFileSync(new URL("cost_fixtures.json", import.meta.url)));

for (const { kind, sizes, costs } of told.cases) {
  test(`${kind} costs in the page what it costs in Python: ${JSON.stringify(sizes)}`, () => {
    told.lengths.forEach((n, at) => {
      const got = cost(kind, { n, ...sizes }),
        want = costs[at];
      assert.equal(got.flops, want.flops, `flops at n = ${n}`);
      assert.ok(Math.abs(got.bytes - want.bytes) <= 0.5, `bytes at n = ${n}: ${got.bytes}`);
      assert.equal(got.sequential_steps, want.sequential_steps);
      assert.equal(got.path_length, want.path_length ?? Infinity);
    });
  });
}
