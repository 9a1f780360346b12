// Attention step by step: scores, scaled, masked, softmax, times value; recomputed at every move.
import { unpack } from "./codec.js";
import {
  KEYS,
  board,
  clamp,
  exporters,
  listen,
  make,
  menu,
  shell,
  slider,
  steer,
  temperatureSlider,
} from "./controls.js";
import { Heat } from "./heat.js";
import { wrap } from "./layout.js";
import { dotProducts, namedMask, stages } from "./math.js";
import { LEAST, NumberedHeat } from "./numbered.js";
import { ramp } from "./palette.js";
import { CanvasPen, fit, textWidth } from "./pen.js";
import { divisor, sized, stepSentence, stepTable, stepTitles } from "./stepwords.js";
import { numbers } from "./table.js";

const NAMES = ["scores", "scaled", "masked", "weights", "output"];
const MASKS = [
  ["none", "none"],
  ["causal", "causal"],
  ["window", "window"],
  ["block", "blocks"],
];
const TIP = "Click a word or a cell, or use the arrow keys, to follow one row through every step.";
const GAP = 18,
  TITLE = 24;
const farthest = (values) => values.reduce((a, x) => Math.max(a, Math.abs(x)), 0) || 1;

export async function mountSteps(host, first, hooks = {}) {
  let data,
    arrays,
    given,
    raw,
    now,
    panels,
    reach,
    mask,
    across,
    boxes,
    sizeLabel,
    turn = 0;
  const state = {};
  const self = shell(host, () => render());

  const go = (change) => {
    Object.assign(state, change);
    update();
  };
  const pick = (name, value, done = true) => {
    if (state[name] !== value) go({ [name]: value });
    hooks.changed?.(name, value, done);
  };
  const select = (row, col) => {
    go({ row, col });
    hooks.changed?.("selection", [row, col], true);
  };

  // the divisor's slider moves along d^a, so that 1, √d and d stand at 0, 1/2 and 1
  const base = () => Math.max(2, data.d);
  const exponent = (scale) => -Math.log(scale) / Math.log(base());
  const scaleAt = (a) => (a === 0.5 ? 1 / Math.sqrt(data.d) : base() ** -a);
  const table = numbers(() => stepTable(data, state, now, mask.hidden));

  // ---- drawing -----------------------------------------------------------------------------------
  const shadesOf = (name) =>
    name === "weights"
      ? { colours: ramp("weight", self.dark), gain: 255, root: data.n > 20 }
      : { colours: ramp("score", self.dark), zero: 128, gain: 127 / reach[name] };
  function drawPanel(pen, { name, heat }, [title, detail]) {
    const { row, col } = state,
      { ink, quiet } = self.ink;
    pen.text(title, 4, 11, { size: 13, fill: ink, bold: true });
    const x = 12 + textWidth(title, 13) * 1.06;
    pen.text(fit(detail, heat.width - x, 12), x, 11, { size: 12, fill: quiet });
    const at = row !== null && col !== null && name !== "output" ? { i: row, j: col } : null;
    heat.draw(pen, self.ink, { row, at });
  }
  function compute() {
    const kind = `${state.mask} ${state.size}`;
    if (mask.kind !== kind) {
      const may = namedMask(state.mask, data.n, state.size, given);
      mask = { kind, may, hidden: may && may.map((x) => 1 - x) };
    }
    now = stages({ ...arrays, ...data.sizes }, { ...state, mask: mask.may }, raw);
    now.masked = now.scaled;
  }
  function update() {
    compute();
    for (const name in boxes) boxes[name].set(state[name]);
    sizeLabel.hidden = !sized(state.mask);
    const named = stepTitles(data, state);
    panels.forEach((panel, k) => {
      const { name, heat, canvas } = panel;
      const values = now[name];
      const hidden = name === "masked" || name === "weights" ? mask.hidden : null;
      const stale = heat.values !== values || heat.hidden !== hidden || panel.dark !== self.dark;
      if (stale) heat.paint(values, shadesOf(name), self.ink, hidden);
      panel.dark = self.dark;
      const seen = `${state.row} ${state.col} ${named[k]} ${heat.width} ${heat.height} ${devicePixelRatio}`;
      if (!stale && panel.seen === seen) return;
      panel.seen = seen;
      drawPanel(new CanvasPen(canvas, heat.width, heat.height, self.ink.paper), panel, named[k]);
    });
    self.tell(stepSentence(data, state, now, mask.hidden));
    table.refresh();
  }
  function render() {
    if (!data) return;
    // As many panels side by side as leave room for numbers or words; the first of a row names its rows.
    const { n } = data,
      [{ heat: named }, { heat: bare }] = panels;
    const labels = named.margins(12).left - 14;
    const slot = (k) => Math.floor((self.width - labels - GAP * (k - 1)) / k) - 1;
    const cell = (k) => Object.assign(bare, { bare: true }).cellFor(slot(k), 38);
    const numbered = bare.drawNumbers ? [5, 3, 2, 1].find((k) => cell(k) >= LEAST) : 0;
    const few = numbered && n <= 4 * numbered; // more words than that, and the view grows too tall
    const least = n > 40 ? 150 / n : 8.5,
      roomy = (k) => slot(k) >= 110 && cell(k) >= least; // for titles, and for cells
    across = few ? numbered : [3, 2].find(roomy) || 1;
    let cw = cell(across);
    if (!few) {
      // two rows of panels stay within one screen, as long as words stay legible
      const tall = clamp(self.width * 0.31, 296, 246) + (n > 40) * 20 - TITLE - 6;
      const most = (tall - bare.margins(cw).slope) / n;
      cw = Math.min(cw, Math.max(most, n > 40 ? 0 : 8.5));
    }
    const { slope } = bare.margins(cw);
    let used = 0;
    panels.forEach(({ name, heat, canvas }, k) => {
      const first = k % across === 0;
      if (first) used = 0;
      heat.bare = !first;
      const room = self.width - used - 1,
        wide = name === "output" ? heat.cellFor(room, few ? cw : Math.max(cw, 16)) : cw;
      heat.layout(wide, few ? clamp(170 / n, 27, 18) : cw, TITLE, first && name === "output" ? 0 : slope);
      heat.width = Math.max(heat.width, Math.min(room, 230, slot(across) + first * labels));
      used += heat.width + GAP;
      canvas.setAttribute("aria-label", `${name}: ${n} by ${heat.m}`);
    });
    const rows = panels.flatMap(({ canvas }, k) =>
      k && k % across === 0 ? [make("i", { className: "break" }), canvas] : [canvas],
    );
    self.stage.replaceChildren(...rows);
    update();
  }

  // ---- data comes in, and controls for it --------------------------------------------------------
  function makePanel(name) {
    const output = name === "output",
      { n, dv, tokens } = data,
      m = output ? dv : n;
    const features = m <= 12 ? Array.from({ length: m }, (_, c) => String(c)) : [];
    const Kind = m <= 12 && n <= 16 ? NumberedHeat : Heat;
    const heat = new Kind({
      n,
      m,
      rows: tokens,
      cols: output ? features : tokens,
      colChips: !output,
    });
    const click = (p) => {
      const at = heat.at(...p);
      if (!at) return;
      const row = at.i < 0 ? state.row : at.i,
        col = output || at.j < 0 ? null : at.j;
      select(row, row === state.row && col === state.col ? null : col);
    };
    return { name, heat, canvas: board("", { click }) };
  }
  function control() {
    const a = exponent(state.scale),
      masks = given ? [...MASKS, ["given", "the one given"]] : MASKS;
    const range = {
      min: Math.min(0, Math.floor(a)),
      max: Math.max(1, Math.ceil(a)),
      step: 0.05,
      value: state.scale,
    };
    const by = { ...range, from: exponent, to: scaleAt, words: () => divisor(state.scale, data.d) };
    const size = make("input", {
      type: "number",
      min: 1,
      max: data.n,
      value: state.size,
      "aria-label": "Words in a window or a block",
    });
    listen(size, "input", () => {
      if (+size.value >= 1) pick("size", Math.round(+size.value));
    });
    sizeLabel = make("label", {}, "of", size);
    boxes = {
      temperature: temperatureSlider(state.temperature, (...move) => pick("temperature", ...move)),
      scale: slider("Divide scores by", by, (...move) => pick("scale", ...move)),
      mask: menu("Mask", masks, (name) => pick("mask", name)),
      size: { node: sizeLabel, set: (value) => +size.value === value || (size.value = value) },
    };
    const placed = () =>
      wrap(
        panels.map(({ heat }) => [heat.width, heat.height]),
        Infinity,
        GAP,
        (k) => k % across === 0,
      );
    const saves = exporters(
      self,
      data.name,
      () => placed().size,
      (pen) => {
        const named = stepTitles(data, state),
          { places } = placed();
        panels.forEach((panel, k) =>
          pen.group(...places[k], () => drawPanel(pen, panel, named[k])),
        );
      },
    );
    self.bar.replaceChildren(...Object.values(boxes).map((b) => b.node));
    self.tip.replaceChildren(TIP, saves);
  }
  async function load(next) {
    const mine = ++turn,
      parts = [next.query, next.key, next.value, next.given];
    const unpacked = await Promise.all(parts.map(unpack));
    if (mine !== turn) return;
    const [query, key, value, own] = unpacked.map((x) => x && x.values);
    const { n, d, dv, temperature, scale, mask: name, size, selection } = next;
    const [row, col] = selection ?? [null, null];
    Object.assign(state, { temperature, scale, mask: name, size, row, col });
    [data, arrays, given, mask] = [
      { ...next, sizes: { n, d, dv } },
      { query, key, value },
      own,
      {},
    ];
    raw = dotProducts(query, key, n, n, d);
    compute();
    const usual = farthest(raw) / Math.sqrt(d);
    reach = { scores: farthest(raw), scaled: usual, masked: usual, output: farthest(now.output) };
    panels = NAMES.map(makePanel);
    control();
    render();
  }

  steer(
    self.stage,
    "Attention step by step. Up and down choose the word that asks, left and right the word it looks at.",
    (e) => {
      const [di, dj] = KEYS[e.key] ?? [0, 0],
        { row, col } = state,
        { n } = data;
      if (e.key === "Escape") select(row, null);
      else if (di) select(clamp((row ?? -1) + di, n), col);
      else if (dj) select(row ?? 0, clamp((col ?? (dj > 0 ? -1 : n)) + dj, n));
      else return false;
      return true;
    },
  );
  self.view.append(table.node);
  await load(first);
  const set = (name, value) => {
    if (name !== "selection") return go({ [name]: value });
    const [row, col] = value ?? [null, null];
    go({ row, col });
  };
  return { load, close: self.close, set };
}
