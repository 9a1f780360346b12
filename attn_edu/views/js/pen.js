// One set of strokes, two pens: a canvas on the screen and an SVG file for export.

export const FONT =
  'system-ui, "Segoe UI", "Noto Sans", "Noto Sans CJK TC", "DejaVu Sans", sans-serif';
const make2d = (width, height) =>
  Object.assign(document.createElement("canvas"), { width, height });
let ruler;
export function textWidth(text, size) {
  ruler ??= make2d(1, 1).getContext("2d");
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}
/** The room that the widest of some words takes, at least 10 and at most `most`. */
export const widest = (words, size, most) =>
  Math.min(most, Math.max(10, ...words.slice(0, 400).map((w) => textWidth(w, size))));
/** A label that fits, cut with an ellipsis when it must be. */
export function fit(text, width, size) {
  if (textWidth(text, size) <= width) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && textWidth(letters.join("") + "…", size) > width) letters.pop();
  return letters.join("") + "…";
}

export class CanvasPen {
  constructor(canvas, width, height, paper) {
    const ratio = globalThis.devicePixelRatio || 1;
    const w = Math.round(width * ratio),
      h = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    canvas.style.width = `${width}px`;
    this.c = canvas.getContext("2d");
    this.c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.rect(0, 0, width, height, { fill: paper });
  }
  group(x, y, draw) {
    this.c.save();
    this.c.translate(x, y);
    draw(this);
    this.c.restore();
  }
  rect(x, y, w, h, { fill, stroke, width = 1, alpha = 1 }) {
    this.c.globalAlpha = alpha;
    if (fill) {
      this.c.fillStyle = fill;
      this.c.fillRect(x, y, w, h);
    }
    if (stroke) {
      this.c.strokeStyle = stroke;
      this.c.lineWidth = width;
      this.c.strokeRect(x, y, w, h);
    }
    this.c.globalAlpha = 1;
  }
  dot(x, y, r, fill) {
    this.c.fillStyle = fill;
    this.c.beginPath();
    this.c.arc(x, y, r, 0, 7);
    this.c.fill();
  }
  text(text, x, y, { size = 12, fill, align = "left", bold, turn = 0 }) {
    const c = this.c;
    c.save();
    c.translate(x, y);
    c.rotate((turn * Math.PI) / 180);
    c.font = `${bold ? 600 : 400} ${size}px ${FONT}`;
    c.fillStyle = fill;
    c.textAlign = align;
    c.textBaseline = "middle";
    c.fillText(text, 0, 0);
    c.restore();
  }
  /** `bend` is how far a curve leaves its ends level; 0 makes it straight. */
  curve(x0, y0, x1, y1, { stroke, width, alpha, bend = (x1 - x0) / 2 }) {
    const c = this.c;
    c.globalAlpha = alpha;
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    c.stroke();
    c.globalAlpha = 1;
  }
  image(bitmap, x, y, w, h) {
    this.c.imageSmoothingEnabled = w < bitmap.width;
    this.c.drawImage(bitmap, x, y, w, h);
  }
  hatch(boxes, stroke) {
    const tile = make2d(6, 6),
      t = tile.getContext("2d");
    t.strokeStyle = stroke;
    t.beginPath();
    for (const k of [-6, 0, 6]) {
      t.moveTo(k, 6);
      t.lineTo(k + 6, 0);
    }
    t.stroke();
    this.c.fillStyle = this.c.createPattern(tile, "repeat");
    this.c.beginPath();
    for (const box of boxes) this.c.rect(...box);
    this.c.fill();
  }
}

const escapeXml = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
export class SvgPen {
  constructor(width, height, paper) {
    this.size = [width, height];
    this.parts = [];
    this.rect(0, 0, width, height, { fill: paper });
  }
  add(part) {
    this.parts.push(part);
  }
  group(x, y, draw) {
    this.add(`<g transform="translate(${x} ${y})">`);
    draw(this);
    this.add("</g>");
  }
  rect(x, y, w, h, { fill = "none", stroke = "none", width = 1, alpha = 1 }) {
    this.add(
      `<rect x="${x}" y="${y}" width="${w}" height="${h}" fill="${fill}" stroke="${stroke}" stroke-width="${width}" opacity="${alpha}"/>`,
    );
  }
  dot(x, y, r, fill) {
    this.add(`<circle cx="${x}" cy="${y}" r="${r}" fill="${fill}"/>`);
  }
  text(text, x, y, { size = 12, fill, align = "left", bold, turn = 0 }) {
    const anchor = { left: "start", right: "end", center: "middle" }[align];
    this.add(
      `<text transform="translate(${x} ${y}) rotate(${turn})" dy=".35em" font-size="${size}" fill="${fill}" text-anchor="${anchor}"${bold ? ' font-weight="600"' : ""}>${escapeXml(text)}</text>`,
    );
  }
  curve(x0, y0, x1, y1, { stroke, width, alpha, bend = (x1 - x0) / 2 }) {
    this.add(
      `<path d="M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}" fill="none" stroke="${stroke}" stroke-width="${width}" opacity="${alpha}"/>`,
    );
  }
  image(bitmap, x, y, w, h) {
    this.add(
      `<image href="${bitmap.toDataURL()}" x="${x}" y="${y}" width="${w}" height="${h}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`,
    );
  }
  hatch(boxes, stroke) {
    const d = boxes.map(([x, y, w, h]) => `M${x} ${y}h${w}v${h}h${-w}z`).join("");
    this.add(
      `<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-6 6L0 0M0 6L6 0M6 6L12 0" stroke="${stroke}"/></pattern><path d="${d}" fill="url(#hatch)"/>`,
    );
  }
  toString() {
    const [w, h] = this.size;
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" font-family="${escapeXml(FONT)}">${this.parts.join("")}</svg>`;
  }
}
