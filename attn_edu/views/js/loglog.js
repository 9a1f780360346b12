// Two logarithmic axes, lines told apart by colour and dash, and names at their ends.
import { fit } from "./pen.js";

const DASHED = { solid: [], dash: [9, 5], dot: [2, 4], dashdot: [9, 4, 2, 4] };

/** A number with a prefix, three digits: 1.23 G. */
export function short(x, unit = "") {
  if (x === Infinity) return "never";
  const k = x > 0 ? Math.floor(Math.log10(x * 1.0005) / 3) : 0;
  const at = Math.max(-3, Math.min(6, k)),
    size = x / 10 ** (3 * at);
  const digits = size >= 99.95 || (at === 0 && Number.isInteger(x)) ? 0 : size >= 9.995 ? 1 : 2;
  const letter = ["n", "µ", "m", "", "k", "M", "G", "T", "P", "E"][at + 3];
  return `${size.toFixed(digits)} ${letter}${unit}`.trim();
}

/** The pieces of a line that a dash leaves, each [x0, y0, x1, y1]. */
export function dashes(points, dash) {
  const pattern = DASHED[dash],
    pieces = [];
  let part = 0,
    left = pattern[0] ?? Infinity;
  for (let i = 1; i < points.length; i++) {
    let [x, y] = points[i - 1];
    const [x1, y1] = points[i];
    for (;;) {
      const rest = Math.hypot(x1 - x, y1 - y),
        share = rest > left ? left / rest : 1;
      const [nx, ny] = [x + share * (x1 - x), y + share * (y1 - y)];
      if (part % 2 === 0 && rest > 0) pieces.push([x, y, nx, ny]);
      if (rest <= left) {
        left -= rest;
        break;
      }
      [x, y] = [nx, ny];
      left = pattern[++part % pattern.length];
    }
  }
  return pieces;
}

/** Heights of labels near `wanted`, at least `gap` apart and inside [low, high]. */
export function apartBy(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const placed = [];
  let floor = low;
  for (const i of order) {
    placed[i] = Math.max(wanted[i], floor);
    floor = placed[i] + gap;
  }
  let roof = high;
  for (const i of order.reverse()) {
    placed[i] = Math.min(placed[i], roof);
    roof = placed[i] - gap;
  }
  return placed;
}

const round = (value, unit) => short(value, unit).replace(/\.0+/, "");

/** The powers of ten between two numbers, or every so many of them. */
function decades(low, high) {
  const [a, b] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((b - a) / 7));
  return Array.from({ length: Math.floor((b - a) / step) + 1 }, (_, i) => 10 ** (a + i * step));
}

export class LogLog {
  /** `width` by `height` pixels; both axes run over given [low, high], high above low above 0. */
  constructor(width, height, x, y) {
    Object.assign(this, { width, height, x, y });
    Object.assign(this, { left: 62, right: width - 148, top: 44, bottom: height - 40 });
  }

  px(x) {
    const [low, high] = this.x;
    return this.left + (Math.log(x / low) / Math.log(high / low)) * (this.right - this.left);
  }

  py(y) {
    const [low, high] = this.y;
    return this.bottom - (Math.log(y / low) / Math.log(high / low)) * (this.bottom - this.top);
  }

  stroke(pen, points, style, dash = "solid") {
    for (const piece of dashes(points, dash)) pen.curve(...piece, { alpha: 1, bend: 0, ...style });
  }

  /** Grid, ticks and names. */
  axes(pen, ink, { ticks, xName, yName, unit }) {
    const { left, right, top, bottom } = this,
      quiet = { size: 11.5, fill: ink.quiet };
    pen.text(yName, 4, 12, { size: 13, fill: ink.ink, bold: true });
    pen.text(xName, (left + right) / 2, this.height - 9, { ...quiet, align: "center" });
    const rule = { stroke: ink.line, width: 1 };
    for (const [value, name] of ticks) {
      this.stroke(pen, [[this.px(value), top], [this.px(value), bottom]], rule);
      if (name) pen.text(name, this.px(value), bottom + 13, { ...quiet, align: "center" });
    }
    for (const value of decades(...this.y)) {
      const y = this.py(value);
      this.stroke(pen, [[left, y], [right, y]], rule);
      pen.text(round(value, unit), left - 7, y, { ...quiet, align: "right" });
    }
  }

  /** A second scale at the right, over the lines; `second` is what one second is on the y axis. */
  seconds(pen, ink, second) {
    for (const value of decades(this.y[0] / second, this.y[1] / second)) {
      const [y, name] = [this.py(value * second), round(value, "s")];
      const wide = 7 * name.length;
      pen.rect(this.right - 6 - wide, y - 7, wide + 4, 14, { fill: ink.paper, alpha: 0.75 });
      pen.text(name, this.right - 5, y, { size: 11.5, fill: ink.quiet, align: "right" });
    }
  }

  /** The name of each line beside its end: `ends` are {name, y, colour}. */
  names(pen, ink, ends) {
    const at = apartBy(ends.map((end) => end.y), 15, this.top, this.bottom);
    ends.forEach(({ name, y, colour, bold }, i) => {
      pen.curve(this.right + 1, y, this.right + 14, at[i], { stroke: colour, width: 1, alpha: 1 });
      const room = this.width - this.right - 20;
      pen.text(fit(name, room, 12), this.right + 18, at[i], { size: 12, fill: ink.ink, bold });
    });
  }
}
