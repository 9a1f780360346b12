// Splitting heads: where each number of (n, h·d) lands under `view` alone and under `view` and `transpose`.
import { KEYS, board, button, clamp, exporters, make, shell } from "./controls.js";
import { bytesOf, inkOn, tokenColour } from "./palette.js";
import { CanvasPen, fit, textWidth } from "./pen.js";

const HOW = {
  view: "x.view(B, h, n, d)",
  transpose: "x.view(B, n, h, d).transpose(1, 2)",
};

/** The flat place in (n, h·d) that stands at head, row, column after the split. */
export function source(how, { n, heads, d }, head, row, column) {
  return how === "view" ? (head * n + row) * d + column : row * heads * d + head * d + column;
}

export async function mountSplit(host, first, hooks = {}) {
  let data;
  const state = { method: "view", token: null };
  const tell = (name, value) => hooks.changed?.(name, value, true);
  const self = shell(host, () => render());
  const go = (change) => { Object.assign(state, change); render(); };
  const pick = (token) => { go({ token: token === state.token ? null : token }); tell("selection", state.token); };
  const ways = Object.keys(HOW).map((how) => button(HOW[how], () => { go({ method: how }); tell("method", how); }));

  // Every panel: a title, row labels, and cells that name their origin: [token, feature].
  const width = () => data.heads * data.d;
  const panels = () => [
    { title: `x: (n, h·d) = (${data.n}, ${width()})`, rows: data.n, cols: width(), from: (i, c) => i * width() + c },
    ...Array.from({ length: data.heads }, (_, h) => ({
      title: `head ${h}: (n, d) = (${data.n}, ${data.d})`, head: h, rows: data.n, cols: data.d,
      from: (i, c) => source(state.method, data, h, i, c),
    })),
  ];
  const right = (h, i, at) => Math.floor(at / width()) === i && Math.floor((at % width()) / data.d) === h;
  const cell = () => Math.max(18, Math.min(40, (self.width - labels() - 8) / width()));
  const labels = () => Math.min(90, Math.max(...data.tokens.map((t) => textWidth(t, 12)))) + 24;
  const size = (p) => [Math.max(labels() + p.cols * cell() + 6, 190), 26 + p.rows * 26 + 6];

  function drawPanel(pen, p) {
    const cw = cell(), left = labels(), top = 26, ch = 26;
    pen.text(p.title, 4, 11, { size: 13, fill: self.ink.ink, bold: true });
    for (let i = 0; i < p.rows; i++) {
      const y = top + i * ch, hot = state.token === i;
      pen.text(fit(data.tokens[i], left - 22, 12), left - 18, y + ch / 2, { size: 12, align: "right", fill: hot ? self.ink.ink : self.ink.quiet, bold: hot });
      pen.rect(left - 13, y + ch / 2 - 4, 8, 8, { fill: tokenColour(i) });
      for (let c = 0; c < p.cols; c++) {
        const at = p.from(i, c), token = Math.floor(at / width()), x = left + c * cw;
        const dim = state.token !== null && state.token !== token;
        const fill = tokenColour(token);
        pen.rect(x + 0.75, y + 0.75, cw - 1.5, ch - 1.5, { fill, alpha: dim ? 0.16 : 1 });
        const name = cw >= 30 ? `${token}·${at % width()}` : at % width();
        pen.text(name, x + cw / 2, y + ch / 2 + 0.5, { size: 11, align: "center", fill: dim ? self.ink.quiet : inkOn(bytesOf(fill)) });
      }
    }
    if (p.head === undefined) for (let h = 1; h < data.heads; h++) pen.rect(left + h * data.d * cw - 1, top - 4, 2, p.rows * ch + 8, { fill: self.ink.ink });
  }

  function sentence() {
    const { n, heads, d, tokens } = data, landed = Array.from({ length: heads }, () => new Set());
    let good = 0, all = n * width();
    for (let h = 0; h < heads; h++) for (let i = 0; i < n; i++) for (let c = 0; c < d; c++) {
      const at = source(state.method, data, h, i, c);
      good += right(h, i, at);
      if (Math.floor(at / width()) === state.token) landed[h].add(i);
    }
    const place = `${good} of ${all} numbers stand in the right head and row.`;
    if (state.token === null) return place;
    const where = landed.map((rows, h) => rows.size && `head ${h}: row${rows.size > 1 ? "s" : ""} ${[...rows].join(", ")}`).filter(Boolean);
    return `“${tokens[state.token]}” lands in ${where.join("; ")}. ${place}`;
  }

  let drawn = [];
  function render() {
    if (!data) return;
    ways.forEach((w, k) => w.setAttribute("aria-pressed", Object.keys(HOW)[k] === state.method));
    const list = panels();
    if (drawn.length !== list.length) {
      drawn = list.map(() => board("", { click: (p) => {
        const i = Math.floor((p[1] - 26) / 26);
        if (i >= 0 && i < data.n) pick(i);
      } }));
      self.stage.replaceChildren(drawn[0], make("i", { className: "break" }), ...drawn.slice(1));
    }
    list.forEach((p, k) => {
      drawPanel(new CanvasPen(drawn[k], ...size(p), self.ink.paper), p);
      drawn[k].setAttribute("aria-label", p.title);
    });
    self.say.textContent = sentence();
    self.tip.textContent = `A cell reads ${cell() >= 30 ? "word·feature" : "the feature; its colour is the word's"}. Click a word, or use the arrow keys, to see where its features land.`;
  }
  async function load(next) {
    data = next;
    Object.assign(state, { method: next.method, token: next.selection ?? null });
    const places = () => {
      let y = 0, x = 0, wide = 0;
      const list = panels().map((p, k) => {
        const [w, h] = size(p);
        if (k === 1 || x + w > 1200) { y += h + 12; x = 0; }
        const at = [p, x, y];
        x += w + 14;
        wide = Math.max(wide, x);
        return at;
      });
      return { list, size: [wide, y + size(list[0][0])[1]] };
    };
    const saves = exporters(self, data.name, () => places().size, (pen) => {
      for (const [p, x, y] of places().list) pen.group(x, y, () => drawPanel(pen, p));
    });
    self.bar.replaceChildren(...ways, saves);
    render();
  }
  self.stage.tabIndex = 0;
  self.stage.setAttribute("role", "application");
  self.stage.setAttribute("aria-label", "Where each word's features land. Up and down choose a word, left and right the way of splitting.");
  self.stage.addEventListener("keydown", (e) => {
    const move = KEYS[e.key];
    if (move?.[1]) { go({ method: move[1] < 0 ? "view" : "transpose" }); tell("method", state.method); }
    else if (move) { go({ token: clamp((state.token ?? -1) + move[0], data.n) }); tell("selection", state.token); }
    else if (e.key === "Escape") { go({ token: null }); tell("selection", null); }
    else return;
    e.preventDefault();
  });
  await load(first);
  return { load, close: self.close, set: (name, value) => go(name === "selection" ? { token: value } : { [name]: value }) };
}
