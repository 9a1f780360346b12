// All heads at once: one small picture a head, layers downwards, heads to the right.
import { Heat } from "./heat.js";

const LEFT = 34,
  TOP = 22;

export class Grid {
  constructor({ layers, heads, n, m }) {
    Object.assign(this, { layers, heads, n, m, key: null });
  }

  layout(width) {
    const side = (this.side = Math.min(120, (width - LEFT - 4) / this.heads));
    this.width = LEFT + side * this.heads + 4;
    this.height = TOP + side * this.layers + 4;
    return this;
  }

  /** Paint each head by `paint(heat, layer, head)`; nothing is done again for the same `key`. */
  paint(key, paint) {
    if (this.key === key) return;
    this.key = key;
    this.pictures = Array.from({ length: this.layers * this.heads }, (_, k) => {
      const heat = new Heat({ n: this.n, m: this.m, rows: [], cols: [] });
      paint(heat, Math.floor(k / this.heads), k % this.heads);
      return heat.pixels;
    });
  }

  /** `spot` = [layer, head] under the cursor, `now` = the one that is open. */
  draw(pen, ink, spot, now) {
    const { side, heads, layers } = this,
      style = { size: 11, fill: ink.quiet };
    for (let c = 0; c < heads; c++)
      pen.text(c, LEFT + (c + 0.5) * side, 10, { ...style, align: "center" });
    for (let r = 0; r < layers; r++)
      pen.text(r, LEFT - 6, TOP + (r + 0.5) * side, { ...style, align: "right" });
    this.pictures.forEach((picture, k) => {
      const r = Math.floor(k / heads),
        c = k % heads,
        is = (at) => at && at[0] === r && at[1] === c;
      const box = [LEFT + c * side + 1.5, TOP + r * side + 1.5, side - 3, side - 3];
      const stroke = is(spot) ? ink.focus : is(now) ? ink.ink : null;
      pen.image(picture, ...box);
      pen.rect(...box, { stroke: stroke ?? ink.line, width: stroke ? 2 : 1 });
    });
  }

  /** The [layer, head] at a point, or null. */
  at(x, y) {
    const c = Math.floor((x - LEFT) / this.side),
      r = Math.floor((y - TOP) / this.side);
    return c >= 0 && r >= 0 && c < this.heads && r < this.layers ? [r, c] : null;
  }
}
