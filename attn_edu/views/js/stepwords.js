// Attention step by step in words: titles, the line that follows one word, and its table.
import { largest, show } from "./words.js";

const STAGES = ["scores", "scaled", "masked", "weights"];

/** What the scores are divided by, with its name where it has one. */
export function divisor(scale, d) {
  const by = 1 / scale;
  const is = (x) => Math.abs(by / x - 1) < 1e-6;
  const names = [
    [1, " (not scaled)"],
    [Math.sqrt(d), " = √d"],
    [d, " = d"],
  ];
  const name = names.find(([x]) => is(x))?.[1] ?? "";
  return (by >= 1000 ? by.toExponential(1) : show(by)) + name;
}

export const sized = (mask) => mask === "window" || mask === "block";

/** A title and a detail for each of the five panels. */
export function stepTitles({ n, d }, { scale, temperature, mask, size }) {
  const warmth = temperature === 1 ? "" : `, ÷ ${show(temperature)}`;
  return [
    ["1 scores", "query · key"],
    ["2 scaled", `÷ ${divisor(scale, d)}${warmth}`],
    ["3 masked", mask + (sized(mask) ? ` of ${size}` : "")],
    ["4 softmax", n > 20 ? "weights, square-root colour" : "weights"],
    ["5 output", "weights × value"],
  ];
}

/** The way of one pair of words through the steps, or what one word is made of. */
export function stepSentence({ tokens, n }, { row: i, col: j }, now, hidden) {
  if (i === null) return "";
  if (j !== null) {
    const c = i * n + j;
    const end = hidden && hidden[c] ? "masked: weight 0" : `weight ${show(now.weights[c], 4)}`;
    const path = `score ${show(now.scores[c], 3)}, scaled ${show(now.scaled[c], 3)}`;
    return `“${tokens[i]}” → “${tokens[j]}”: ${path}, ${end}`;
  }
  const all = largest(now.weights, i * n, n, n);
  if (!all.length) return `“${tokens[i]}” may look at no word: its output is 0`;
  const terms = all.slice(0, 4).map((k) => `${show(now.weights[i * n + k])} · “${tokens[k]}”`);
  return `“${tokens[i]}” = ${terms.join(" + ")}${all.length > 4 ? " + …" : ""}`;
}

/** One word's row through every step: all of a short sentence, the 16 largest weights of a long. */
export function stepTable({ tokens, n }, { row }, now, hidden) {
  const i = row ?? 0;
  const few = n <= 16;
  const order = few ? tokens.map((_, j) => j) : largest(now.weights, i * n, n, 16);
  const cell = (name, c) => {
    return show(name === "masked" && hidden && hidden[c] ? -Infinity : now[name][c], 4);
  };
  return {
    caption: `The row of “${tokens[i]}”${few ? "" : ", its 16 largest weights"}`,
    head: ["looks at", ...STAGES],
    rows: order.map((j) => [tokens[j], ...STAGES.map((name) => cell(name, i * n + j))]),
  };
}
