// Splitting heads: where each number of (n, h·d) lands under `view`, and under `view` and `transpose`.
import { KEYS, board, button, clamp, exporters, make, menu, shell, slider, steer } from "./controls.js";
import { wrap } from "./layout.js";
import { bytesOf, inkOn, tokenColour } from "./palette.js";
import { CanvasPen, fit, widest } from "./pen.js";

const HOW = { view: "x.view(B, h, n, d)", transpose: "x.view(B, n, h, d).transpose(1, 2)" };
const TOP = 26,
  ROW = 26;

/** The flat place in (n, h·d) that stands at head, row, column after the split. */
export function source(how, { n, heads, d }, head, row, column) {
  return how === "view" ? (head * n + row) * d + column : row * heads * d + head * d + column;
}

/** The numbers that divide `width`: so many heads can share it. */
export const divisors = (width) =>
  Array.from({ length: width }, (_, k) => k + 1).filter((k) => width % k === 0);

export async function mountSplit(host, first, hooks = {}) {
  let data, // what was given: its width, its words, and how many there may be
    boxes,
    saves,
    canvases = [];
  const state = { method: "view", token: null, n: 1, n_heads: 1 };
  const self = shell(host, () => render());
  const go = (change) => {
    Object.assign(state, change);
    render();
  };
  const choose = (name, value, done = true) => {
    if (name === "n" && state.token >= value) pick(null);
    if (state[name] !== value) go({ [name]: value });
    hooks.changed?.(name, value, done);
  };
  const pick = (token) => {
    go({ token });
    hooks.changed?.("selection", token, true);
  };
  const ways = Object.entries(HOW).map(([how, text]) => [how, button(text, () => choose("method", how))]);

  // ---- panels: a title, and the flat place that each cell comes from -----------------------------
  const width = () => data.width;
  const sizes = () => ({ n: state.n, heads: state.n_heads, d: width() / state.n_heads });
  const words = () => Array.from({ length: state.n }, (_, i) => data.tokens[i] ?? String(i));
  const owner = (at) => Math.floor(at / width());
  function panels() {
    const { n, heads, d } = sizes();
    const whole = {
      title: `x: (n, h·d) = (${n}, ${width()})`,
      cols: width(),
      from: (i, c) => i * width() + c,
    };
    const head = (_, h) => ({
      title: `head ${h}: (n, d) = (${n}, ${d})`,
      cols: d,
      from: (i, c) => source(state.method, sizes(), h, i, c),
    });
    return [whole, ...Array.from({ length: heads }, head)];
  }
  const left = () => widest(words(), 12, 90) + 24;
  const cell = () => clamp((self.width - left() - 8) / width(), 41, 18);
  const size = ({ cols }) => [Math.max(left() + cols * cell() + 6, 190), TOP + state.n * ROW + 6];

  function drawCell(pen, at, x, y, cw) {
    const token = owner(at),
      fill = tokenColour(token),
      feature = at % width();
    const dim = state.token !== null && state.token !== token;
    pen.rect(x + 0.75, y + 0.75, cw - 1.5, ROW - 1.5, { fill, alpha: dim ? 0.16 : 1 });
    const ink = dim ? self.ink.quiet : inkOn(bytesOf(fill));
    pen.text(cw >= 30 ? `${token}·${feature}` : feature, x + cw / 2, y + ROW / 2 + 0.5, {
      size: 11,
      align: "center",
      fill: ink,
    });
  }
  function drawPanel(pen, { title, cols, from }) {
    const cw = cell(),
      x = left(),
      { ink, quiet } = self.ink;
    pen.text(title, 4, 11, { size: 13, fill: ink, bold: true });
    words().forEach((word, i) => {
      const y = TOP + i * ROW,
        bold = state.token === i;
      pen.text(fit(word, x - 22, 12), x - 18, y + ROW / 2, {
        size: 12,
        align: "right",
        fill: bold ? ink : quiet,
        bold,
      });
      pen.rect(x - 13, y + ROW / 2 - 4, 8, 8, { fill: tokenColour(i) });
      for (let c = 0; c < cols; c++) drawCell(pen, from(i, c), x + c * cw, y, cw);
    });
    const { n, d } = sizes();
    for (let c = d; c < cols; c += d) pen.rect(x + c * cw - 1, TOP - 4, 2, n * ROW + 8, { fill: ink });
  }

  function sentence() {
    const { n, heads, d } = sizes(),
      rows = Array.from({ length: heads }, () => new Set());
    let right = 0;
    for (let c = 0; c < n * width(); c++) {
      const [h, i, k] = [Math.floor(c / (n * d)), Math.floor(c / d) % n, c % d];
      const at = source(state.method, sizes(), h, i, k);
      right += at === source("transpose", sizes(), h, i, k);
      if (owner(at) === state.token) rows[h].add(i);
    }
    const place = `${right} of ${n * width()} numbers stand in the right head and row.`;
    if (state.token === null) return place;
    const name = (found, h) =>
      found.size && `head ${h}: row${found.size > 1 ? "s" : ""} ${[...found].join(", ")}`;
    return `“${words()[state.token]}” lands in ${rows.map(name).filter(Boolean).join("; ")}. ${place}`;
  }

  function render() {
    if (!data) return;
    for (const [how, node] of ways) node.setAttribute("aria-pressed", how === state.method);
    for (const name in boxes) boxes[name].set(state[name]);
    if (state.token >= state.n) state.token = null;
    if (canvases.length !== state.n_heads + 1) {
      canvases = panels().map(() => board("", { click }));
      const [whole, ...heads] = canvases;
      self.stage.replaceChildren(whole, make("i", { className: "break" }), ...heads);
    }
    panels().forEach((panel, k) => {
      drawPanel(new CanvasPen(canvases[k], ...size(panel), self.ink.paper), panel);
      canvases[k].setAttribute("aria-label", panel.title);
    });
    self.tell(sentence());
    const reads = cell() >= 30 ? "word·feature" : "the feature; its colour is the word's";
    const tip = `A cell reads ${reads}. Click a word, or use the arrow keys, to see where its features land.`;
    self.tip.replaceChildren(tip, saves);
  }
  function click([, y]) {
    const i = Math.floor((y - TOP) / ROW);
    if (i >= 0 && i < state.n) pick(i === state.token ? null : i);
  }
  async function load(next) {
    data = next;
    const { method, selection, n, n_heads, most } = next;
    Object.assign(state, { method, token: selection, n, n_heads });
    const same = (x) => x;
    const range = { min: 1, max: most, step: 1, value: n, from: same, to: same };
    const heads = divisors(width()).map((h) => [h, `${h} of ${width() / h} features`]);
    boxes = {
      n_heads: menu("Heads", heads, (h) => choose("n_heads", +h)),
      n: slider("Words", { ...range, words: () => state.n }, (...move) => choose("n", ...move)),
    };
    const placed = () => wrap(panels().map(size), 1200, 14, (k) => k === 1);
    saves = exporters(
      self,
      data.name,
      () => placed().size,
      (pen) => {
        const { places } = placed();
        panels().forEach((panel, k) => pen.group(...places[k], () => drawPanel(pen, panel)));
      },
    );
    const nodes = [...ways.map(([, node]) => node), ...Object.values(boxes).map((b) => b.node)];
    self.bar.replaceChildren(...nodes);
    render();
  }
  steer(
    self.stage,
    "Where each word's features land. Up and down choose a word, left and right the way of splitting.",
    (e) => {
      const [di, dj] = KEYS[e.key] ?? [0, 0];
      if (e.key === "Escape") pick(null);
      else if (dj) choose("method", dj < 0 ? "view" : "transpose");
      else if (di) pick(clamp((state.token ?? -1) + di, state.n));
      else return false;
      return true;
    },
  );
  await load(first);
  return {
    load,
    close: self.close,
    set: (name, value) => go({ [name === "selection" ? "token" : name]: value }),
  };
}
