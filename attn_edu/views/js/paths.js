// How far a word reaches through layers of masks, and the lines that show by which words.

const MOST = 64; // words; the lines among more of them are too many to draw
const CROWD = 70; // lines from one layer to the next; more of them are drawn paler
const ROW = 9; // the height, in pixels, of a row of words
const NAMED = 56; // the room, in pixels, that "layer 1" takes

/** Whether `mask`, the one of all layers or those one after the other, lets i see j in a layer. */
const looker = (masks, n) => {
  const last = masks.length / (n * n);
  return (t, i, j) => masks[(Math.min(t, last) - 1) * n * n + i * n + j];
};

/**
 * After how many layers each word reaches each word, 0 = never: a product of boolean matrices a
 * layer, with the bits of a row in whole numbers. A word keeps what it has.
 */
export function firstLayers(masks, n, layers) {
  const wide = Math.ceil(n / 32),
    sees = looker(masks, n),
    first = new Uint8Array(n * n);
  let reached = new Uint32Array(n * wide);
  for (let i = 0; i < n; i++) reached[i * wide + (i >> 5)] |= 1 << (i & 31);
  for (let t = 1; t <= layers; t++) {
    const next = reached.slice();
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < n; k++) {
        if (!sees(t, i, k)) continue;
        for (let w = 0; w < wide; w++) next[i * wide + w] |= reached[k * wide + w];
      }
      for (let j = 0; j < n; j++) {
        if (!first[i * n + j] && (next[i * wide + (j >> 5)] >>> (j & 31)) & 1) first[i * n + j] = t;
      }
    }
    reached = next;
  }
  return first;
}

/** Words at the bottom, a row a layer above them, and lines from the followed word downwards. */
export function drawPaths(pen, ink, { heat, masks }, { n, layers }, { depth, word }, rise) {
  const { left, cw, bare } = heat,
    sees = looker(masks, n),
    bottom = (layers + 0.5) * rise;
  const x = (j) => left + (j + 0.5) * cw,
    quiet = { size: 11, fill: ink.quiet, align: "right" };
  let level = new Set([word]);
  for (let t = depth; t >= 0; t--) {
    const y = bottom - t * rise,
      below = new Set(level);
    if (bare || left < NAMED) pen.text(t || "", left - 4, y, quiet);
    else pen.text(t ? `layer ${t}` : "words", left - 10, y, quiet);
    const lines = [];
    for (const i of t ? level : []) {
      for (let j = 0; j < n; j++) {
        if (j !== i && !sees(t, i, j)) continue;
        below.add(j);
        lines.push([x(i), y, x(j), y + rise]);
      }
    }
    const alpha = lines.length > CROWD ? 0.35 : 0.8;
    if (n <= MOST)
      for (const line of lines) pen.curve(...line, { stroke: ink.quiet, width: 1, alpha, bend: 0 });
    const size = Math.min(rise - 2, ROW);
    for (let j = 0, from = 0; j < n; j++) {
      const has = level.has(j),
        fill = has ? ink.ink : ink.line;
      if (cw >= ROW) pen.dot(x(j), y, size / 2, fill);
      else if (j === n - 1 || level.has(j + 1) !== has) {
        pen.rect(x(from - 0.5), y - size / 2, (j + 1 - from) * cw, size, { fill });
        from = j + 1;
      }
    }
    level = below;
  }
}
