// What each kind of layer costs, in closed form: the same as attn_edu/costs, and tested equal to it.
// n length, d width, h heads, e = d / h; then what only some kinds have: w window, k block, r rank,
// m landmarks, f features, g groups, c latent. LONG, CHUNK … are those of the Python code.

const LONG = 128;
const CHUNK = 64;
const BLOCK = 32;
const ALIGNED = 16;
const EDGE = 256;
const min = Math.min;
const max = Math.max;
const ceil = Math.ceil;
const floor = Math.floor;
const squares = (n, tile) => floor(n / tile) * tile ** 2 + (n % tile) ** 2;
const isLong = (n, keys) => keys > LONG || n * keys > LONG ** 2;

function attendHeld({ n, d, h, e, batch }, keys) {
  if (!isLong(n, keys)) return 2 * n * d + 2 * n * keys * h;
  const rows = min(n, n >= 768 ? 256 : n >= 192 ? 64 : 32);
  return n * d + n * h + (rows * (min(keys, 512) + e + 2)) / batch;
}
const squareHeld = ({ n, d, h }) => n * n * h + max(n * n * h, n * d);

function tiledHeld({ n, d, h, apart }) {
  const rows = min(n, 128),
    sums = min(2, ceil(n / 128)) * rows * d + 8 * rows * h;
  return (apart ? 3 * n * d : 0) + n * d + n * h + rows * min(n, 512) * h + sums;
}
const maskedHeld = ({ d, h }, rows, columns, pairs) => 3 * pairs * h + (rows + 2 * columns) * d;
function windowHeld(s) {
  const { n, d, w } = s,
    before = min(w, n) - 1;
  const lead = before + ((ALIGNED - ((BLOCK + before) % ALIGNED)) % ALIGNED);
  const count = max(0, floor((n - lead) / BLOCK)),
    start = count ? lead : min(n, EDGE);
  const rest = n - start - count * BLOCK,
    columns = count * (start + BLOCK),
    pairs = BLOCK * columns;
  const ends = [
    [start, start],
    [rest, min(n, rest + before)],
  ];
  const short = ends.map(([i, j]) => (isLong(i, j) ? 0 : maskedHeld(s, i, j, i * j)));
  const few = pairs <= LONG ** 2 && !isLong(BLOCK, start + BLOCK),
    all = few ? maskedHeld(s, count * BLOCK, columns, pairs) : 0;
  return max(all, n * d + max(n * d, ...short));
}
function blockHeld({ n, d, h, k }) {
  const block = min(n, k),
    pairs = floor(n / block) * block ** 2;
  const copy = n % block ? n * d : 0;
  return 2 * n * d + (pairs <= LONG ** 2 ? 2 * pairs * h + copy : 0);
}
function nystromHeld(s) {
  const { n, d, h, m } = s;
  if (n <= m) return attendHeld(s, n);
  const marks = m * d,
    inverse = m * m * h;
  return max(attendHeld(s, m) + 4 * marks + inverse, 2 * marks + 5 * inverse + 3 * m * m);
}
function causalLinearHeld({ n, d, h, e }) {
  const c = min(n, CHUNK),
    parts = min(ceil(n / CHUNK) - 1, 2);
  const read = d * e + c * d + c * h * c + max(2 * c * d, c * h * c);
  return (parts > 0 ? n * d : 0) + (2 + parts) * c * d + max(read, 3 * d * e);
}
function convolutionHeld({ n, d, w, batch }) {
  const padded = (n + w - 1) * d,
    few = batch === 1 && padded <= 20480;
  return 2 * n * d + padded + w * d * (few ? n : d / batch);
}

const square = ({ n, d }) => 4 * n * n * d;
const kernel = ({ n, h, e }, features) => n * h * features * (4 * e + 2);
function nystrom(s) {
  const { n, d, h, m } = s;
  if (n <= m) return square(s);
  return (n % m ? 12 : 8) * m * n * d + 4 * m * m * d + 50 * m ** 3 * h;
}
function causalLinear(s) {
  const { n, d, e } = s,
    last = n - (ceil(n / CHUNK) - 1) * CHUNK;
  return kernel(s, e) + 4 * squares(n, CHUNK) * d - 2 * last * d * e;
}
function nearPairs({ n, w }) {
  const seen = min(n, w);
  return seen * n - (seen * (seen - 1)) / 2;
}

const one = () => 1;
const never = () => 0;
const atOnce = ({ n }) => min(n - 1, 1);
const throughWindows = ({ n, w }) => (n === 1 ? 0 : ceil((n - 1) / (w - 1))); // w = 1: Infinity
const attending = {
  around: ({ n, d }) => 8 * n * d * d,
  kept: ({ n, d }) => 3 * n * d,
  steps: one,
  path: atOnce,
  merged: () => true,
};
const sharing = {
  ...attending,
  core: square,
  held: (s) => attendHeld(s, s.n),
  merged: ({ n }) => !isLong(n, n),
};
const recurrent = (products, held) => ({
  core: ({ n, d }) => 2 * products * n * d * d,
  around: ({ n, d }) => 2 * products * n * d * d,
  held,
  kept: never,
  steps: ({ n }) => n,
  path: ({ n }) => n - 1,
});

const FORMS = {
  attention: { ...attending, core: square, held: squareHeld },
  causal: { ...attending, core: square, held: (s) => squareHeld(s) + s.n ** 2 / 4 },
  fused: sharing,
  tiled: { ...attending, core: square, held: tiledHeld, steps: ({ n }) => ceil(n / 512) },
  sliding_window: {
    ...attending,
    core: (s) => 4 * nearPairs(s) * s.d,
    held: windowHeld,
    path: throughWindows,
  },
  block: {
    ...attending,
    core: ({ n, d, k }) => 4 * squares(n, k) * d,
    held: blockHeld,
    path: (s) => (s.n <= s.k ? atOnce(s) : Infinity),
  },
  linformer: {
    core: ({ n, d, r }) => 8 * n * r * d,
    held: (s) => (s.projections ? 0 : 2 * s.r * s.d) + attendHeld(s, s.r),
    around: ({ n, d, r }) => 4 * (n + r) * d * d,
    kept: ({ n, d, r }) => (n + 2 * r) * d,
    steps: one,
    path: atOnce,
    merged: ({ n, r }) => !isLong(n, r),
  },
  nystrom: {
    ...attending,
    core: nystrom,
    held: nystromHeld,
    merged: ({ n, m }) => !isLong(n, min(n, m)),
  },
  linear: {
    ...attending,
    core: (s) => kernel(s, s.e),
    held: ({ n, d, h, e }) => 3 * n * d + d * e + n * h,
  },
  causal_linear: {
    ...attending,
    core: causalLinear,
    held: causalLinearHeld,
    steps: ({ n }) => ceil(n / CHUNK),
  },
  performer: {
    ...attending,
    core: (s) => kernel(s, s.f) + 4 * s.n * s.d * s.f,
    held: ({ n, d, h, f }) => max(n * d + 3 * n * h * f, 2 * n * d + n * h * f) + d * f,
  },
  multi_query: {
    ...sharing,
    around: ({ n, d, e }) => 4 * n * d * (d + e),
    kept: ({ n, d, e }) => n * (d + 2 * e),
  },
  grouped_query: {
    ...sharing,
    held: (s) => (s.apart && s.g > 1 ? 3 * s.n * s.d : 0) + attendHeld(s, s.n),
    around: ({ n, d, e, g }) => 4 * n * d * (d + g * e),
    kept: ({ n, d, e, g }) => n * (d + 2 * g * e),
  },
  latent: {
    ...sharing,
    held: (s) => s.n * s.d + attendHeld(s, s.n),
    around: ({ n, d, c }) => 4 * n * d * d + 6 * n * d * c,
    kept: ({ n, d, c }) => n * (2 * d + c),
  },
  rnn: recurrent(1, ({ n, d }) => 3 * n * d),
  gru: recurrent(3, ({ n, d }) => 5 * n * d),
  lstm: recurrent(
    4,
    ({ n, d, batch }) => (batch === 1 ? 9.1 : 6.05) * n * d + (8.2 * d * d + 5000) / batch,
  ),
  cnn: {
    core: ({ n, d, w }) => 2 * n * w * d * d,
    held: convolutionHeld,
    around: never,
    kept: never,
    steps: one,
    path: throughWindows,
  },
};

/** `{flops, bytes, sequential_steps, path_length}` of one forward pass; `sizes` as `costs.cost` names them. */
export function cost(kind, sizes) {
  const { n, d_model: d, n_heads: h = 1, batch = 1, projections = true } = sizes,
    apart = projections && batch > 1 && h > 1,
    { window: w, block: k, rank, landmarks: m, features: f, groups: g, latent: c } = sizes;
  const s = { n, d, h, e: d / h, batch, projections, apart, w, k, r: min(rank, n), m, f, g, c };
  const form = FORMS[kind],
    kept = projections ? form.kept(s) : 0;
  let held = form.held(s);
  if (kept) held = kept + max(held, (form.merged(s) && h > 1 ? 3 : 2) * n * d);
  return {
    flops: batch * (form.core(s) + (projections ? form.around(s) : 0)),
    bytes: 4 * batch * held,
    sequential_steps: form.steps(s),
    path_length: form.path(s),
  };
}
