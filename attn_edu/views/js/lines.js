// Words on the left, words on the right, and a line wherever one looks at the other.
import { tokenColour } from "./palette.js";
import { fit, widest } from "./pen.js";

export class Lines {
  constructor(rows, cols, verb) {
    Object.assign(this, { rows, cols, verb });
  }

  layout(width, height) {
    const most = Math.max(this.rows.length, this.cols.length);
    this.step = Math.max(18, Math.min(30, (height - 40) / most));
    this.every = most * this.step <= 760; // too many words: name only the ones concerned
    this.height = this.every ? Math.ceil(most * this.step + 34) : 560;
    if (!this.every) this.step = (this.height - 34) / most;
    this.width = Math.min(width, 430);
    this.x0 = Math.max(72, widest(this.rows, 12, 110) + 20);
    this.x1 = this.width - widest(this.cols, 12, 110) - 62;
    return this;
  }

  y(k) {
    return 28 + (k + 0.5) * this.step;
  }

  /** The lines to draw, strongest last: [i, j, weight]. */
  pick(weights, { row, col }) {
    const m = this.cols.length,
      found = [];
    const floor = this.every || row !== null || col !== null ? 0.02 : 0.2;
    for (let i = 0; i < this.rows.length; i++) {
      if (row !== null && row !== i) continue;
      for (let j = 0; j < m; j++) {
        if ((col === null || row !== null || col === j) && Math.abs(weights[i * m + j]) >= floor)
          found.push([i, j, weights[i * m + j]]);
      }
    }
    return found.sort((a, b) => Math.abs(a[2]) - Math.abs(b[2])).slice(-3000);
  }

  draw(pen, ink, weights, { row = null, col = null } = {}) {
    const { x0, x1, rows, cols, every } = this,
      one = row !== null || col !== null;
    const found = this.pick(weights, { row, col });
    pen.text("this word", x0 - 14, 12, { size: 11, fill: ink.quiet, align: "right" });
    pen.text(this.verb, x1 + 14, 12, { size: 11, fill: ink.quiet });
    for (const [i, j, signed] of found) {
      const w = Math.abs(signed);
      pen.curve(x0, this.y(i), x1, this.y(j), {
        stroke: tokenColour(i),
        width: 0.8 + 5 * w,
        alpha: Math.min(1, one ? 0.25 + w : 0.1 + 0.8 * w),
      });
    }
    const asked = new Map(),
      seen = new Map();
    for (const [i, j, w] of found) {
      asked.set(i, w);
      seen.set(j, w);
    }
    const side = (words, map, x, out, chosen) => {
      const placed = [];
      for (const k of every
        ? words.keys()
        : one
          ? [chosen ?? -1, ...[...map.keys()].reverse()]
          : []) {
        const y = this.y(k),
          hot = k === chosen,
          named = map.has(k);
        if (k < 0 || (!every && placed.some((p) => Math.abs(p - y) < 15))) continue;
        placed.push(y);
        pen.rect(x + out * 8 - 4, y - 4, 8, 8, { fill: tokenColour(k) });
        pen.text(fit(words[k], 108, 12), x + out * 16, y, {
          align: out < 0 ? "right" : "left",
          bold: hot,
          fill: hot || !one || named ? ink.ink : ink.quiet,
        });
        if (one && named && map === (row === null ? asked : seen)) {
          pen.text(map.get(k).toFixed(2), out < 0 ? 2 : this.width - 4, y, {
            size: 11.5,
            align: out < 0 ? "left" : "right",
            fill: ink.ink,
          });
        }
      }
    };
    side(rows, asked, x0, -1, row);
    side(cols, seen, x1, 1, row === null ? col : null);
    pen.rect(x0 - 0.5, this.y(-0.5), 1, rows.length * this.step, { fill: ink.line });
    pen.rect(x1 - 0.5, this.y(-0.5), 1, cols.length * this.step, { fill: ink.line });
  }

  /** The word at a point: {row} on the left half, {col} on the right; null outside. */
  at(x, y) {
    const k = Math.floor((y - 28) / this.step),
      left = x < (this.x0 + this.x1) / 2;
    if (k < 0 || k >= (left ? this.rows : this.cols).length) return null;
    return left ? { row: k, col: null } : { row: null, col: k };
  }
}
