// Drawings of single graphs as SVG with colours of its own, so that it can be saved as it is.

import { inks } from "./colours.js";
import { s } from "./dom.js";

// `colours` gives a colour for every node, or null for none; `label` is what a screen reader says.
export function drawing(graph, { width, height, colours = null, titles = null, label, radius = null }) {
  const { paper, ink, edge } = inks();
  const places = scaled(graph, width, height);
  const length = bondLength(graph, places);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  svg.append(s("rect", { width, height, fill: paper }));
  if (graph.isFormula) drawFormula(svg, graph, places, { length, colours, titles, ink, paper });
  else drawNodes(svg, graph, places, { colours, titles, ink, edge, paper, radius: radius ?? nodeRadius(graph, length, width) });
  return svg;
}

function scaled(graph, width, height) {
  const margin = Math.min(width, height) * (graph.isFormula ? 0.11 : 0.08);
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let node = 0; node < graph.n; node++) {
    left = Math.min(left, graph.places[2 * node]);
    right = Math.max(right, graph.places[2 * node]);
    top = Math.min(top, graph.places[2 * node + 1]);
    bottom = Math.max(bottom, graph.places[2 * node + 1]);
  }
  const across = (width - 2 * margin) / Math.max(right - left, 1e-9);
  const down = (height - 2 * margin) / Math.max(bottom - top, 1e-9);
  let unit = Math.min(across, down, 1e6);
  const raw = Array.from({ length: graph.n }, (_, node) => [
    graph.places[2 * node] - (left + right) / 2,
    graph.places[2 * node + 1] - (top + bottom) / 2,
  ]);
  // graphs of few nodes are not blown up
  const length = bondLength(graph, raw);
  const longest = graph.isFormula ? 0.14 : 0.2;
  if (length > 0) unit = Math.min(unit, (longest * Math.min(width, height)) / length);
  return raw.map(([x, y]) => [width / 2 + unit * x, height / 2 + unit * y]);
}

// Middle length of the edges.
function bondLength(graph, places) {
  const lengths = [];
  for (let k = 0; k < graph.ends.length; k += 2) {
    const [a, b] = [places[graph.ends[k]], places[graph.ends[k + 1]]];
    const length = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (length > 0) lengths.push(length);
  }
  lengths.sort((one, other) => one - other);
  return lengths[lengths.length >> 1] ?? 0;
}

function nodeRadius(graph, length, width) {
  const room = width / Math.sqrt(graph.n) / 6;
  return Math.max(1.2, Math.min(width / 34, room, length ? Math.max(length * 0.34, room * 0.5) : room));
}

function drawNodes(svg, graph, places, { colours, titles, ink, edge, paper, radius }) {
  const lines = [];
  for (let k = 0; k < graph.ends.length; k += 2) {
    const [a, b] = [places[graph.ends[k]], places[graph.ends[k + 1]]];
    if (graph.ends[k] !== graph.ends[k + 1]) lines.push(`M${at(a)}L${at(b)}`);
    else lines.push(`M${at(a)}m0 ${-radius}c${2 * radius} ${-2 * radius} ${-2 * radius} ${-2 * radius} 0 0`);
  }
  const width = Math.max(0.35, Math.min(1.6, radius / 3.2, (120 * radius) / Math.max(1, lines.length)));
  svg.append(s("path", { d: lines.join(""), fill: "none", stroke: edge, "stroke-width": width.toFixed(2) }));
  const group = s("g", { stroke: colours ? ink : paper, "stroke-opacity": 0.55, "stroke-width": Math.max(0.4, radius / 9).toFixed(2) });
  places.forEach(([x, y], node) => {
    const circle = s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: radius.toFixed(1), fill: colours?.[node] ?? edge });
    if (titles) circle.append(s("title", {}, titles(node)));
    group.append(circle);
  });
  svg.append(group);
}

function drawFormula(svg, graph, places, { length, colours, titles, ink, paper }) {
  const unit = length || 30;
  if (colours) {
    const group = s("g", {});
    places.forEach(([x, y], node) => {
      const circle = s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: (0.42 * unit).toFixed(1), fill: colours[node] });
      if (titles) circle.append(s("title", {}, titles(node)));
      group.append(circle);
    });
    svg.append(group);
  }
  const font = 0.46 * unit;
  svg.append(s("path", { d: bonds(graph, places, unit).join(""), fill: "none", stroke: ink, "stroke-width": Math.max(0.8, unit / 17).toFixed(2), "stroke-linecap": "round" }));
  const texts = s("g", { "font-family": "Helvetica, Arial, sans-serif", "font-size": font.toFixed(1), fill: ink });
  const near = neighboursOf(graph);
  places.forEach((place, node) => {
    if (graph.texts[node]) texts.append(atomText(graph, places, near, node, font, colours ? null : paper));
  });
  svg.append(texts);
}

function bonds(graph, places, unit) {
  const lines = [];
  const near = neighboursOf(graph);
  const gap = 0.13 * unit;
  for (let edge = 0; edge < graph.orders.length; edge++) {
    const [i, j] = [graph.ends[2 * edge], graph.ends[2 * edge + 1]];
    const across = (places[j][0] - places[i][0]) / unit;
    const [a, b] = shortened(places[i], places[j], unit * room(graph, places, near, i, across), unit * room(graph, places, near, j, -across));
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const size = Math.hypot(dx, dy) || 1;
    const normal = [(-dy / size) * gap, (dx / size) * gap];
    const shift = (by, inset) => {
      const [mx, my] = [(dx / size) * inset, (dy / size) * inset];
      return `M${at([a[0] + by * normal[0] + mx, a[1] + by * normal[1] + my])}L${at([b[0] + by * normal[0] - mx, b[1] + by * normal[1] - my])}`;
    };
    const order = graph.orders[edge];
    if (order === 2) {
      const side = ringSide(places, near, i, j, normal);
      lines.push(...(side ? [shift(0, 0), shift(1.25 * side, 0.12 * unit)] : [shift(0.6, 0), shift(-0.6, 0)]));
    } else {
      lines.push(shift(0, 0));
      if (order === 3) lines.push(shift(1, 0), shift(-1, 0));
    }
  }
  return lines;
}

// How far from an atom a bond to the right (or left, less than zero) starts: beyond its letters.
function room(graph, places, near, node, across) {
  if (!graph.texts[node]) return 0;
  const side = graph.texts[node].includes("H") ? hydrogenSide(places, near, node) : 0;
  return 0.3 + 0.24 * Math.max(0, Math.min(1, across * side));
}

// Hydrogens stand on the left of an atom (-1) if its bonds go to the right.
function hydrogenSide(places, near, node) {
  const pull = near[node].reduce((sum, other) => sum + places[other][0] - places[node][0], 0);
  return pull > 0 ? -1 : 1;
}

// Side on which most neighbours of a bond lie: the second line of a double bond goes there.
function ringSide(places, near, i, j, normal) {
  let sum = 0;
  for (const [node, other] of [[i, j], [j, i]]) {
    if (near[node].length < 2) return 0;
    for (const next of near[node]) {
      if (next !== other) sum += Math.sign((places[next][0] - places[node][0]) * normal[0] + (places[next][1] - places[node][1]) * normal[1]);
    }
  }
  return Math.sign(sum);
}

function neighboursOf(graph) {
  const near = Array.from({ length: graph.n }, () => []);
  for (let k = 0; k < graph.ends.length; k += 2) {
    near[graph.ends[k]].push(graph.ends[k + 1]);
    near[graph.ends[k + 1]].push(graph.ends[k]);
  }
  return near;
}

function shortened(a, b, atFirst, atSecond) {
  const size = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
  const [dx, dy] = [(b[0] - a[0]) / size, (b[1] - a[1]) / size];
  return [[a[0] + dx * atFirst, a[1] + dy * atFirst], [b[0] - dx * atSecond, b[1] - dy * atSecond]];
}

// Element with its hydrogens on the side that has no bonds; numbers stand low, charges high.
function atomText(graph, places, near, node, font, paper) {
  const [x, y] = places[node];
  const [, isotope, symbol, hydrogens, charge] = /^(\d*)([A-Z*][a-z]?)(H\d*)?(.*)$/.exec(graph.texts[node]) ?? [null, "", graph.texts[node], "", ""];
  const isTurned = Boolean(hydrogens) && hydrogenSide(places, near, node) < 0;
  const letter = (symbol.length > 1 ? 1.05 : 0.72) * font;
  const text = s("text", {
    x: (isTurned ? x + letter / 2 : x - letter / 2).toFixed(1), y: (y + 0.36 * font).toFixed(1),
    "text-anchor": isTurned ? "end" : "start", stroke: paper, "stroke-width": paper ? (0.22 * font).toFixed(1) : null,
    "paint-order": "stroke", "stroke-linejoin": "round",
  });
  const own = [[isotope, -1], [symbol, 0]];
  const attached = [[hydrogens?.slice(0, 1) ?? "", 0], [hydrogens?.slice(1) ?? "", 1]];
  const parts = isTurned ? [...attached, ...own, [charge, -1]] : [...own, ...attached, [charge, -1]];
  let level = 0;
  for (const [letters, height] of parts) {
    if (!letters) continue;
    const dy = (height - level) * 0.25 * font;
    text.append(s("tspan", { dy: dy ? dy.toFixed(1) : null, "font-size": height ? (0.7 * font).toFixed(1) : null }, letters));
    level = height;
  }
  return text;
}

function at([x, y]) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
