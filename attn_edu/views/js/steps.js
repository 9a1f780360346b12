// Attention step by step: scores, scaled, masked, softmax, times value; recomputed at every move.
import { unpack } from "./codec.js";
import {
  KEYS,
  board,
  clamp,
  exporters,
  make,
  menu,
  shell,
  slider,
  temperatureSlider,
} from "./controls.js";
import { Heat } from "./heat.js";
import { wrap } from "./layout.js";
import { dotProducts, namedMask, stages } from "./math.js";
import { NumberedHeat } from "./numbered.js";
import { ramp } from "./palette.js";
import { CanvasPen, textWidth } from "./pen.js";
import { divisor, sized, stepSentence, stepTable, stepTitles } from "./stepwords.js";
import { numbers } from "./table.js";

const NAMES = ["scores", "scaled", "masked", "weights", "output"];
const MASKS = [
  ["none", "none"],
  ["causal", "causal"],
  ["window", "window"],
  ["block", "blocks"],
];
const GAP = 18;
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
    pen.text(detail, 12 + textWidth(title, 13) * 1.06, 11, { size: 12.5, fill: quiet });
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
    // as many panels side by side as leave room for their numbers; where none do, for their words
    const square = panels[0].heat,
      room = (k) => Math.floor((self.width - GAP * (k - 1)) / k) - 1;
    const cell = (k) => square.cellFor(room(k), 38),
      least = data.n > 40 ? 230 / data.n : 13;
    const k =
      (square.drawNumbers && [5, 4, 3, 2, 1].find((k) => cell(k) >= 31)) ||
      [3, 2].find((k) => cell(k) >= least) ||
      1;
    const cw = cell(k),
      ch = cw >= 30 ? 26 : cw,
      { slope } = square;
    for (const { name, heat, canvas } of panels) {
      heat.layout(
        name === "output" ? heat.cellFor(room(k), cw >= 30 ? cw : 24) : cw,
        ch,
        24,
        slope,
      );
      heat.width = Math.max(heat.width, Math.min(self.width, 230));
      canvas.setAttribute("aria-label", `${name}: ${data.n} by ${heat.m}`);
    }
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
    const size = make("input", { type: "number", min: 1, max: data.n, value: state.size });
    size.addEventListener("input", () => {
      if (+size.value >= 1) pick("size", Math.round(+size.value));
    });
    sizeLabel = make("label", {}, "of", size, "words");
    boxes = {
      temperature: temperatureSlider(state.temperature, (...move) => pick("temperature", ...move)),
      scale: slider("Divide scores by", by, (...move) => pick("scale", ...move)),
      mask: menu("Mask", masks, (name) => pick("mask", name)),
      size: { node: sizeLabel, set: (value) => +size.value === value || (size.value = value) },
    };
    const placed = () =>
      wrap(
        panels.map(({ heat }) => [heat.width, heat.height]),
        1200,
        GAP,
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
    self.bar.replaceChildren(...Object.values(boxes).map((b) => b.node), saves);
    self.stage.replaceChildren(...panels.map((p) => p.canvas));
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

  self.steer(
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
  self.tip.textContent =
    "Click a word or a cell, or use the arrow keys, to follow one row through every step.";
  self.view.append(table.node);
  await load(first);
  const set = (name, value) => {
    if (name !== "selection") return go({ [name]: value });
    const [row, col] = value ?? [null, null];
    go({ row, col });
  };
  return { load, close: self.close, set };
}
