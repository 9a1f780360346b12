// A matrix of cells with words on two sides: layout, pixels, labels, and which cell is under the pointer.
import { bytesOf, css, tokenColour } from "./palette.js";
import { fit, textWidth, widest } from "./pen.js";

const LEGIBLE = 8.5; // the least height of a row, in pixels, that a word can stand beside
export const clamp255 = (x) => (x > 255 ? 255 : x < 0 ? 0 : Math.round(x));

export class Heat {
  /** `rows`, `cols`: words ([] for none); `colChips`: columns have the colours of words. */
  constructor({ n, m, rows, cols, colChips = true }) {
    Object.assign(this, { n, m, rows, cols, colChips });
    this.pixels = document.createElement("canvas");
  }

  /** The room that words take beside cells of width `cw`; `bare`: rows have chips, and no words. */
  margins(cw) {
    const { rows, cols, m, bare } = this,
      size = (this.size = cw < LEGIBLE ? 12 : Math.min(12, Math.max(9, cw)));
    this.left = !rows.length ? 4 : bare ? 14 : widest(rows, size, 96) + 24;
    this.right = 6;
    this.slope = 6;
    this.showCols = cols.length > 0 && cw >= LEGIBLE;
    this.turn = cw < 16 ? -90 : -45;
    if (!cols.length) return this;
    const chip = this.colChips ? 14 : 4,
      wide = widest(cols, size, 96);
    this.flat = !this.showCols || wide + 4 <= cw;
    this.slope = chip + (this.flat ? 16 : this.turn < -45 ? wide + 6 : wide * 0.72 + 12);
    if (!this.flat && this.turn > -90) {
      cols.forEach((w, j) => {
        const end = Math.min(92, textWidth(w, 12)) * 0.72 - (m - j - 0.5) * cw;
        this.right = Math.max(this.right, end + 8);
      });
    }
    return this;
  }

  /** The widest cell, up to `most`, with which all fits into `width`; labels go where they crowd. */
  cellFor(width, most) {
    const room = (cw) => (this.margins(cw), (width - this.left - this.right) / this.m);
    let cw = most;
    for (let k = 0; k < 4; k++) cw = Math.min(most, room(Math.max(LEGIBLE, cw)));
    return cw >= LEGIBLE ? cw : Math.max(0.1, Math.min(LEGIBLE - 0.1, room(0)));
  }

  /** Cells of `cw` by `ch` CSS pixels, under a title of `title` pixels. */
  layout(cw, ch, title = 0, slope = 0) {
    this.margins(cw);
    this.size = Math.min(this.size, Math.max(9, ch));
    Object.assign(this, { cw, ch, top: title + Math.max(slope, this.slope) });
    this.showRows = this.rows.length > 0 && ch >= LEGIBLE;
    this.width = Math.ceil(this.left + this.m * cw + this.right);
    this.height = Math.ceil(this.top + this.n * ch + 6);
    return this;
  }

  /**
   * Colour every cell: code = zero + gain · value, or · √value; `gain` may differ from row to row.
   * NaN has a colour of its own; cells in `hidden` stay paper.
   */
  paint(values, { colours, zero = 0, gain, root = false }, ink, hidden) {
    const { n, m, pixels } = this;
    Object.assign(this, { values, hidden, colours, scale: { zero, gain, root } });
    if (pixels.width !== m || pixels.height !== n) Object.assign(pixels, { width: m, height: n });
    const context = pixels.getContext("2d"),
      image = (this.image ??= context.createImageData(m, n));
    const cells = new Uint32Array(image.data.buffer);
    const pack = ([r, g, b]) => 0xff000000 | (b << 16) | (g << 8) | r;
    const packed = Uint32Array.from(colours, pack);
    const [paper, bad] = [ink.paper, ink.bad].map((hex) => pack(bytesOf(hex)));
    for (let i = 0, c = 0; i < n; i++) {
      const by = typeof gain === "number" ? gain : gain[i];
      for (let j = 0; j < m; j++, c++) {
        const x = values[c];
        cells[c] =
          hidden && hidden[c]
            ? paper
            : x !== x
              ? bad
              : packed[clamp255(zero + by * (root ? Math.sqrt(x) : x))];
      }
    }
    context.putImageData(image, 0, 0);
  }

  /** `at` = {i, j} under the pointer; `row`, `col` = chosen words. */
  draw(pen, ink, { at = null, row = null, col = null } = {}) {
    const { n, m, cw, ch, left, top, hidden } = this,
      w = m * cw,
      h = n * ch,
      thin = ch < 6;
    pen.image(this.pixels, left, top, w, h);
    if (hidden) this.drawHidden(pen, ink);
    if (cw >= 8 && ch >= 8) {
      for (let i = 1; i < n; i++) pen.rect(left, top + i * ch - 0.25, w, 0.5, { fill: ink.paper });
      for (let j = 1; j < m; j++) pen.rect(left + j * cw - 0.25, top, 0.5, h, { fill: ink.paper });
    }
    this.drawNumbers?.(pen);
    pen.rect(left, top, w, h, { stroke: ink.line });
    const mark = (i, j, rows, cols) =>
      pen.rect(
        left + j * cw - thin,
        top + i * ch - thin,
        cols * cw + 2 * thin,
        rows * ch + 2 * thin,
        { stroke: ink.focus, width: thin ? 1 : 2 },
      );
    if (row !== null) mark(row, 0, 1, m);
    if (col !== null) mark(0, col, n, 1);
    if (at && at.i >= 0 && at.j >= 0) mark(at.i, at.j, 1, 1);
    this.drawLabels(pen, ink, at, row, col);
  }

  drawHidden(pen, ink) {
    const { n, m, cw, ch, left, top, hidden } = this,
      boxes = [];
    for (let i = 0; i < n; i++) {
      for (let j = 0, from = 0; j <= m; j++) {
        if (j < m && hidden[i * m + j]) continue;
        if (j > from) boxes.push([left + from * cw, top + i * ch, (j - from) * cw, ch]);
        from = j + 1;
      }
    }
    pen.hatch(boxes, ink.hatch);
  }

  drawLabels(pen, ink, at, row, col) {
    const { cw, ch, left, top, size, width, bare } = this,
      side = size / 1.5;
    const chip = (x, y, k) => pen.rect(x - side / 2, y - side / 2, side, side, { fill: tokenColour(k) });
    this.rows.forEach((word, i) => {
      const hot = i === row || (at && at.i === i);
      if (!hot && !this.showRows) return;
      const y = top + (i + 0.5) * ch;
      chip(left - 9, y, i);
      if (bare) return;
      pen.text(fit(word, left - 22, size), left - 18, y, {
        size,
        align: "right",
        fill: hot ? ink.ink : ink.quiet,
        bold: hot,
      });
    });
    this.cols.forEach((word, j) => {
      const hot = j === col || (at && at.j === j);
      if (!hot && !this.showCols) return;
      const x = left + (j + 0.5) * cw,
        text = fit(word, 92, size),
        half = textWidth(text, size) / 2 + 2;
      const style = { size, fill: hot ? ink.ink : ink.quiet, bold: hot },
        y = top - (this.colChips ? 20 : 9);
      if (this.colChips) chip(x, top - 8, j);
      if (this.flat)
        pen.text(text, Math.min(width - half, Math.max(half, x)), y, { ...style, align: "center" });
      else pen.text(text, x - (this.turn > -90) * 2, y + 3, { ...style, turn: this.turn });
    });
  }

  /** The cell at a point: {i, j}, with -1 for the label side; null outside. */
  at(x, y) {
    const j = Math.floor((x - this.left) / this.cw),
      i = Math.floor((y - this.top) / this.ch);
    if (i >= this.n || j >= this.m || (i < 0 && j < 0)) return null;
    return { i: Math.max(-1, i), j: Math.max(-1, j) };
  }
}

/** A ramp with its two ends named, so that a saved picture says what its colours mean. */
export function drawLegend(pen, ink, { colours, low, high }, x, y) {
  const width = 150,
    step = width / 64,
    style = { size: 11, fill: ink.quiet };
  for (let k = 0; k < 64; k++)
    pen.rect(x + k * step, y, step + 0.5, 8, { fill: css(colours[k * 4 + 3]) });
  pen.rect(x, y, width, 8, { stroke: ink.line });
  pen.text(low, x, y + 17, style);
  pen.text(high, x + width, y + 17, { ...style, align: "right" });
}
