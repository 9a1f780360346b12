// Colours. The ramps are straight lines in OKLCH lightness (Ottosson, 2020), so equal steps look equal.

/** One colour a word, by position (Okabe and Ito, 2008, and two more); never the only sign. */
export const TOKEN_COLOURS = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#8a6fd1",
  "#8c8c8c",
];
export const tokenColour = (i) => TOKEN_COLOURS[i % TOKEN_COLOURS.length];

export function oklch(L, C, degrees) {
  const a = C * Math.cos((degrees * Math.PI) / 180),
    b = C * Math.sin((degrees * Math.PI) / 180);
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((x) => {
    const c = Math.min(1, Math.max(0, x));
    return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
  });
}

/** 256 colours. "weight" runs from paper to ink; "score" has paper in the middle, code 128. */
export function ramp(kind, dark) {
  return Array.from({ length: 256 }, (_, code) => {
    if (kind === "weight") {
      const t = code / 255,
        bow = Math.sin(Math.PI * t * 0.85);
      return dark
        ? oklch(0.24 + 0.7 * t, 0.015 + 0.12 * bow, 265 - 160 * t)
        : oklch(0.98 - 0.69 * t, 0.004 + 0.125 * bow, 225 + 50 * t);
    }
    const t = Math.max(-1, (code - 128) / 127),
      far = Math.abs(t);
    return oklch(dark ? 0.24 + 0.52 * far : 0.98 - 0.45 * far, 0.15 * far, t < 0 ? 45 : 255);
  });
}

export const bytesOf = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;
/** Black or white, whichever reads better on a colour: one of them reaches 4.5 to 1 on any. */
export const inkOn = (rgb) => {
  const [r, g, b] = rgb.map((x) =>
    x / 255 <= 0.04045 ? x / 3294.6 : ((x / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
};

/** The surface and its inks, one set a theme. */
export const themeInks = (dark) =>
  dark
    ? {
        paper: "#16181d",
        ink: "#eceff4",
        quiet: "#a9b1bd",
        line: "#3a404b",
        hatch: "#5b6372",
        focus: "#ffb454",
        bad: "#ff7ab8",
      }
    : {
        paper: "#ffffff",
        ink: "#1b1f27",
        quiet: "#5a6270",
        line: "#d5dae2",
        hatch: "#a3abb8",
        focus: "#c2410c",
        bad: "#b0126b",
      };
