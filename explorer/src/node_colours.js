// How nodes are coloured: by return probability, label, attribute or share in a prediction.

import { classColour, extent, part, rampColour, rampStops, signedColour, signedStops } from "./colours.js";
import { clipped, h, number, own, s } from "./dom.js";

export function nodeColourings(collection) {
  const { drawings } = collection.header;
  const found = [["returns", "return probability"]];
  if (collection.arrays.shares) found.push(["share", "share in the prediction"]);
  if (drawings.labels) found.push(["label", "label"]);
  drawings.attributes.forEach(({ name }, place) => found.push([`attribute${place}`, clipped(name)]));
  found.push(["plain", drawings.texts ? "nothing (formula)" : "nothing"]);
  return found;
}

// Values of a graph's nodes under a colouring, and the range that their colours span.
export function nodeValues(graph, { nodeColour, step }, limit) {
  if (nodeColour === "returns") {
    const values = graph.returns(step);
    return { values, range: extent(values) };
  }
  if (nodeColour === "share" && graph.shares) return { values: graph.shares, limit };
  if (nodeColour === "label" && graph.labels) return { codes: graph.labels };
  if (nodeColour.startsWith("attribute")) {
    const { values, low, high } = graph.attributes[Number(nodeColour.slice(9))];
    return { values, range: { low, high } };
  }
  return null;
}

export function coloursOf(found) {
  if (!found) return null;
  if (found.codes) return Array.from(found.codes, (code) => classColour(code));
  if (found.limit !== undefined) return Array.from(found.values, (value) => signedColour(value / found.limit));
  return Array.from(found.values, (value) => rampColour(part(value, found.range)));
}

export function titlesOf(graph, found) {
  return (node) => {
    const text = graph.nodeText(node);
    return found?.values ? `${text}: ${number(found.values[node])}` : text;
  };
}

// Legend of a drawing: a bar of colours with numbers, or names of labels.
export function nodeLegend(graph, found) {
  if (!found) return null;
  if (found.codes) {
    const codes = [...new Set(found.codes)].sort((a, b) => a - b).slice(0, 20);
    return h("ul", { class: "labels" }, codes.map((code) => h("li", {}, swatch(classColour(code)), own(clipped(graph.labelNames[code])))));
  }
  const isSigned = found.limit !== undefined;
  const ends = isSigned ? [`against ${number(-found.limit)}`, `for ${number(found.limit)}`] : [number(found.range.low), number(found.range.high)];
  return h("div", { class: "scale" }, h("span", {}, ends[0]), bar(isSigned ? signedStops() : rampStops()), h("span", {}, ends[1]));
}

let nBars = 0;

export function bar(stops) {
  const id = `bar${nBars++}`;
  const gradient = s("linearGradient", { id }, stops.map((colour, k) => s("stop", { offset: k / (stops.length - 1), "stop-color": colour })));
  return s("svg", { class: "bar", "aria-hidden": "true" }, s("defs", {}, gradient), s("rect", { width: "100%", height: "100%", rx: 3, fill: `url(#${id})` }));
}

function swatch(colour) {
  return s("svg", { class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true" }, s("circle", { cx: 6, cy: 6, r: 5, fill: colour }));
}
