// From weights to colours: a ramp, how values fall on it, and the words at its two ends.
import { ramp } from "./palette.js";
import { show } from "./words.js";

/** For `Heat.paint` and the legend. `colour`: "linear", "sqrt" or "row"; negatives get two sides. */
export function weightShades(values, n, m, colour, dark) {
  let least = 0,
    most = 1;
  for (const v of values) {
    if (v < least) least = v;
    if (v > most) most = v;
  }
  if (least < 0) {
    const far = values.reduce((a, v) => (v > a ? v : a), -least);
    return {
      colours: ramp("score", dark),
      zero: 128,
      gain: 127 / far,
      low: show(-far),
      high: show(far),
    };
  }
  const shades = { colours: ramp("weight", dark), low: "0", high: show(most, most === 1 ? 0 : 2) };
  if (colour === "linear") return { ...shades, gain: 255 / most };
  if (colour === "sqrt")
    return {
      ...shades,
      root: true,
      gain: 255 / Math.sqrt(most),
      high: `${shades.high} (square root)`,
    };
  const tops = new Float64Array(n);
  values.forEach((v, c) => {
    const i = Math.floor(c / m);
    if (v > tops[i]) tops[i] = v;
  });
  return { ...shades, gain: tops.map((top) => 255 / (top || 1)), high: "largest of its row" };
}
