// The arithmetic of attention, in float64. Matrices are flat arrays, row after row.

/** query (n, d) times key (m, d) transposed: (n, m). */
export function dotProducts(query, key, n, m, d) {
  const out = new Float64Array(n * m);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      let sum = 0;
      for (let c = 0; c < d; c++) sum += query[i * d + c] * key[j * d + c];
      out[i * m + j] = sum;
    }
  }
  return out;
}

/** Softmax of each row over the cells that `mask` allows (1 = may attend); an empty row gives 0. */
export function softmaxRows(scores, n, m, mask) {
  const out = new Float64Array(n * m);
  for (let i = 0; i < n; i++) {
    const start = i * m;
    let top = -Infinity,
      sum = 0;
    for (let j = start; j < start + m; j++) {
      if ((!mask || mask[j]) && scores[j] > top) top = scores[j];
    }
    for (let j = start; j < start + m; j++) {
      if (!mask || mask[j]) sum += out[j] = Math.exp(scores[j] - top);
    }
    if (sum !== 0) for (let j = start; j < start + m; j++) out[j] /= sum;
  }
  return out;
}

/** weights (n, m) times value (m, d): (n, d). A cell of weight 0 takes nothing. */
export function weightedSum(weights, value, n, m, d) {
  const out = new Float64Array(n * d);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      const w = weights[i * m + j];
      if (w !== 0) for (let c = 0; c < d; c++) out[i * d + c] += w * value[j * d + c];
    }
  }
  return out;
}

/** The masks of `attn_edu.attention` by name, for n words: 1 = may attend; null = no mask. */
export function namedMask(name, n, size, given) {
  const rules = {
    causal: (i, j) => j <= i,
    window: (i, j) => j <= i && i - j < size,
    block: (i, j) => Math.floor(i / size) === Math.floor(j / size),
  };
  if (name === "given") return given;
  if (!rules[name]) return null;
  return Uint8Array.from({ length: n * n }, (_, c) => rules[name](Math.floor(c / n), c % n));
}

/** Every stage of one head: scores, scaled, weights, output. `scores` may be handed in again. */
export function stages({ query, key, value, n, d, dv }, { scale, temperature, mask }, scores) {
  const raw = scores ?? dotProducts(query, key, n, n, d),
    factor = scale / temperature;
  const scaled = new Float64Array(n * n);
  for (let c = 0; c < n * n; c++) scaled[c] = raw[c] * factor;
  const weights = softmaxRows(scaled, n, n, mask);
  return { scores: raw, scaled, weights, output: weightedSum(weights, value, n, n, dv) };
}

/** Rows as if their scores had been divided by a temperature: w^(1/t), made to sum to what they did. */
export function temper(weights, n, m, temperature) {
  if (temperature === 1) return weights;
  const out = new Float64Array(n * m);
  for (let i = 0; i < n; i++) {
    let top = 0,
      before = 0,
      after = 0;
    for (let c = i * m; c < (i + 1) * m; c++) {
      before += weights[c];
      top = Math.max(top, weights[c]);
    }
    for (let c = i * m; c < (i + 1) * m; c++) {
      after += out[c] = weights[c] > 0 ? (weights[c] / top) ** (1 / temperature) : 0;
    }
    if (after > 0) for (let c = i * m; c < (i + 1) * m; c++) out[c] *= before / after;
  }
  return out;
}
