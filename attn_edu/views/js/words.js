// Numbers as words, and which of them are worth a word.

/** A number for a reader: a true minus, no minus before zero. */
export const show = (x, digits = 2) => {
  if (Number.isNaN(x)) return "NaN";
  if (x === -Infinity) return "−∞";
  const text = x.toFixed(digits);
  return +text ? text.replace("-", "−") : text.replace("-", "");
};

/** Positions of the `k` largest of `count` numbers from `start`, largest first. */
export function largest(values, start, count, k) {
  const order = Array.from({ length: count }, (_, j) => j).filter((j) => values[start + j] > 0);
  return order.sort((a, b) => values[start + b] - values[start + a]).slice(0, k);
}
