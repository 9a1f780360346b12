// The attention map with a temperature: what the widget form adds to the self-contained one.
import { temperatureSlider } from "./controls.js";
import { mountMap } from "./map.js";
import { temper } from "./math.js";

export const mountWarmMap = (host, first, hooks) =>
  mountMap(host, first, { ...hooks, temper, slider: temperatureSlider });
