// Masks and reach in words: what stands under the pictures, and the table.

const within = (first, start, end, depth) => {
  let found = 0;
  for (let c = start; c < end; c++) found += first[c] > 0 && first[c] <= depth;
  return found;
};
const ofRow = (first, n, i, depth) => within(first, i * n, (i + 1) * n, depth);
/** Whole per cent, halves upwards, as in Python. */
const percent = (part, whole) => `${Math.floor((200 * part + whole) / (2 * whole))} %`;

/** How many pairs one kind reaches. */
export function reachFound({ first }, { n }, depth) {
  const pairs = within(first, 0, n * n, depth);
  return `${pairs} of ${n * n} pairs, ${percent(pairs, n * n)}`;
}

/** The pair under the pointer, or else how many words the followed one reaches. */
export function reachSentence({ tokens, n }, panels, { depth, word, over }) {
  const { i, j } = over?.at ?? { i: -1, j: -1 };
  const layers = (t) => `${t} layer${t > 1 ? "s" : ""}`;
  if (i >= 0 && j >= 0) {
    const { name, first } = panels[over.k],
      t = first[i * n + j];
    const how = t ? `needs ${layers(t)}` : "is never reached";
    return `${name}: “${tokens[i]}” → “${tokens[j]}” ${how}`;
  }
  const each = panels.map(({ name, first }) => `${ofRow(first, n, word, depth)} with ${name}`);
  return `After ${layers(depth)}, “${tokens[word]}” reaches, of ${n} words: ${each.join("; ")}`;
}

/** Pairs reached, a row a kind and a column a depth; the last column is the followed word's. */
export function reachTable({ tokens, n, layers }, panels, { depth, word }) {
  const depths = Array.from({ length: layers }, (_, t) => t + 1);
  const pairs = (first, t) => {
    const found = within(first, 0, n * n, t);
    return `${found} (${percent(found, n * n)})`;
  };
  const last = `“${tokens[word]}”, depth ${depth}`;
  return {
    caption: `Pairs reached, of ${n * n}, and words that one word reaches`,
    head: ["mask", ...depths.map((t) => `${t} layer${t > 1 ? "s" : ""}`), last],
    rows: panels.map(({ name, first }) => [
      name,
      ...depths.map((t) => pairs(first, t)),
      `${ofRow(first, n, word, depth)} words`,
    ]),
  };
}
