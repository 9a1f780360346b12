// The attention map with a temperature: what the widget form adds to the self-contained one.
import { slider } from "./controls.js";
import { show } from "./heat.js";
import { mountMap } from "./map.js";
import { temper } from "./math.js";

export function warmSlider(value, move) {
  const now = { temperature: value };
  const go = (u, done) => {
    if (!done) now.temperature = 10 ** (u / 20);
    move(now.temperature, done);
  };
  const range = { min: -20, max: 20, step: 1, value: Math.round(20 * Math.log10(value)) };
  return slider("Temperature", range, (u) => show(10 ** (u / 20)), go);
}

export const mountWarmMap = (host, first, hooks) =>
  mountMap(host, first, { ...hooks, temper, slider: warmSlider });
