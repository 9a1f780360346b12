// The bill: what each kind of layer costs against length, for sizes that the reader moves.
import { WHAT, crossing, price, verdict, whole } from "./billwords.js";
import { KEYS, board, clamp, exporters, listen, make, menu, shell, slider, steer } from "./controls.js";
import { cost } from "./costs.js";
import { LogLog, short } from "./loglog.js";
import { CanvasPen } from "./pen.js";

const LENGTHS = Array.from({ length: 12 }, (_, k) => 2 ** (k + 6)); // 64 to 131,072
const SLIDERS = [
  ["n", "Length n", 6, 17],
  ["d_model", "Width d", 5, 12],
  ["n_heads", "Heads", 0, 6],
  ["window", "Window, block", 2, 11],
  ["rank", "Rank, landmarks", 2, 10],
  ["features", "Features", 2, 10],
  ["batch", "Batch", 0, 7],
];
const TIED = { window: "block", rank: "landmarks" }; // two sizes that one slider moves, by the same factor
const TIP =
  "Choose the lines in the table. Click the picture, or use the arrow keys: left and right change the length, up and down choose a line.";
const LOOK = `
.stage > div { overflow-x: auto; max-width: 100%; }
table.bill { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }
.bill caption { text-align: left; color: var(--quiet); padding-bottom: 4px; }
.bill td, .bill th { text-align: right; padding: 0 7px; line-height: 24px; font-weight: 400; white-space: nowrap; color: var(--ink); }
.bill thead th { color: var(--quiet); border-bottom: 1px solid var(--line); }
.bill th:first-child { text-align: left; padding-left: 0; }
.bill tr.over { box-shadow: inset 0 0 0 2px var(--focus); }
.bill label { color: var(--ink); gap: 5px; max-width: none; width: max-content; }
.bill input { margin: 0; accent-color: var(--focus); min-width: 16px; min-height: 16px; }
`;

export async function mountBill(host, first, hooks = {}) {
  let data, boxes, rows, chart, canvas;
  const state = { shown: new Set(), over: null };
  const self = shell(host, () => render());
  host.dataset.lmSuppressShortcuts = "true";
  const stays = (name, value, done) => hooks.changed?.(name, value, done);

  // ---- numbers -----------------------------------------------------------------------------------
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  function sizes(n) {
    const { d_model, n_heads, groups } = state,
      heads = gcd(d_model, n_heads); // as many heads as divide the width
    return { ...state, n, n_heads: heads, groups: gcd(heads, groups) };
  }
  const costOf = (kind, n) => cost(kind, sizes(n));
  const value = (kind, n) => costOf(kind, n)[state.of];
  const difference = (n) => value(state.pair[0], n) - value(state.pair[1], n);
  const label = (kind) => data.kinds.find((k) => k.kind === kind).label;
  const meet = () => (state.of === "path_length" ? null : crossing(difference));
  const drawn = () => data.kinds.filter(({ kind }) => state.shown.has(kind));
  /** The reader's points on this picture: bytes as they are, seconds as flops at the machine's rate. */
  function points(kind) {
    const { measured, rate } = data;
    const worth = { bytes: (p) => p.bytes, flops: (p) => rate && p.seconds * rate }[state.of];
    const found = worth ? measured.filter((p) => p.kind === kind) : [];
    return found.map((p) => [p.n, worth(p)]).filter(([, y]) => y > 0);
  }
  /** What a slider changes: its size, and the one tied to it, which keeps the ratio of the start. */
  function resized(name, size) {
    const other = TIED[name],
      ratio = data.at[other] / data.at[name];
    return other ? { [name]: size, [other]: Math.max(1, Math.round(size * ratio)) } : { [name]: size };
  }
  const same = () => Object.entries(data.at).every(([name, size]) => state[name] === size);

  // ---- drawing -----------------------------------------------------------------------------------
  function scale() {
    const all = drawn().flatMap(({ kind }) => [
      ...LENGTHS.map((n) => value(kind, n)),
      ...points(kind).map(([, y]) => y),
    ]);
    const real = all.filter((y) => y > 0 && y < Infinity);
    const [low, high] = [Math.min(...real, Infinity), Math.max(...real, 0)];
    chart.y = low < high ? [low / 1.6, high * 1.6] : [0.5, 1e4];
  }
  function draw(pen) {
    const { ink } = self,
      { of } = state,
      [name, unit] = WHAT[of],
      seconds = of === "flops" && data.rate;
    const every = self.width < 560 ? 4 : 2;
    chart.axes(pen, ink, {
      ticks: LENGTHS.map((n, k) => [n, k % every ? "" : whole(n)]),
      xName: "length n",
      yName: !seconds ? name : self.width < 560 ? "FLOPs; right: seconds" : "FLOPs; on the right, seconds at this machine's rate",
      unit,
    });
    const guide = { stroke: ink.quiet, width: 1 },
      x = chart.px(state.n);
    chart.stroke(pen, [[x, chart.top], [x, chart.bottom]], guide, "dot");
    pen.text(`n = ${whole(state.n)}`, x, chart.top - 8, { size: 11.5, fill: ink.ink, align: "center" });
    const ends = [];
    for (const { kind, label, colour, dash } of drawn()) {
      const line = LENGTHS.map((n) => [n, value(kind, n)]).filter(([, y]) => y > 0 && y < Infinity);
      const at = line.map(([n, y]) => [chart.px(n), chart.py(y)]);
      const over = state.over === kind;
      chart.stroke(pen, at, { stroke: colour, width: over ? 4 : 2.2 }, dash);
      for (const [n, y] of points(kind)) {
        const [px, py] = [chart.px(n), chart.py(y)];
        pen.rect(px - 4.5, py - 4.5, 9, 9, { fill: over ? colour : ink.paper, stroke: colour, width: 2, alpha: same() ? 1 : 0.4 });
      }
      if (at.length) ends.push({ name: label, y: at.at(-1)[1], colour, bold: over });
    }
    if (seconds) chart.seconds(pen, ink, seconds);
    chart.names(pen, ink, ends);
    const n = meet();
    if (n === null || n < chart.x[0] || n > chart.x[1]) return;
    const [px, py] = [chart.px(n), chart.py(value(state.pair[0], n))];
    pen.dot(px, py, 7, ink.focus);
    pen.dot(px, py, 4, ink.paper);
    const right = px > (chart.left + chart.right) / 2;
    const place = [px + (right ? -11 : 11), py + 16];
    pen.text(`crossover ${whole(n)}`, ...place, { size: 12, fill: ink.focus, bold: true, align: right ? "right" : "left" });
  }
  function fill() {
    for (const { kind, row, box, cells } of rows) {
      const found = costOf(kind, state.n),
        mine = data.measured.find((p) => p.kind === kind && p.n === state.n);
      box.checked = state.shown.has(kind);
      row.className = state.over === kind ? "over" : "";
      Object.keys(WHAT).forEach((of, k) => (cells[k].textContent = price(of, found[of])));
      if (data.measured.length)
        cells[4].textContent = mine && same() ? `${short(mine.seconds, "s")}` : "–";
    }
  }
  function sentence() {
    const { of, n, over, pair } = state;
    const one = over ? `${label(over)}, n = ${whole(n)}: ${price(of, value(over, n))} ${WHAT[of][0]}. ` : "";
    return one + verdict(of, pair.map(label), meet(), difference);
  }
  function update() {
    for (const name in boxes) boxes[name].set(state[name]);
    boxes.a.set(state.pair[0]);
    boxes.b.set(state.pair[1]);
    fill();
    scale();
    draw(new CanvasPen(canvas, chart.width, chart.height, self.ink.paper));
    self.tell(sentence());
    const words = data.measured.length
      ? ` Squares are measured${same() ? "" : ", at the sizes that the picture began with"}.`
      : "";
    self.tip.firstChild.textContent = TIP + words;
  }
  function render() {
    if (!data) return;
    fill();
    const table = rows[0].row.closest("table"),
      beside = self.width - table.offsetWidth - 24;
    const width = Math.min(beside >= 420 ? beside : self.width, 860),
      height = clamp(width * (beside < 420 ? 0.46 : 0.75), 461, 290);
    chart = new LogLog(width, height, [LENGTHS[0], LENGTHS.at(-1)], [1, 10]);
    update();
  }
  const go = (change) => {
    Object.assign(state, change);
    update();
  };

  // ---- data comes in, and controls for it --------------------------------------------------------
  function makeRow({ kind, label: name, colour, dash }) {
    const box = make("input", { type: "checkbox", "aria-label": `Draw ${name}` });
    listen(box, "change", () => {
      state.shown[box.checked ? "add" : "delete"](kind);
      go({ over: box.checked ? kind : null });
    });
    const key = make("canvas", { "aria-hidden": "true" }),
      pen = new CanvasPen(key, 30, 12, "#0000"); // on any paper
    LogLog.prototype.stroke(pen, [[1, 6], [29, 6]], { stroke: colour, width: 2.5 }, dash);
    const head = make("th", { scope: "row" }, make("label", {}, box, key, name));
    const cells = Array.from({ length: data.measured.length ? 5 : 4 }, () => make("td"));
    const row = make("tr", {}, head, ...cells);
    listen(row, "pointerenter", () => go({ over: kind }));
    listen(row, "pointerleave", () => go({ over: null }));
    return { kind, row, box, cells };
  }
  function makeTable() {
    const heads = ["draw", ...Object.values(WHAT).map(([name]) => name)];
    if (data.measured.length) heads.push("measured");
    const cells = heads.map((textContent) => make("th", { textContent, scope: "col" }));
    return make(
      "table",
      { className: "bill" },
      make("caption", { textContent: "One forward pass, at the sizes above" }),
      make("thead", {}, make("tr", {}, ...cells)),
      make("tbody", {}, ...rows.map(({ row }) => row)),
    );
  }
  function control() {
    const move = (name) => (size, done) => {
      go(resized(name, size));
      stays(name, size, done);
    };
    boxes = {
      of: menu("Count", Object.entries(WHAT).map(([of, [name]]) => [of, name]), (of) => {
        go({ of });
        stays("of", of, true);
      }),
    };
    for (const [name, text, min, max] of SLIDERS) {
      const range = { min, max, step: 1, value: state[name] };
      const words = () => {
        const [one, other] = [name === "n_heads" ? sizes(1).n_heads : state[name], state[TIED[name]] ?? state[name]];
        return TIED[name] && one !== other ? `${whole(one)}, ${whole(other)}` : whole(one);
      };
      const box = slider(text, { ...range, from: (v) => Math.round(Math.log2(v)), to: (k) => 2 ** k, words }, move(name));
      boxes[name] = box;
    }
    const kinds = data.kinds.map(({ kind, label: name }) => [kind, name]);
    const pick = (at) => (kind) => {
      state.shown.add(kind);
      go({ pair: state.pair.map((old, i) => (i === at ? kind : old)) });
    };
    const whether = make("input", { type: "checkbox" });
    listen(whether, "change", () => {
      go({ projections: whether.checked });
      stays("projections", whether.checked, true);
    });
    boxes.projections = {
      node: make("label", {}, whether, "with projections"),
      set: (on) => (whether.checked = on),
    };
    boxes.a = menu("Compare", kinds, pick(0));
    boxes.b = menu("with", kinds, pick(1));
    self.bar.replaceChildren(...Object.values(boxes).map((box) => box.node));
    const saves = exporters(self, "the-bill", () => [chart.width, chart.height], draw);
    self.tip.replaceChildren(TIP, saves);
  }
  async function load(next) {
    data = next;
    const { sizes: start, of, n, pair, shown, over = null } = next;
    Object.assign(state, { ...start, of, n, pair, over, shown: new Set(shown) });
    data.at = { ...start };
    rows = data.kinds.map(makeRow);
    control();
    canvas = board("", {
      hover: (p) => p && near(p),
      click: (p) => chosen(p),
    });
    canvas.setAttribute("aria-label", "Cost against length, both logarithmic; the numbers are in the table");
    self.stage.replaceChildren(canvas, make("div", { tabIndex: -1 }, makeTable()));
    render();
  }
  const nearest = (x) => LENGTHS.reduce((a, b) => (Math.abs(chart.px(b) - x) < Math.abs(chart.px(a) - x) ? b : a));
  function near([x, y]) {
    const n = nearest(x),
      far = ({ kind }) => Math.abs(chart.py(value(kind, n)) - y) || 0;
    const best = drawn().sort((a, b) => far(a) - far(b))[0];
    const over = best && far(best) < 14 ? best.kind : null;
    if (over !== state.over) go({ over });
  }
  function chosen([x]) {
    const n = nearest(x);
    go({ n });
    stays("n", n, true);
  }
  steer(self.stage, "The bill. Left and right change the length, up and down choose a line.", (e) => {
    if (e.target.type === "checkbox") return false;
    const [di, dj] = KEYS[e.key] ?? [0, 0],
      kinds = drawn().map(({ kind }) => kind);
    if (e.key === "Escape") go({ over: null });
    else if (dj) chosen([chart.px(LENGTHS[clamp(LENGTHS.indexOf(nearest(chart.px(state.n))) + dj, 12)])]);
    else if (di && kinds.length) go({ over: kinds[clamp(kinds.indexOf(state.over) + di, kinds.length)] });
    else return false;
    return true;
  });
  self.view.prepend(make("style", { textContent: LOOK }));
  await load(first);
  return {
    load,
    close: self.close,
    set: (name, size) => go(resized(name, size)),
  };
}
