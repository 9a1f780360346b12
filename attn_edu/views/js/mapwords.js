// The attention map in words: what the line under it says, and its table.
import { largest, show } from "./words.js";

export function headName({ layers, heads }, { layer, head }) {
  const names = [layers > 1 && `layer ${layer}`, heads > 1 && `head ${head}`];
  return names.filter(Boolean).join(", ") || "weights";
}

/** What is under the pointer (`at`), or else what is said of the chosen words; `digits` are sure. */
export function mapSentence(
  { tokens: { query, key }, n, m, says: [, looks, looked, masked] },
  { at, row, col },
  flat,
  hidden,
  digits,
) {
  const number = (v) => (digits > 2 ? show(v, digits) : `about ${show(v)}`);
  const best = (values, words) => {
    const named = largest(values, 0, words.length, 3).map(
      (k) => `“${words[k]}” ${number(values[k])}`,
    );
    return named.join(", ") || "no word";
  };
  const i = (at ? at.i : row) ?? -1;
  const j = (at ? at.j : col) ?? -1;
  const c = i * m + j;
  if (i >= 0 && j >= 0) {
    return `“${query[i]}” → “${key[j]}”: ${hidden && hidden[c] ? masked : number(flat[c])}`;
  }
  if (i >= 0) return `“${query[i]}” ${looks} ${best(flat.slice(i * m, (i + 1) * m), key)}`;
  if (j < 0) return "";
  const column = query.map((_, k) => flat[k * m + j]);
  return `“${key[j]}” ${looked} ${best(column, query)}`;
}

/** Every weight of a small map; of a large one the three largest of each word. */
export function mapTable({ tokens: { query, key }, n, m }, flat, name) {
  const few = n <= 16 && m <= 16;
  const cell = (i, j) => show(flat[i * m + j], 3);
  const three = (i) => largest(flat, i * m, m, 3).map((j) => `${key[j]} ${cell(i, j)}`);
  return {
    caption: name + (few ? "" : ": the three largest weights of each word"),
    head: ["word", ...(few ? key : ["1st", "2nd", "3rd"])],
    rows: query.map((word, i) => [word, ...(few ? key.map((_, j) => cell(i, j)) : three(i))]),
  };
}
