// The attention map: one head as a matrix and as lines between words, or all heads at once.
import { unpack } from "./codec.js";
import { board, button, clamp, exporters, make, menu, shell } from "./controls.js";
import { Heat, drawLegend, show } from "./heat.js";
import { Lines } from "./lines.js";
import { ramp } from "./palette.js";
import { CanvasPen } from "./pen.js";
import { largest, numbers } from "./table.js";

const count = (n) => Array.from({ length: n }, (_, k) => [k, k]);

export async function mountMap(host, first, hooks = {}) {
  let data, weights, mask, heat, lines, flat, turn = 0;
  const state = { layer: 0, head: 0, row: null, col: null, at: null, grid: false, colour: "linear", temperature: 1 };
  const tell = (name, value, done = true) => hooks.changed?.(name, value, done);
  const self = shell(host, () => render());

  // ---- what is drawn -------------------------------------------------------------------------
  const size = () => data.n * data.m;
  const part = (from, k) => from.values.subarray(k * size(), (k + 1) * size());
  const weightsOf = (layer, head) => {
    const raw = part(weights, layer * data.heads + head);
    return hooks.temper ? hooks.temper(raw, data.n, data.m, state.temperature) : raw;
  };
  const hiddenOf = (layer, head) => {
    if (!mask) return null;
    const [l, h] = mask.shape;
    return part(mask, (l > 1 ? layer : 0) * h + (h > 1 ? head : 0)).map((may) => 1 - may);
  };
  const scale = (values) => {
    let low = 0, high = 0;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    if (low < 0) {
      const far = Math.max(-low, high);
      return { colours: ramp("score", self.dark), zero: 128, gain: 127 / far, low: show(-far), high: show(far) };
    }
    const colours = ramp("weight", self.dark), most = Math.max(1, high), top = show(most, most === 1 ? 0 : 2);
    if (state.colour === "row") {
      const tops = new Float64Array(data.n);
      values.forEach((v, c) => { const i = Math.floor(c / data.m); if (v > tops[i]) tops[i] = v; });
      return { colours, gain: tops.map((t) => 255 / (t || 1)), low: "0", high: "largest of its row" };
    }
    const root = state.colour === "sqrt";
    return { colours, root, gain: 255 / (root ? Math.sqrt(most) : most), low: "0", high: root ? `${top} (square root)` : top };
  };

  // ---- controls --------------------------------------------------------------------------------
  const go = (change) => { Object.assign(state, change); render(); };
  const layerMenu = () => menu("Layer", count(data.layers), state.layer, (v) => { go({ layer: +v }); tell("layer", +v); });
  const headMenu = () => menu("Head", count(data.heads), state.head, (v) => { go({ head: +v }); tell("head", +v); });
  const select = (row, col, at = state.at) => { go({ row, col, at }); tell("selection", row === null && col === null ? null : [row, col]); };
  let layerBox, headBox, colourBox, warmth, gridButton;
  const heatBoard = board("", {
    hover: (p) => { state.at = p && heat.at(...p); paint(); },
    click: (p) => {
      const at = heat.at(...p);
      if (!at) return;
      const row = at.i >= 0 ? at.i : null, col = at.j >= 0 ? at.j : null;
      select(...(row === state.row && col === state.col ? [null, null] : [row, col]), at);
    },
    arrow: (di, dj) => {
      const from = state.at && state.at.i >= 0 && state.at.j >= 0 ? state.at : { i: state.row ?? (di ? -1 : 0), j: state.col ?? (dj ? -1 : 0) };
      state.at = { i: clamp(from.i + di, data.n), j: clamp(from.j + dj, data.m) };
      paint();
    },
    enter: () => state.at && select(state.at.i, state.at.j),
    leave: () => select(null, null, null),
  });
  const lineBoard = board("", {
    click: (p) => {
      const at = lines.at(...p);
      if (at) select(...(at.row === state.row && at.col === state.col ? [null, null] : [at.row, at.col]), null);
    },
  });
  let spot = null; // the head under the cursor in the grid
  const gridCell = (p) => {
    const [w] = gridSize(), [c, r] = [(p[0] - 34) / w, (p[1] - 22) / w].map(Math.floor);
    return c >= 0 && r >= 0 && c < data.heads && r < data.layers ? [r, c] : null;
  };
  const gridSize = () => { const w = Math.min(120, (self.width - 38) / data.heads); return [w, 34 + w * data.heads + 4, 22 + w * data.layers + 4]; };
  const openHead = (at) => { if (!at) return; go({ layer: at[0], head: at[1], grid: false }); tell("layer", at[0]); tell("head", at[1]); };
  const gridBoard = board("", {
    hover: (p) => { spot = p && gridCell(p); paintGrid(); },
    click: (p) => openHead(gridCell(p)),
    arrow: (dr, dc) => {
      const [r, c] = spot ?? [state.layer, state.head];
      spot = [clamp(r + dr, data.layers), clamp(c + dc, data.heads)];
      paintGrid();
    },
    enter: () => openHead(spot ?? [state.layer, state.head]),
    leave: () => go({ grid: false }),
  });
  const table = numbers(() => {
    const w = flat, where = headName(), { query, key } = data.tokens;
    if (data.n <= 16 && data.m <= 16) {
      return { caption: where, head: ["word", ...key], rows: query.map((q, i) => [q, ...key.map((_, j) => show(w[i * data.m + j], 3))]) };
    }
    return { caption: `${where}: the three largest weights of each word`, head: ["word", "1st", "2nd", "3rd"],
      rows: query.map((q, i) => [q, ...largest(w, i * data.m, data.m, 3).map((j) => `${key[j]} ${show(w[i * data.m + j], 3)}`)]) };
  });

  // ---- words -----------------------------------------------------------------------------------
  const headName = () => [data.layers > 1 && `layer ${state.layer}`, data.heads > 1 && `head ${state.head}`].filter(Boolean).join(", ") || "weights";
  const number = (v) => (weights.digits > 2 ? show(v, weights.digits) : `about ${show(v)}`);
  const sentence = () => {
    const { at, row, col } = state, { query, key } = data.tokens;
    const i = (at ? at.i : row) ?? -1, j = (at ? at.j : col) ?? -1, value = (i, j) => flat[i * data.m + j];
    const best = (values, from, count, name, v) =>
      largest(values, from, count, 3).map((k) => `“${name[k]}” ${number(v(k))}`).join(", ") || "no word";
    if (i >= 0 && j >= 0) {
      const pair = `“${query[i]}” → “${key[j]}”: `;
      return pair + (heat.hidden && heat.hidden[i * data.m + j] ? "masked" : number(value(i, j)));
    }
    if (i >= 0) return `“${query[i]}” looks at ${best(flat, i * data.m, data.m, key, (k) => value(i, k))}`;
    if (j >= 0) return `“${key[j]}” is looked at by ${best(query.map((_, k) => value(k, j)), 0, data.n, query, (k) => value(k, j))}`;
    return "";
  };

  // ---- drawing ---------------------------------------------------------------------------------
  const drawHeat = (pen, bare) => heat.draw(pen, self.ink, { at: bare ? null : state.at, row: state.row, col: state.row === null ? state.col : null });
  const legend = (pen, x, y) => drawLegend(pen, self.ink, heat.shades.colours, x, y, 150, heat.shades.low, heat.shades.high);
  const drawLines = (pen) => lines.draw(pen, self.ink, flat, state);
  function paint() {
    if (state.grid) return;
    drawHeat(heatBoard.pen = new CanvasPen(heatBoard, heat.width, heat.height + 30, self.ink.paper));
    legend(heatBoard.pen, heat.left, heat.height + 2);
    const said = sentence();
    if (self.say.textContent !== said) self.say.textContent = said;
  }
  function paintGrid() {
    const [w, W, H] = gridSize();
    drawGrid(new CanvasPen(gridBoard, W, H, self.ink.paper), w);
    self.say.textContent = spot ? `layer ${spot[0]}, head ${spot[1]}` : "";
  }
  function drawGrid(pen, w) {
    for (let c = 0; c < data.heads; c++) pen.text(c, 34 + (c + 0.5) * w, 10, { size: 11, fill: self.ink.quiet, align: "center" });
    for (let r = 0; r < data.layers; r++) pen.text(r, 28, 22 + (r + 0.5) * w, { size: 11, fill: self.ink.quiet, align: "right" });
    thumbs().forEach((bitmap, k) => {
      const r = Math.floor(k / data.heads), c = k % data.heads, x = 34 + c * w + 1.5, y = 22 + r * w + 1.5;
      pen.image(bitmap, x, y, w - 3, w - 3);
      const hot = spot && spot[0] === r && spot[1] === c, now = r === state.layer && c === state.head;
      pen.rect(x, y, w - 3, w - 3, { stroke: hot ? self.ink.focus : now ? self.ink.ink : self.ink.line, width: hot || now ? 2 : 1 });
    });
  }
  let kept = null;
  function thumbs() {
    const key = `${state.colour} ${self.dark} ${state.temperature}`;
    if (kept?.key !== key) {
      kept = { key, bitmaps: [] };
      for (let k = 0; k < data.layers * data.heads; k++) {
        const place = [Math.floor(k / data.heads), k % data.heads], w = weightsOf(...place), s = scale(w);
        const one = new Heat({ n: data.n, m: data.m, rows: [], cols: [] });
        one.paint(w, s, self.ink, hiddenOf(...place));
        kept.bitmaps.push(one.pixels);
      }
    }
    return kept.bitmaps;
  }
  function render() {
    if (!data) return;
    gridBoard.hidden = !state.grid;
    heatBoard.hidden = lineBoard.hidden = state.grid;
    layerBox?.set(state.layer); headBox?.set(state.head); colourBox.set(state.colour);
    gridButton?.setAttribute("aria-pressed", state.grid);
    self.tip.textContent = state.grid ? "Rows are layers, columns are heads. Click one to open it; or arrow keys, then Enter."
      : "Hover or use the arrow keys for a weight. Click a word, or press Enter, to follow it; Escape lets go.";
    flat = weightsOf(state.layer, state.head);
    table.refresh();
    if (state.grid) return paintGrid();
    const wide = self.width >= 620, s = scale(flat), { query, key } = data.tokens;
    const cell = Math.min(heat.cellFor(wide ? self.width * 0.56 : self.width, 40), Math.max(4, 2000 / data.n));
    heat.layout(cell, Math.min(cell, 900 / data.n));
    heat.width = Math.max(heat.width, heat.left + 190);
    heat.paint(flat, heat.shades = s, self.ink, hiddenOf(state.layer, state.head));
    lines.layout(wide ? self.width - heat.width - 24 : self.width, heat.height);
    drawLines(new CanvasPen(lineBoard, lines.width, lines.height, self.ink.paper));
    heatBoard.setAttribute("aria-label", `Attention map, ${headName()}: ${query.length} words by ${key.length}. Arrow keys read the weights.`);
    lineBoard.setAttribute("aria-label", `Lines from each word to the words it looks at, ${headName()}`);
    gridBoard.setAttribute("aria-label", `All ${data.layers} layers by ${data.heads} heads. Arrow keys move, Enter opens.`);
    paint();
  }

  async function load(next) {
    const mine = ++turn, parts = await Promise.all([unpack(next.weights), unpack(next.mask)]);
    if (mine !== turn) return;
    [weights, mask] = parts;
    data = next;
    kept = null;
    const { layer, head, colour, selection, temperature } = next;
    Object.assign(state, { layer, head, at: null, row: selection?.[0] ?? null, col: selection?.[1] ?? null,
      colour: colour ?? state.colour, temperature: temperature ?? 1 });
    const { query, key } = data.tokens;
    heat = new Heat({ n: data.n, m: data.m, rows: query, cols: key });
    lines = new Lines(query, key);
    layerBox = data.layers > 1 ? layerMenu() : null;
    headBox = data.heads > 1 ? headMenu() : null;
    colourBox = menu("Colour", [["linear", "linear"], ["sqrt", "square root"], ["row", "per row"]], state.colour, (v) => { go({ colour: v }); });
    gridButton = layerBox || headBox ? button("All heads", () => go({ grid: !state.grid, at: null })) : null;
    warmth = hooks.slider?.(state.temperature, (t, done) => { go({ temperature: t }); tell("temperature", t, done); });
    const gap = 20, whole = () => (state.grid ? gridSize().slice(1) : [heat.width + gap + lines.width, Math.max(heat.height + 30, lines.height)]);
    const saves = exporters(self, data.name, whole, (pen) => {
      if (state.grid) return drawGrid(pen, gridSize()[0]);
      drawHeat(pen, true);
      legend(pen, heat.left, heat.height + 2);
      pen.group(heat.width + gap, 0, drawLines);
    });
    self.bar.replaceChildren(...[layerBox, headBox, colourBox, warmth].filter(Boolean).map((b) => b.node), ...(gridButton ? [gridButton] : []), saves);
    render();
  }

  self.stage.append(heatBoard, lineBoard, gridBoard);
  self.view.append(table.node);
  await load(first);
  return { load, close: self.close, set: (name, value) => {
    if (name === "selection") go({ row: value?.[0] ?? null, col: value?.[1] ?? null, at: null });
    else go({ [name]: value });
    if (name === "temperature") warmth?.set(20 * Math.log10(value));
  } };
}
