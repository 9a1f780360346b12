// What the bill says in words and numbers.
import { short } from "./loglog.js";

export const WHAT = {
  flops: ["FLOPs", ""],
  bytes: ["peak memory", "B"],
  sequential_steps: ["steps in a row", ""],
  path_length: ["longest path", ""],
};
export const whole = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");

/** One number of the bill as text. */
export function price(of, value) {
  if (of === "sequential_steps" || of === "path_length")
    return value === Infinity ? "never" : whole(value);
  return short(value, WHAT[of][1]);
}

/** The last length up to which the one cheaper for short sequences is no dearer; null if it stays so. */
export function crossing(difference, longest = 2 ** 24) {
  const far = Math.sign(difference(longest));
  if (!(far > 0 || far < 0)) return null;
  let low = 0,
    high = longest;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (far * difference(middle) > 0) high = middle;
    else low = middle;
  }
  return low || null;
}

/** Two kinds in a sentence: which is cheaper where. */
export function verdict(of, [a, b], n, difference) {
  const what = WHAT[of][0];
  if (of === "path_length") return "";
  if (n === null) {
    const sign = Math.sign(difference(4096));
    if (!sign) return `${a} and ${b} cost the same in ${what}.`;
    const [less, more] = sign < 0 ? [a, b] : [b, a];
    return `${less} costs less in ${what} than ${more}, at every length.`;
  }
  const [first, then] = difference(2 * n + 1) > 0 ? [a, b] : [b, a];
  return `Up to n = ${whole(n)} ${first} costs no more in ${what} than ${then}; beyond, it costs more.`;
}
