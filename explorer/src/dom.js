// Elements of the page. Text from data only ever becomes text nodes and attribute values.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child !== null));
}

// Text whose direction is its own: it cannot turn around what stands beside it.
export function own(text, attributes = {}) {
  return h("bdi", { ...attributes }, text);
}

const LONG = 80;

export function clipped(text) {
  const letters = Array.from(text.slice(0, 2 * LONG));
  return letters.length <= LONG && text.length <= 2 * LONG ? text : `${letters.slice(0, LONG).join("")}…`;
}

export function whole(value) {
  return value.toLocaleString("en");
}

export function number(value) {
  if (!Number.isFinite(value)) return "missing";
  if (Number.isInteger(value)) return Math.abs(value) < 1e15 ? whole(value) : String(value);
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

export function plural(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}
