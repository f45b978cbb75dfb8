// Colours that readers with any kind of sight tell apart, on white and on black.

// Okabe and Ito's palette; its black, and its yellow on white, are replaced by a grey and an olive.
const CLASSES = {
  light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#B08A00", "#6B6B6B"],
  dark: ["#4AA3E0", "#F07A2E", "#1FBF92", "#E59AC4", "#8FD0FF", "#F0E442", "#B5B5B5"],
};
export const SHAPES = 4; // circle, diamond, triangle, square: other shapes where colours end

// Viridis, whose lightness rises evenly; on black it starts a little lighter.
const RAMP = {
  light: ["#440154", "#46327E", "#365C8D", "#277F8E", "#1FA187", "#4AC16D", "#A0DA39", "#E3D21B"],
  dark: ["#5B3A8E", "#4F5CA6", "#3C7EB0", "#2B9DA8", "#2FB890", "#68CF71", "#B4E14B", "#FDE725"],
};
const AGAINST_AND_FOR = {
  light: ["#0072B2", "#FFFFFF", "#D55E00"],
  dark: ["#3E9BE0", "#2A2D33", "#FF8A3D"],
};

const dark = window.matchMedia("(prefers-color-scheme: dark)");

export function theme() {
  return dark.matches ? "dark" : "light";
}

export function onThemeChange(handler) {
  dark.addEventListener("change", handler);
}

export function inks() {
  return theme() === "dark"
    ? { paper: "#16181d", ink: "#e8eaed", faint: "#5d636e", edge: "#8a919c", ring: "#ffffff" }
    : { paper: "#ffffff", ink: "#1b1d21", faint: "#b9bec7", edge: "#9aa0aa", ring: "#000000" };
}

export function classColour(code) {
  const palette = CLASSES[theme()];
  return palette[code % palette.length];
}

export function classShape(code) {
  return Math.floor(code / CLASSES.light.length) % SHAPES;
}

export function rampColour(part) {
  return between(RAMP[theme()], part);
}

export function signedColour(part) {
  return between(AGAINST_AND_FOR[theme()], (Math.max(-1, Math.min(1, part)) + 1) / 2);
}

export const rampStops = () => RAMP[theme()];
export const signedStops = () => AGAINST_AND_FOR[theme()];

export function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function between(stops, part) {
  const at = Math.max(0, Math.min(1, Number.isFinite(part) ? part : 0)) * (stops.length - 1);
  const first = Math.min(stops.length - 2, Math.floor(at));
  const [a, b] = [rgb(stops[first]), rgb(stops[first + 1])];
  const mixed = a.map((value, k) => Math.round(value + (at - first) * (b[k] - value)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

// Least and largest number of a column, without those that are missing.
export function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 0 };
}

export function part(value, { low, high }) {
  return high > low ? (value - low) / (high - low) : 0.5;
}
