// A matrix with a number in each cell that is wide enough for one.
import { Heat, clamp255 } from "./heat.js";
import { inkOn } from "./palette.js";
import { show } from "./words.js";

export const LEAST = 30; // the least width of a cell, in pixels, for a number

export class NumberedHeat extends Heat {
  /** The colour of one cell, as bytes; null for NaN. */
  colourAt(i, value) {
    const { zero, gain, root } = this.scale,
      by = gain[i] ?? gain;
    return value !== value
      ? null
      : this.colours[clamp255(zero + by * (root ? Math.sqrt(value) : value))];
  }

  drawNumbers(pen) {
    const { n, m, cw, ch, left, top, hidden } = this;
    if (cw < LEAST || ch < 14) return;
    for (let c = 0; c < n * m; c++) {
      if (hidden && hidden[c]) continue;
      const i = Math.floor(c / m),
        value = this.values[c],
        rgb = this.colourAt(i, value);
      const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
      pen.text(show(value, digits), left + ((c % m) + 0.5) * cw, top + (i + 0.5) * ch + 0.5, {
        size: Math.min(10.5, cw * 0.3),
        align: "center",
        fill: rgb ? inkOn(rgb) : "#fff",
      });
    }
  }
}
