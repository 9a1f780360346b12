// The shell around a view: theme, size, keyboard, native labelled controls, a line that is read aloud.
import { themeInks } from "./palette.js";
import { CanvasPen, SvgPen } from "./pen.js";
import { STYLE } from "./style.js";

export function make(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

export const listen = (node, kind, act) => node.addEventListener(kind, act);

export function menu(text, options, change) {
  const item = ([value, name]) => make("option", { value, textContent: name });
  const box = make("select", { "aria-label": text }, ...options.map(item));
  listen(box, "change", () => change(box.value));
  return { node: make("label", {}, text, box), set: (value) => (box.value = value) };
}

/**
 * A range input. It stands at a position; `from(value)` and `to(position)` convert, `words()` says
 * where it stands; `move(value, done)` runs on each step, and once more at its release.
 */
export function slider(text, { min, max, step, value, from, to, words }, move) {
  const box = make("input", {
    type: "range",
    min,
    max,
    step,
    value: from(value),
    "aria-label": text,
  });
  const said = make("output");
  const tell = () => {
    said.textContent = words();
    box.setAttribute("aria-valuetext", said.textContent);
  };
  const act = (done) => () => {
    if (!done) value = to(+box.value);
    move(value, done);
    tell();
  };
  listen(box, "input", act(false));
  listen(box, "change", act(true));
  const set = (next) => {
    if (next !== value) box.value = from(next);
    value = next;
    tell();
  };
  return { node: make("label", {}, text, box, said), set };
}

/** A slider from 0.1 to 10 that stands at 1 in its middle. */
export function temperatureSlider(start, move) {
  let now = start;
  const go = (value, done) => move((now = value), done);
  const range = { min: -20, max: 20, step: 1, value: start, words: () => now.toFixed(2) };
  const box = slider(
    "Temperature",
    { ...range, from: (t) => Math.round(20 * Math.log10(t)), to: (u) => 10 ** (u / 20) },
    go,
  );
  return { node: box.node, set: (value) => box.set((now = value)) };
}

export function button(text, click, props = {}) {
  const node = make("button", { type: "button", textContent: text, ...props });
  listen(node, "click", click);
  return node;
}

/** Dark or light: the notebook's own word, else the colour behind us, else what the system prefers; light on paper. */
export function isDark(node) {
  if (matchMedia("print").matches) return false;
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "false";
  if (vscodeThemeKind) return !vscodeThemeKind.endsWith("light");
  for (let at = node; at; at = at.parentElement) {
    const [r, g, b, a = 1] = (
      getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [0, 0, 0, 0]
    ).map(Number);
    if (a > 0.5) return 0.299 * r + 0.587 * g + 0.114 * b < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** A number kept in `least`..n-1. */
export const clamp = (k, n, least = 0) => Math.min(n - 1, Math.max(least, k));

/** `redraw()` runs on a new width or theme. */
export function shell(host, redraw) {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const bar = make("div", { className: "bar" }),
    stage = make("div", { className: "stage" });
  const say = make("p", { className: "say", role: "status" }),
    tip = make("p", { className: "tip" });
  const view = make("div", { className: "view" }, bar, stage, say, tip);
  shadow.replaceChildren(make("style", { textContent: STYLE }), view);
  const tell = (words) => {
    if (say.textContent !== words) say.textContent = words;
  };
  const self = { tell, bar, stage, say, tip, view, dark: false, ink: themeInks(false), width: 0 };
  const theme = () => {
    self.dark = isDark(host.parentElement ?? document.body);
    self.ink = themeInks(self.dark);
    for (const [name, value] of Object.entries(self.ink))
      view.style.setProperty(`--${name}`, value);
    view.style.colorScheme = self.dark ? "dark" : "light";
  };
  const measure = () => Math.max(220, Math.floor(view.clientWidth - 24));
  theme();
  self.width = measure();
  // Notebook shortcuts ("d d" deletes a cell) must not hear keys that are meant for us.
  listen(view, "keydown", (e) => {
    if (e.key !== "Tab") e.stopPropagation();
  });
  const sized = new ResizeObserver(() => {
    const width = measure();
    if (view.clientWidth && width !== self.width) {
      self.width = width;
      redraw();
    }
  });
  sized.observe(view);
  const rethemed = () => {
    const was = self.dark;
    theme();
    if (was !== self.dark) redraw();
  };
  const watched = new MutationObserver(rethemed);
  for (const node of [document.body, document.documentElement]) {
    watched.observe(node, {
      attributeFilter: ["data-jp-theme-light", "data-theme", "class", "theme"],
    });
  }
  const media = ["print", "(prefers-color-scheme: dark)"].map((query) => matchMedia(query));
  for (const one of media) listen(one, "change", rethemed);
  self.close = () => {
    sized.disconnect();
    watched.disconnect();
    for (const one of media) one.removeEventListener("change", rethemed);
  };
  return self;
}

/** The whole stage listens to keys: `act(event)` says whether the key was one of its own. */
export function steer(stage, label, act) {
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.setAttribute("aria-label", label);
  listen(stage, "keydown", (e) => act(e) && e.preventDefault());
}

/** A canvas that listens: `hover(point | null)`, `click(point)`, `arrow(di, dj)`, `enter()`, `leave()`. */
export function board(label, on) {
  const canvas = make("canvas", { "aria-label": label });
  const point = (e) => {
    const box = canvas.getBoundingClientRect(),
      zoom = box.width / (parseFloat(canvas.style.width) || box.width);
    return [(e.clientX - box.left) / zoom, (e.clientY - box.top) / zoom];
  };
  listen(canvas, "pointermove", (e) => on.hover?.(point(e)));
  listen(canvas, "pointerleave", () => on.hover?.(null));
  listen(canvas, "click", (e) => on.click?.(point(e)));
  if (!on.arrow) {
    canvas.setAttribute("role", "img");
    return canvas;
  }
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  listen(canvas, "keydown", (e) => {
    if (KEYS[e.key]) on.arrow(...KEYS[e.key]);
    else if (e.key === "Enter" || e.key === " ") on.enter?.();
    else if (e.key === "Escape") on.leave?.();
    else return;
    e.preventDefault();
  });
  return canvas;
}

/** Two buttons that save the view: `size()` gives [width, height], `draw(pen)` the picture. */
export function exporters(self, name, size, draw) {
  const one = (kind, address) => {
    const download = `${name}.${kind.toLowerCase()}`;
    const save = () => make("a", { href: address(), download }).click();
    return button(kind, save, { "aria-label": `Save as ${kind}` });
  };
  const png = one("PNG", () => {
    const canvas = make("canvas");
    draw(new CanvasPen(canvas, ...size(), self.ink.paper));
    return canvas.toDataURL();
  });
  const svg = one("SVG", () => {
    const pen = new SvgPen(...size(), self.ink.paper);
    draw(pen);
    return URL.createObjectURL(new Blob([pen.toString()], { type: "image/svg+xml" }));
  });
  return make("span", { className: "bar" }, png, svg);
}
