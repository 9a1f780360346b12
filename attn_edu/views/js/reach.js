// Masks side by side, and how far each word reaches after one layer, two layers, and more.
import { unpack } from "./codec.js";
import { KEYS, board, clamp, exporters, make, shell, slider, steer } from "./controls.js";
import { drawPaths, firstLayers } from "./paths.js";
import { Heat } from "./heat.js";
import { wrap } from "./layout.js";
import { css, inkOn, ramp } from "./palette.js";
import { CanvasPen, fit } from "./pen.js";
import { reachFound, reachSentence, reachTable } from "./reachwords.js";
import { numbers } from "./table.js";

const TIP =
  "Move the slider for more layers. Click a word to follow it down to the words that it reaches. Keys: up and down choose a word, left and right a layer.";
const GAP = 18,
  TITLE = 40,
  SWATCH = 22;

export async function mountReach(host, first, hooks = {}) {
  let data,
    panels,
    layer,
    across,
    turn = 0;
  const state = { depth: 1, word: 0, over: null }; // over: the panel and the cell under the pointer
  const self = shell(host, () => render());

  const go = (change) => {
    Object.assign(state, change);
    update();
  };
  const deepen = (depth, done = true) => {
    go({ depth });
    hooks.changed?.("depth", depth, done);
  };
  const follow = (word) => {
    go({ word });
    hooks.changed?.("selection", word, true);
  };
  const table = numbers(() => reachTable(data, panels, state));

  // ---- drawing: the shade of a cell is the number of layers that its pair needs ------------------
  const share = (t) => 1 - (0.7 * (t - 1)) / Math.max(1, data.layers - 1);
  const shades = () => ({ colours: ramp("weight", self.dark), gain: 255 });
  const rise = () => clamp(120 / data.layers, 23, 9);
  const tall = () => (data.layers + 1) * rise() + 6;
  function drawNumbers(pen, { heat, first }) {
    const { cw, ch, left, top, colours, n } = heat;
    if (cw < 13 || ch < 12) return;
    first.forEach((t, c) => {
      if (!t || t > state.depth) return;
      const [x, y] = [left + ((c % n) + 0.5) * cw, top + (Math.floor(c / n) + 0.5) * ch];
      const fill = inkOn(colours[Math.round(255 * share(t))]);
      pen.text(t, x, y + 0.5, { size: 10, align: "center", fill });
    });
  }
  function drawPanel(pen, k) {
    const panel = panels[k],
      { heat, name } = panel,
      { ink } = self.ink,
      over = state.over?.k === k ? state.over.at : null;
    pen.text(fit(name, heat.width - 8, 13), 4, 11, { size: 13, fill: ink, bold: true });
    const found = reachFound(panel, data, state.depth);
    pen.text(fit(found, heat.width - 8, 12), 4, 28, { fill: ink });
    heat.draw(pen, self.ink, { row: state.word, at: over });
    drawNumbers(pen, panel);
    pen.group(0, heat.height, () => drawPaths(pen, self.ink, panel, data, state, rise()));
  }
  const size = ({ heat }) => [heat.width, heat.height + tall()];
  const legendSize = () => [200 + data.layers * SWATCH + 130, 26];
  function drawLegend(pen) {
    const style = { size: 12, fill: self.ink.quiet },
      { colours } = shades();
    let x = 112;
    pen.text("layers needed", 4, 13, style);
    for (let t = 1; t <= data.layers; t++, x += SWATCH) {
      const rgb = colours[Math.round(255 * share(t))];
      pen.rect(x, 4, SWATCH - 2, 18, { fill: css(rgb) });
      pen.text(t, x + 10, 13.5, { size: 11, align: "center", fill: inkOn(rgb) });
    }
    pen.hatch([[x + 14, 4, 20, 18]], self.ink.hatch);
    pen.rect(x + 14, 4, 20, 18, { stroke: self.ink.line });
    pen.text("not reached", x + 42, 13, style);
  }
  const paint = (k) => {
    const { canvas, ...panel } = panels[k];
    drawPanel(new CanvasPen(canvas, ...size(panel), self.ink.paper), k);
  };
  function update() {
    layer.set(state.depth);
    panels.forEach((panel, k) => {
      const { first, heat } = panel;
      const hidden = first.map((t) => +(!t || t > state.depth));
      heat.paint(Float32Array.from(first, share), shades(), self.ink, hidden);
      paint(k);
    });
    drawLegend(new CanvasPen(layer.legend, ...legendSize(), self.ink.paper));
    self.tell(reachSentence(data, panels, state));
    table.refresh();
  }
  function render() {
    if (!data) return;
    const { n } = data,
      count = panels.length,
      [{ heat: bare }] = panels;
    bare.bare = false;
    const labels = Math.max(bare.margins(12).left, 56);
    const slot = (k) => Math.floor((self.width - labels + 14 - GAP * (k - 1)) / k) - 1;
    bare.bare = true;
    const cell = (k) => bare.cellFor(slot(k), 24);
    const roomy = (k) => slot(k) >= 180 && cell(k) >= (n > 40 ? 150 / n : 12);
    const most = [4, 3, 2].find((k) => k <= count && roomy(k)) || 1;
    across = Math.ceil(count / Math.ceil(count / most));
    const cw = cell(across);
    panels.forEach(({ heat, canvas, name }, k) => {
      heat.bare = k % across > 0;
      heat.layout(cw, Math.min(cw, Math.max(320 / n, n > 40 ? 0 : 12)), TITLE);
      heat.width = Math.max(heat.width, Math.min(190, slot(across)));
      canvas.setAttribute("aria-label", `${name}: ${n} by ${n} words`);
    });
    const rows = panels.flatMap(({ canvas }, k) =>
      k && k % across === 0 ? [make("i", { className: "break" }), canvas] : [canvas],
    );
    self.stage.replaceChildren(...rows, make("i", { className: "break" }), layer.legend);
    update();
  }

  // ---- data comes in, and controls for it --------------------------------------------------------
  function makePanel({ name }, k, masks) {
    const { n, layers, tokens } = data;
    const heat = new Heat({ n, m: n, rows: tokens, cols: tokens });
    const hover = (p) => {
      const at = p && heat.at(...p);
      if (!at && state.over?.k !== k) return;
      state.over = at && { k, at };
      paint(k);
      self.tell(reachSentence(data, panels, state));
    };
    const click = ([x, y]) => {
      const at = heat.at(x, y);
      if (at) return follow(at.i < 0 ? at.j : at.i);
      const j = Math.floor((x - heat.left) / heat.cw);
      if (j >= 0 && j < n) follow(j);
    };
    const canvas = board("", { hover, click });
    return { name, masks, heat, canvas, first: firstLayers(masks, n, layers) };
  }
  function control() {
    const { layers } = data;
    const words = () => `${state.depth} of ${layers}`;
    const range = { min: 1, max: layers, step: 1, value: state.depth, words };
    layer = slider("Layers", { ...range, from: (t) => t, to: (t) => t }, deepen);
    layer.legend = board("Layers needed, from dark to pale; hatched: not reached", {});
    const sizes = () => [...panels.map(size), legendSize()];
    const placed = () =>
      wrap(sizes(), Infinity, GAP, (k) => k % across === 0 || k === panels.length);
    const saves = exporters(
      self,
      data.name,
      () => placed().size,
      (pen) => {
        placed().places.forEach((place, k) =>
          pen.group(...place, () => (panels[k] ? drawPanel(pen, k) : drawLegend(pen))),
        );
      },
    );
    self.bar.replaceChildren(layer.node, saves);
    self.tip.textContent = TIP;
  }
  async function load(next) {
    const mine = ++turn,
      masks = await Promise.all(next.kinds.map((kind) => unpack(kind.masks)));
    if (mine !== turn) return;
    data = next;
    Object.assign(state, { depth: next.depth, word: next.selection ?? next.n - 1, over: null });
    panels = next.kinds.map((kind, k) => makePanel(kind, k, masks[k].values));
    control();
    render();
  }

  const label =
    "Masks side by side. Up and down choose the word to follow, left and right the number of layers.";
  steer(self.stage, label, (e) => {
    const [di, dj] = KEYS[e.key] ?? [0, 0];
    if (di) follow(clamp(state.word + di, data.n));
    else if (dj) deepen(clamp(state.depth + dj, data.layers + 1, 1));
    else return false;
    return true;
  });
  self.view.append(table.node);
  await load(first);
  const set = (name, value) =>
    go(name === "selection" ? { word: value ?? data.n - 1 } : { [name]: value });
  return { load, close: self.close, set };
}
