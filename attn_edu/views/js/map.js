// The attention map: one head as a matrix and as lines between words, or all heads at once.
import { unpack } from "./codec.js";
import { board, button, clamp, exporters, menu, shell } from "./controls.js";
import { Grid } from "./grid.js";
import { Heat, drawLegend } from "./heat.js";
import { Lines } from "./lines.js";
import { headName, mapSentence, mapTable } from "./mapwords.js";
import { CanvasPen } from "./pen.js";
import { weightShades } from "./shades.js";
import { numbers } from "./table.js";

const COLOURS = [
  ["linear", "linear"],
  ["sqrt", "square root"],
  ["row", "per row"],
];
const TIPS = [
  "Hover or use the arrow keys for a number. Click a word, or press Enter, to follow it; Escape lets go.",
  "Rows are layers, columns are heads. Click one to open it; or arrow keys, then Enter.",
];
const count = (n) => Array.from({ length: n }, (_, k) => [k, k]);

export async function mountMap(host, first, hooks = {}) {
  let data,
    weights,
    mask,
    heat,
    lines,
    grid,
    shades,
    flat,
    turn = 0;
  let boxes = {}; // the controls by the name of what they set
  // row and col: the chosen words; at: the cell under the pointer; spot: the head under it
  const state = { row: null, col: null, at: null, spot: null, temperature: 1 };
  const self = shell(host, () => render());

  const go = (change) => {
    Object.assign(state, change);
    render();
  };
  const pick = (name, value, done = true) => {
    go({ [name]: value });
    hooks.changed?.(name, value, done);
  };
  const select = (row, col, at) => {
    go({ row, col, at });
    hooks.changed?.("selection", row === null && col === null ? null : [row, col], true);
  };
  /** Choose words, or let go of them where they are chosen already. */
  const toggle = (row, col, at) => {
    const again = row === state.row && col === state.col;
    select(again ? null : row, again ? null : col, at);
  };

  // ---- one head of the data ----------------------------------------------------------------------
  const part = (from, k) => from.values.subarray(k * data.n * data.m, (k + 1) * data.n * data.m);
  const weightsOf = (layer, head) => {
    const raw = part(weights, layer * data.heads + head);
    return hooks.temper ? hooks.temper(raw, data.n, data.m, state.temperature) : raw;
  };
  const hiddenOf = (layer, head) => {
    if (!mask) return null;
    const [l, h] = mask.shape;
    return part(mask, (l > 1 ? layer : 0) * h + (h > 1 ? head : 0)).map((may) => 1 - may);
  };
  const shadesOf = (values) => weightShades(values, data.n, data.m, state.colour, self.dark);

  const table = numbers(() => mapTable(data, flat, headName(data, state)));

  // ---- the three canvases ------------------------------------------------------------------------
  const heatBoard = board("", {
    hover: (p) => {
      state.at = p && heat.at(...p);
      paint();
    },
    click: (p) => {
      const at = heat.at(...p);
      if (at) toggle(at.i < 0 ? null : at.i, at.j < 0 ? null : at.j, at);
    },
    arrow: (di, dj) => {
      const { at, row, col } = state,
        on = at && at.i >= 0 && at.j >= 0;
      const from = on ? at : { i: row ?? (di ? -1 : 0), j: col ?? (dj ? -1 : 0) };
      state.at = { i: clamp(from.i + di, data.n), j: clamp(from.j + dj, data.m) };
      paint();
    },
    enter: () => state.at && select(state.at.i, state.at.j, state.at),
    leave: () => select(null, null, null),
  });
  const lineBoard = board("", {
    click: (p) => {
      const at = lines.at(...p);
      if (at) toggle(at.row, at.col, null);
    },
  });
  const open = (at) => {
    if (!at) return;
    state.all = false;
    pick("layer", at[0]);
    pick("head", at[1]);
  };
  const spot = () => state.spot ?? [state.layer, state.head];
  const gridBoard = board("", {
    hover: (p) => {
      state.spot = p && grid.at(...p);
      paintGrid();
    },
    click: (p) => open(grid.at(...p)),
    arrow: (dr, dc) => {
      const [r, c] = spot();
      state.spot = [clamp(r + dr, data.layers), clamp(c + dc, data.heads)];
      paintGrid();
    },
    enter: () => open(spot()),
    leave: () => go({ all: false }),
  });

  const drawHeat = (pen, at) => {
    const { row, col } = state;
    heat.draw(pen, self.ink, { at, row, col: row === null ? col : null });
    drawLegend(pen, self.ink, shades, heat.left, heat.height + 2);
  };
  const drawLines = (pen) => lines.draw(pen, self.ink, flat, state);
  const drawGrid = (pen) => grid.draw(pen, self.ink, state.spot, [state.layer, state.head]);
  function paint() {
    if (state.all) return;
    drawHeat(new CanvasPen(heatBoard, heat.width, heat.height + 30, self.ink.paper), state.at);
    self.tell(mapSentence(data, state, flat, heat.hidden, weights.digits));
  }
  function paintGrid() {
    drawGrid(new CanvasPen(gridBoard, grid.width, grid.height, self.ink.paper));
    self.tell(state.spot ? `layer ${state.spot[0]}, head ${state.spot[1]}` : "");
  }
  function label() {
    const { layers, heads, n, m, says } = data,
      name = headName(data, state);
    const say = (canvas, words) => canvas.setAttribute("aria-label", words);
    say(heatBoard, `${[says[0], name].filter((s) => s !== "weights").join(", ")}: ${n} words by ${m}. Arrow keys read the weights.`);
    say(lineBoard, `Lines from each word to those it ${says[1]}`);
    say(gridBoard, `All ${layers} layers by ${heads} heads. Arrow keys move, Enter opens.`);
  }
  function render() {
    if (!data) return;
    const { all, layer, head } = state,
      wide = self.width >= 620;
    gridBoard.hidden = !all;
    heatBoard.hidden = lineBoard.hidden = all;
    for (const name in boxes) boxes[name].set(state[name]);
    self.tip.textContent = TIPS[+all];
    label();
    flat = weightsOf(layer, head);
    table.refresh();
    if (all) {
      grid
        .layout(self.width)
        .paint(`${state.colour} ${self.dark} ${state.temperature}`, (one, ...place) => {
          const values = weightsOf(...place);
          one.paint(values, shadesOf(values), self.ink, hiddenOf(...place));
        });
      return paintGrid();
    }
    shades = shadesOf(flat);
    const cell = Math.min(
      heat.cellFor(wide ? self.width * 0.56 : self.width, 40),
      Math.max(4, 2000 / data.n),
    );
    heat.layout(cell, Math.min(cell, 900 / data.n));
    heat.width = Math.max(heat.width, heat.left + 190);
    heat.paint(flat, shades, self.ink, hiddenOf(layer, head));
    lines.layout(wide ? self.width - heat.width - 24 : self.width, heat.height);
    drawLines(new CanvasPen(lineBoard, lines.width, lines.height, self.ink.paper));
    paint();
  }

  // ---- data comes in, and controls for it --------------------------------------------------------
  function control() {
    const { layers, heads } = data,
      many = layers * heads > 1;
    boxes = {};
    if (layers > 1) boxes.layer = menu("Layer", count(layers), (v) => pick("layer", +v));
    if (heads > 1) boxes.head = menu("Head", count(heads), (v) => pick("head", +v));
    boxes.colour = menu("Colour", COLOURS, (v) => pick("colour", v));
    if (hooks.slider)
      boxes.temperature = hooks.slider(state.temperature, (...move) =>
        pick("temperature", ...move),
      );
    if (many) {
      const node = button("All heads", () => go({ all: !state.all, at: null, spot: null }));
      boxes.all = { node, set: (on) => node.setAttribute("aria-pressed", on) };
    }
    const size = () =>
      state.all
        ? [grid.width, grid.height]
        : [heat.width + 20 + lines.width, Math.max(heat.height + 30, lines.height)];
    const saves = exporters(self, data.name, size, (pen) => {
      if (state.all) return drawGrid(pen);
      drawHeat(pen, null);
      pen.group(heat.width + 20, 0, drawLines);
    });
    self.bar.replaceChildren(...Object.values(boxes).map((b) => b.node), saves);
  }
  async function load(next) {
    const mine = ++turn,
      parts = await Promise.all([unpack(next.weights), unpack(next.mask)]);
    if (mine !== turn) return;
    [weights, mask] = parts;
    data = next;
    const { layer, head, colour, selection, temperature = 1, tokens, n, m } = next;
    const [row, col] = selection ?? [null, null];
    Object.assign(state, { layer, head, colour, temperature, row, col, at: null, spot: null });
    state.all = (state.all ?? next.grid) && next.layers * next.heads > 1; // other data keep the grid
    heat = new Heat({ n, m, rows: tokens.query, cols: tokens.key });
    lines = new Lines(tokens.query, tokens.key, data.says[1]);
    grid = new Grid(data);
    control();
    render();
  }

  self.stage.append(heatBoard, lineBoard, gridBoard);
  self.view.append(table.node);
  await load(first);
  const set = (name, value) => {
    if (name !== "selection") return go({ [name]: value });
    const [row, col] = value ?? [null, null];
    go({ row, col, at: null });
  };
  return { load, close: self.close, set };
}
