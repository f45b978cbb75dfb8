// The graph that is chosen: its drawing, its numbers, its nearest graphs, and another beside it.

import { signedColour, signedStops } from "./colours.js";
import { clipped, h, number, own, plural, replace } from "./dom.js";
import { drawing } from "./drawing.js";
import { bar, coloursOf, nodeColourings, nodeLegend, nodeValues, titlesOf } from "./node_colours.js";
import { savePng, saveSvg } from "./saving.js";
import { differences } from "./walks.js";

const SIZE = { width: 400, height: 320 };
const PAIR = { width: 300, height: 260 };
const SMALL = { width: 96, height: 80 };
const MOST_SMALL = 300; // nodes of small drawings that are coloured by return probability

export function graphPanel(collection, state) {
  const body = h("div", { class: "graph-body" });
  const heading = h("h2", { id: "graph-heading", tabindex: -1 }, "The graph");
  const panel = h("section", { class: "panel graph", "aria-labelledby": "graph-heading" }, heading, body);
  const controls = nodeControls(collection, state);
  let parts = null;

  function fill() {
    const { current } = state;
    if (current === null) {
      replace(body, h("p", { class: "hint" }, "Choose a graph: click a point, search for it, or step through the map with the arrow keys."));
      return;
    }
    replace(heading, `Graph ${current}`);
    parts = { picture: h("div", { class: "picture" }), near: h("ul", { class: "near" }), pair: h("div", { class: "pair-box" }) };
    replace(body, nameOf(collection, current), steps(collection, state), parts.picture, controls.element, saving(parts),
      parts.pair, numbers(collection, current), h("h3", {}, `Its ${collection.nNear} nearest graphs`), parts.near);
    draw();
  }
  function draw() {
    if (!parts || state.current === null) return;
    controls.refresh();
    body.querySelector(".hold").setAttribute("aria-pressed", String(state.held === state.current));
    const graph = collection.graph(state.current);
    if (!graph) {
      replace(parts.picture, h("p", { class: "hint" }, "The page holds no drawing of this graph."));
    } else {
      const found = nodeValues(graph, state, shareLimit(graph));
      replace(parts.picture, drawing(graph, {
        ...SIZE, colours: coloursOf(found), titles: titlesOf(graph, found),
        label: `Drawing of graph ${state.current}: ${plural(graph.n, "node")}`,
      }), nodeLegend(graph, found), decisionText(graph, state));
    }
    replace(parts.near, collection.neighbours(state.current).map(({ graph: other, distance }) => nearItem(collection, state, other, distance)));
    replace(parts.pair, pairOf(collection, state));
  }
  state.listen((changes) => {
    if ("current" in changes) fill();
    else if (["step", "nodeColour", "held", "theme"].some((name) => name in changes)) draw();
  });
  fill();
  return panel;
}

function shareLimit(graph) {
  return graph.shares ? Math.max(...graph.shares.map(Math.abs)) || 1 : 1;
}

function nameOf(collection, graph) {
  return collection.names ? h("p", { class: "own-name", tabindex: 0 }, own(collection.name(graph))) : null;
}

function decisionText(graph, { nodeColour }) {
  if (nodeColour !== "share" || !graph.shares) return null;
  return h("p", { class: "small-text" }, "Decision value for ", own(clipped(graph.explained)),
    `: ${number(graph.decision)} = baseline ${number(graph.baseline)} and the shares of all nodes. Orange speaks for it, blue against it.`);
}

function steps(collection, state) {
  const by = (step) => () => {
    for (let graph = state.current + step; graph >= 0 && graph < collection.n; graph += step) {
      if (state.shown[graph]) return state.select(graph);
    }
    return undefined;
  };
  return h("div", { class: "row" },
    h("button", { type: "button", onclick: by(-1) }, "Previous"),
    h("button", { type: "button", onclick: by(1) }, "Next"),
    h("button", { type: "button", class: "hold", onclick: () => state.update({ held: state.held === state.current ? null : state.current }) }, "Hold for comparison"));
}

function nodeControls(collection, state) {
  const select = h("select", { id: "node-colour", onchange: () => state.update({ nodeColour: select.value }) },
    nodeColourings(collection).map(([value, name]) => h("option", { value, selected: value === state.nodeColour }, name)));
  const shown = h("output", { for: "step" });
  const slider = h("input", { type: "range", id: "step", min: 1, max: collection.header.kernel.steps, value: state.step,
    oninput: () => state.update({ step: Number(slider.value) }) });
  const sliderBox = h("div", { class: "slider" }, h("label", { for: "step" }, "Steps of the walk"), slider, shown);
  return {
    element: h("div", { class: "node-controls" }, h("label", { for: "node-colour" }, "Nodes by"), select, sliderBox),
    refresh() {
      select.value = state.nodeColour;
      slider.value = String(state.step);
      sliderBox.hidden = state.nodeColour !== "returns";
      shown.textContent = String(state.step);
    },
  };
}

function saving(parts) {
  const svg = () => parts.picture.querySelector("svg[role=img]");
  const name = () => document.getElementById("graph-heading").textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return h("div", { class: "row" },
    h("button", { type: "button", class: "small", onclick: () => svg() && saveSvg(svg(), name()) }, "Save SVG"),
    h("button", { type: "button", class: "small", onclick: () => svg() && savePng(svg(), name()) }, "Save PNG"));
}

function numbers(collection, graph) {
  const rows = collection.columns.flatMap((column) => [
    h("dt", {}, own(clipped(column.name))),
    h("dd", {}, own(clipped(collection.text(column, graph)))),
  ]);
  return h("dl", { class: "numbers" }, rows);
}

function nearItem(collection, state, graph, distance) {
  const drawn = collection.graph(graph);
  const label = `graph ${graph}, distance ${number(distance)}`;
  const link = h("a", { href: `#graph-${graph}`, "aria-label": collection.sentence(graph), title: clipped(collection.name(graph)) || label,
    onclick: (event) => {
      event.preventDefault();
      state.select(graph);
    } },
    drawn ? smallDrawing(drawn, state, label) : h("span", { class: "no-drawing" }, "not drawn"),
    h("span", { class: "near-number" }, String(graph)), h("span", { class: "near-distance" }, number(Number(distance.toPrecision(3)))));
  const truth = collection.columnOf("class");
  const own_class = truth ? h("span", { class: "near-class" }, own(clipped(collection.text(truth, graph)))) : null;
  const compare = h("button", { type: "button", class: "small", "aria-label": `Compare with graph ${graph}`, onclick: () => state.update({ held: graph }) }, "compare");
  return h("li", {}, link, own_class, compare);
}

function smallDrawing(graph, state, label) {
  const isCostly = state.nodeColour === "returns" && graph.n > MOST_SMALL;
  const found = isCostly ? null : nodeValues(graph, state, shareLimit(graph));
  return drawing(graph, { ...SMALL, colours: coloursOf(found), label });
}

// Two graphs side by side, nodes coloured by what they add to the squared distance.
function pairOf(collection, state) {
  const { current, held } = state;
  if (held === null) return [];
  const close = h("button", { type: "button", class: "small", onclick: () => state.update({ held: null }) }, "Close");
  if (held === current) return [h("p", { class: "hint" }, `Graph ${held} is held: choose another graph to compare it with. `, close)];
  const [first, second] = [collection.graph(held), collection.graph(current)];
  if (!first || !second) return [h("p", { class: "hint" }, `The page holds no drawing of ${first ? "this graph" : `graph ${held}`} to compare. `, close)];
  const { parts, squared } = differences(first, second, collection.header.kernel);
  const limit = Math.max(...parts.flatMap((part) => [...part].map(Math.abs))) || 1;
  const drawn = [first, second].map((graph, side) => h("figure", {}, drawing(graph, {
    ...PAIR, colours: Array.from(parts[side], (value) => signedColour(value / limit)),
    titles: (node) => `${graph.nodeText(node)}: ${number(parts[side][node])}`,
    label: `Drawing of graph ${graph.number} beside the other`,
  }), h("figcaption", {}, h("b", {}, `graph ${graph.number}`), collection.names ? [" ", own(clipped(collection.name(graph.number)))] : null, nodesThatDiffer(graph, parts[side]))));
  return [
    h("h3", {}, `Graphs ${held} and ${current} side by side`),
    h("div", { class: "pair" }, drawn),
    h("div", { class: "scale" }, h("span", {}, "alike"), bar(signedStops()), h("span", {}, "make them differ")),
    h("p", { class: "small-text", "data-distance": Math.sqrt(squared) },
      `Distance ${number(Math.sqrt(squared))}. Orange nodes have no counterpart in the other graph with such ${domains(first, collection.header.kernel)}; their shares add up to the squared distance.`),
    close,
  ];
}

function domains(graph, { attributeGamma }) {
  const found = ["return probabilities"];
  if (graph.labels) found.push("labels");
  if (attributeGamma !== null) found.push("attributes");
  return found.length === 1 ? found[0] : `${found.slice(0, -1).join(", ")} and ${found.at(-1)}`;
}

function nodesThatDiffer(graph, parts) {
  const most = [...parts.keys()].sort((a, b) => parts[b] - parts[a]).slice(0, 3).filter((node) => parts[node] > 0);
  return h("span", { class: "small-text" }, most.length ? `: most by ${most.map((node) => graph.nodeText(node)).join(", ")}` : "");
}
