// A matrix of cells with words on two sides: layout, pixels, labels, and which cell is under the pointer.
import { css, inkOn, tokenColour } from "./palette.js";
import { fit, textWidth } from "./pen.js";

export const show = (x, digits = 2) => {
  if (Number.isNaN(x)) return "NaN";
  if (x === -Infinity) return "−∞";
  return x.toFixed(digits).replace("-", "−");
};

export class Heat {
  /** `rows`, `cols`: words ([] for none); `numbers`: write numbers in cells that are wide enough. */
  constructor({ n, m, rows, cols, chips = true, numbers = false }) {
    Object.assign(this, { n, m, rows, cols, chips, numbers });
    this.pixels = document.createElement("canvas");
  }

  /** Fit into `width` CSS pixels; cells no larger than `largest`. */
  layout(width, largest = 34, title = 0) {
    const size = (this.size = 12);
    const widest = (words) => Math.min(96, Math.max(8, ...words.slice(0, 400).map((w) => textWidth(w, size))));
    this.left = this.rows.length ? widest(this.rows) + 24 : 4;
    const room = width - this.left - 6;
    this.cw = Math.min(largest, room / this.m);
    this.ch = Math.min(this.cw, largest, Math.max(this.cw, 600 / this.n));
    if (this.numbers && this.cw >= 30) this.ch = Math.min(26, this.ch);
    this.showRows = this.rows.length && this.ch >= 11;
    this.showCols = this.cols.length && this.cw >= 11;
    this.flat = this.cols.length && widest(this.cols) + 4 <= this.cw;
    const slope = this.cols.length ? (this.flat ? 24 : widest(this.cols) * 0.72 + 26) : 6;
    this.top = title + slope;
    // room for a tilted last label
    this.right = this.cols.length && !this.flat ? Math.max(6, widest(this.cols.slice(-3)) * 0.72) : 6;
    if (this.left + this.m * this.cw + this.right > width && this.m * this.cw > 40) {
      this.cw = Math.max(0.2, (width - this.left - this.right) / this.m);
      this.ch = Math.min(this.ch, this.cw >= 30 && this.numbers ? 26 : this.cw);
    }
    this.width = Math.ceil(this.left + this.m * this.cw + this.right);
    this.height = Math.ceil(this.top + this.n * this.ch + 6);
    return this;
  }

  /** Colour every cell: `codeOf(value, row)` gives 0..255, or null for a cell without a number. */
  paint(values, offset, colours, codeOf, bad) {
    const { n, m, pixels } = this;
    Object.assign(this, { values, offset, colours, codeOf });
    pixels.width = m;
    pixels.height = n;
    const context = pixels.getContext("2d"), image = context.createImageData(m, n);
    const cells = new Uint32Array(image.data.buffer);
    const packed = colours.map(([r, g, b]) => 0xff000000 | (b << 16) | (g << 8) | r);
    const [r, g, b] = [1, 3, 5].map((k) => parseInt(bad.slice(k, k + 2), 16));
    const hole = 0xff000000 | (b << 16) | (g << 8) | r;
    for (let i = 0, c = 0; i < n; i++) {
      for (let j = 0; j < m; j++, c++) {
        const code = codeOf(values[offset + c], i);
        cells[c] = code === null ? hole : packed[code];
      }
    }
    context.putImageData(image, 0, 0);
  }

  /** `hidden[c]` = 1 where a cell may not attend. `at` = {i, j} under the pointer, `row` = chosen row. */
  draw(pen, ink, { at = null, row = null, col = null, hidden = null, title = "" } = {}) {
    const { n, m, cw, ch, left, top } = this, w = m * cw, h = n * ch;
    if (title) pen.text(title, left, 12, { size: 13, fill: ink.ink, bold: true });
    pen.image(this.pixels, left, top, w, h);
    if (hidden) this.drawHidden(pen, ink, hidden);
    if (this.numbers && cw >= 30 && ch >= 14) this.drawNumbers(pen, hidden);
    else if (cw >= 8) {
      for (let i = 1; i < n; i++) pen.rect(left, top + i * ch - 0.25, w, 0.5, { fill: ink.paper });
      for (let j = 1; j < m; j++) pen.rect(left + j * cw - 0.25, top, 0.5, h, { fill: ink.paper });
    }
    pen.rect(left, top, w, h, { stroke: ink.line });
    const mark = (i, j, rows, cols) =>
      pen.rect(left + j * cw, top + i * ch, cols * cw, rows * ch, { stroke: ink.focus, width: 2 });
    if (row !== null) mark(row, 0, 1, m);
    if (col !== null) mark(0, col, n, 1);
    if (at && at.i >= 0 && at.j >= 0) mark(at.i, at.j, 1, 1);
    this.drawLabels(pen, ink, at, row, col);
  }

  drawHidden(pen, ink, hidden) {
    const { n, m, cw, ch, left, top } = this, boxes = [];
    for (let i = 0; i < n; i++) {
      for (let j = 0, from = 0; j <= m; j++) {
        if (j < m && hidden[i * m + j]) continue;
        if (j > from) boxes.push([left + from * cw, top + i * ch, (j - from) * cw, ch]);
        from = j + 1;
      }
    }
    for (const [x, y, w, h] of boxes) pen.rect(x, y, w, h, { fill: ink.paper });
    pen.hatch(boxes, ink.quiet);
  }

  drawNumbers(pen, hidden) {
    const { n, m, cw, ch, left, top } = this;
    for (let c = 0; c < n * m; c++) {
      const i = Math.floor(c / m), value = this.values[this.offset + c];
      if (hidden && hidden[c]) continue;
      const code = this.codeOf(value, i);
      const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
      pen.text(show(value, digits), left + ((c % m) + 0.5) * cw, top + (i + 0.5) * ch + 0.5,
        { size: 10.5, align: "center", fill: code === null ? "#fff" : inkOn(this.colours[code]) });
    }
  }

  drawLabels(pen, ink, at, row, col) {
    const { cw, ch, left, top, size } = this;
    this.rows.forEach((word, i) => {
      const hot = i === row || (at && at.i === i);
      if (!hot && !this.showRows) return;
      const y = top + (i + 0.5) * ch;
      pen.text(fit(word, left - 22, size), left - 18, y, { size, align: "right", fill: hot ? ink.ink : ink.quiet, bold: hot });
      if (this.chips) pen.rect(left - 13, y - 4, 8, 8, { fill: tokenColour(i) });
    });
    this.cols.forEach((word, j) => {
      const hot = j === col || (at && at.j === j);
      if (!hot && !this.showCols) return;
      const x = left + (j + 0.5) * cw, flat = this.flat;
      const style = { size, fill: hot ? ink.ink : ink.quiet, bold: hot };
      if (this.chips) pen.rect(x - 4, top - 12, 8, 8, { fill: tokenColour(j) });
      if (flat) pen.text(word, x, top - (this.chips ? 20 : 9), { ...style, align: "center" });
      else pen.text(fit(word, 92, size), x - 2, top - (this.chips ? 17 : 7), { ...style, turn: -45 });
    });
  }

  /** The cell at a point: {i, j}, with -1 for the label side; null outside. */
  at(x, y) {
    const j = Math.floor((x - this.left) / this.cw), i = Math.floor((y - this.top) / this.ch);
    if (i >= this.n || j >= this.m || (i < 0 && j < 0)) return null;
    return { i: Math.max(-1, i), j: Math.max(-1, j) };
  }
}

/** A ramp with its two ends named, so that a saved picture says what its colours mean. */
export function drawLegend(pen, ink, colours, x, y, width, low, high) {
  const step = width / 64;
  for (let k = 0; k < 64; k++) pen.rect(x + k * step, y, step + 0.5, 8, { fill: css(colours[k * 4 + 3]) });
  pen.rect(x, y, width, 8, { stroke: ink.line });
  pen.text(low, x, y + 17, { size: 11, fill: ink.quiet });
  pen.text(high, x + width, y + 17, { size: 11, fill: ink.quiet, align: "right" });
}
