// Attention step by step: scores, scaled, masked, softmax, times value; recomputed here at every move.
import { unpack } from "./codec.js";
import { KEYS, board, clamp, exporters, make, menu, shell, slider } from "./controls.js";
import { Heat, show } from "./heat.js";
import { NumberedHeat } from "./numbered.js";
import { dotProducts, namedMask, stages } from "./math.js";
import { ramp } from "./palette.js";
import { CanvasPen, textWidth } from "./pen.js";
import { largest, numbers } from "./table.js";

const NAMES = ["scores", "scaled", "masked", "weights", "output"];
const MASKS = [["none", "none"], ["causal", "causal"], ["window", "window"], ["block", "blocks"]];

export async function mountSteps(host, first, hooks = {}) {
  let data, q, k, v, given, raw, now, panels, reach, mask, turn = 0;
  const state = { temperature: 1, scale: 1, mask: "none", size: 2, row: 0, col: null };
  const tell = (name, value, done = true) => hooks.changed?.(name, value, done);
  const self = shell(host, () => render());

  // ---- the divisor: its slider moves along d^a, so that 1, √d and d are 0, 1/2 and 1 -------------
  const base = () => Math.max(2, data.d), exponent = (scale) => -Math.log(scale) / Math.log(base());
  const scaleOf = (a) => (a === 0.5 ? 1 / Math.sqrt(data.d) : a === 0 ? 1 : base() ** -a);
  const root = () => Math.sqrt(data.d);
  const divisor = () => {
    const by = 1 / state.scale, near = (x) => Math.abs(by / x - 1) < 1e-6;
    return `${by >= 1000 ? by.toExponential(1) : show(by)}${near(1) ? " (not scaled)" : near(root()) ? " = √d" : near(data.d) ? " = d" : ""}`;
  };
  const tellTemperature = () => show(state.temperature);

  const go = (change) => { Object.assign(state, change); update(); };
  const select = (row, col) => { go({ row, col }); tell("selection", row === null ? null : [row, col]); };
  let warmth, scaling, maskBox, sizeBox, sizeLabel;

  const headings = () => [
    ["1 scores", "query · key"],
    ["2 scaled", `÷ ${divisor()}${state.temperature === 1 ? "" : `, ÷ ${tellTemperature()}`}`],
    ["3 masked", `${state.mask}${sizeLabel.hidden ? "" : ` of ${state.size}`}`],
    ["4 softmax", data.n > 20 ? "weights, square-root colour" : "weights"],
    ["5 output", "weights × value"],
  ];
  const sentence = () => {
    const { row: i, col: j } = state, words = data.tokens;
    if (i === null) return "";
    if (j !== null) {
      const c = i * data.n + j, path = `“${words[i]}” → “${words[j]}”: score ${show(now.scores[c], 3)}, scaled ${show(now.scaled[c], 3)}`;
      return mask.hidden && mask.hidden[c] ? `${path}, masked: weight 0` : `${path}, weight ${show(now.weights[c], 4)}`;
    }
    const most = largest(now.weights, i * data.n, data.n, 4);
    return most.length ? `“${words[i]}” = ${most.map((j) => `${show(now.weights[i * data.n + j])} · “${words[j]}”`).join(" + ")}${most.length < 4 || data.n === 4 ? "" : " + …"}`
      : `“${words[i]}” may look at no word: its output is 0`;
  };
  const cellOf = (name, c) => (name === "masked" && mask.hidden && mask.hidden[c] ? -Infinity : now[name][c]);
  const table = numbers(() => {
    const i = state.row ?? 0, order = data.n <= 16 ? data.tokens.map((_, j) => j) : largest(now.weights, i * data.n, data.n, 16);
    return { caption: `The row of “${data.tokens[i]}”${data.n <= 16 ? "" : ", its 16 largest weights"}`, head: ["looks at", ...NAMES.slice(0, 4)],
      rows: order.map((j) => [data.tokens[j], ...NAMES.slice(0, 4).map((name) => show(cellOf(name, i * data.n + j), 4))]) };
  });

  // ---- drawing ---------------------------------------------------------------------------------
  const shades = (name) => {
    if (name !== "weights") return { colours: ramp("score", self.dark), zero: 128, gain: 127 / reach[name] };
    return { colours: ramp("weight", self.dark), gain: 255, root: data.n > 20 };
  };
  const drawPanel = (pen, p, [name, detail]) => {
    pen.text(name, 4, 11, { size: 13, fill: self.ink.ink, bold: true });
    pen.text(detail, 12 + textWidth(name, 13) * 1.06, 11, { size: 12.5, fill: self.ink.quiet });
    p.heat.draw(pen, self.ink, {
    row: state.row, at: state.row !== null && state.col !== null && p.name !== "output" ? { i: state.row, j: state.col } : null });
  };
  const compute = () => stages({ query: q, key: k, value: v, n: data.n, d: data.d, dv: data.dv }, { ...state, mask: mask.may }, raw);
  function remask() {
    const kind = `${state.mask} ${state.size}`;
    if (mask.kind !== kind) {
      const may = namedMask(state.mask, data.n, state.size, given);
      mask = { kind, may, hidden: may && may.map((x) => 1 - x) };
    }
  }
  function update() {
    remask();
    const { hidden } = mask;
    now = compute();
    now.masked = now.scaled;
    sizeLabel.hidden = state.mask !== "window" && state.mask !== "block";
    const titles = headings();
    panels.forEach((p, at) => {
      const values = now[p.name];
      if (p.heat.values !== values || p.dark !== self.dark) {
        p.heat.paint(values, shades(p.name), self.ink, p.name === "masked" || p.name === "weights" ? hidden : null);
        p.dark = self.dark;
      }
      drawPanel(new CanvasPen(p.board, p.heat.width, p.heat.height, self.ink.paper), p, titles[at]);
    });
    self.say.textContent = sentence();
    table.refresh();
  }
  function render() {
    if (!data) return;
    // as many panels side by side as leave room for their numbers; where none do, pixels
    const square = panels[0].heat, share = (k) => Math.floor((self.width - 18 * (k - 1)) / k) - 1;
    let k = square.drawNumbers ? [5, 4, 3, 2, 1].find((c) => square.cellFor(share(c), 38) >= 31) : 0;
    k ||= [3, 2, 1].find((c) => square.cellFor(share(c), 38) >= (data.n > 40 ? 230 / data.n : 13)) ?? 1;
    const cw = square.cellFor(share(k), 38), ch = cw >= 30 ? 26 : cw;
    for (const p of panels) {
      p.heat.layout(p.name === "output" ? p.heat.cellFor(share(k), cw >= 30 ? cw : 24) : cw, ch, 24, square.slope);
      p.heat.width = Math.max(p.heat.width, Math.min(self.width, 230));
      p.board.setAttribute("aria-label", `${p.name}: ${data.n} by ${p.heat.m}`);
    }
    update();
  }

  async function load(next) {
    const mine = ++turn, parts = await Promise.all([next.query, next.key, next.value, next.given].map(unpack));
    if (mine !== turn) return;
    [q, k, v, given] = parts.map((p) => p && p.values);
    data = next;
    Object.assign(state, { temperature: next.temperature, scale: next.scale, mask: next.mask, size: next.size,
      row: next.selection ? next.selection[0] : null, col: next.selection?.[1] ?? null });
    mask = { kind: null };
    remask();
    raw = dotProducts(q, k, data.n, data.n, data.d);
    const far = (xs) => xs.reduce((a, x) => Math.max(a, Math.abs(x)), 0) || 1;
    reach = { scores: far(raw), scaled: far(raw) / root(), masked: far(raw) / root(), output: 1 };
    reach.output = far(compute().output);
    panels = NAMES.map((name) => {
      const m = name === "output" ? data.dv : data.n, few = m <= 12 && data.n <= 16;
      const cols = name === "output" ? (m <= 12 ? Array.from({ length: m }, (_, c) => String(c)) : []) : data.tokens;
      const heat = new (few ? NumberedHeat : Heat)({ n: data.n, m, rows: data.tokens, cols, colChips: name !== "output" });
      const on = { click: (p) => {
        const at = heat.at(...p);
        if (!at) return;
        const row = at.i < 0 ? state.row : at.i, col = name === "output" || at.j < 0 ? null : at.j;
        select(...(row === state.row && col === state.col ? [row, null] : [row, col]));
      } };
      return { name, heat, board: board("", on) };
    });
    const to10 = (t) => Math.round(20 * Math.log10(t));
    warmth = slider("Temperature", { min: -20, max: 20, step: 1, value: to10(state.temperature) }, tellTemperature,
      (u, done) => { if (!done) go({ temperature: 10 ** (u / 20) }); tell("temperature", state.temperature, done); });
    const a = exponent(state.scale);
    scaling = slider("Divide scores by", { min: Math.min(0, Math.floor(a)), max: Math.max(1, Math.ceil(a)), step: 0.05, value: a }, divisor,
      (x, done) => { if (!done) go({ scale: scaleOf(x) }); tell("scale", state.scale, done); });
    maskBox = menu("Mask", given ? [...MASKS, ["given", "the one given"]] : MASKS, state.mask, (name) => { go({ mask: name }); tell("mask", name); });
    sizeBox = make("input", { type: "number", min: 1, max: data.n, value: state.size });
    sizeBox.addEventListener("input", () => {
      const size = Math.round(+sizeBox.value);
      if (size >= 1) { go({ size }); tell("size", size); }
    });
    sizeLabel = make("label", {}, "of", sizeBox, "words");
    const rows = () => {
      let x = 0, y = 0, tall = 0, wide = 0;
      const places = panels.map((p) => {
        if (x && x + p.heat.width > 1200) { x = 0; y += tall + 16; tall = 0; }
        const place = [x, y];
        x += p.heat.width + 18; tall = Math.max(tall, p.heat.height); wide = Math.max(wide, x);
        return place;
      });
      return { places, size: [wide, y + tall] };
    };
    const saves = exporters(self, data.name, () => rows().size, (pen) => {
      const titles = headings(), { places } = rows();
      panels.forEach((p, at) => pen.group(...places[at], () => drawPanel(pen, p, titles[at])));
    });
    self.bar.replaceChildren(warmth.node, scaling.node, maskBox.node, sizeLabel, saves);
    self.stage.replaceChildren(...panels.map((p) => p.board));
    render();
    warmth.tell();
    scaling.tell();
  }

  self.stage.tabIndex = 0;
  self.stage.setAttribute("role", "application");
  self.stage.setAttribute("aria-label", "Attention step by step. Up and down choose the word that asks, left and right the word it looks at.");
  self.stage.addEventListener("keydown", (e) => {
    const move = KEYS[e.key], { n } = data;
    if (move) select(clamp((state.row ?? -1) + move[0], n), move[1] ? clamp((state.col ?? (move[1] > 0 ? -1 : n)) + move[1], n) : state.col);
    else if (e.key === "Escape") select(state.row, null);
    else return;
    e.preventDefault();
  });
  self.tip.textContent = "Click a word or a cell, or use the arrow keys, to follow one row through every step.";
  self.view.append(table.node);
  await load(first);
  return { load, close: self.close, set: (name, value) => {
    if (name === "selection") return go({ row: value?.[0] ?? null, col: value?.[1] ?? null });
    go({ [name]: value });
    if (name === "temperature") warmth.set(20 * Math.log10(value));
    else if (name === "scale") scaling.set(exponent(value));
    else if (name === "mask") maskBox.set(value);
    else if (name === "size") sizeBox.value = value;
  } };
}
