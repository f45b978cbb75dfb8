// The model: how often it is right, which classes it takes for which, and where it is wrong.

import { clipped, h, number, own, plural, replace, whole } from "./dom.js";

const MOST_WRONG = 10;

export function modelPanel(collection, state) {
  const predicted = collection.columnOf("predicted");
  if (!predicted) return null;
  const truth = collection.columnOf("class");
  const error = collection.columnOf("error");
  const body = h("div", {});
  const fill = () => {
    if (error) replace(body, errors(collection, state, truth, error));
    else if (truth && truth.kind === "class" && predicted.kind === "class") replace(body, classes(collection, state, truth, predicted));
    else replace(body, h("p", { class: "hint" }, truth ? "There are too many classes for a table of them; colour the map by what is predicted." : "The true values of these graphs are not known; colour the map by what is predicted."));
  };
  state.listen((changes) => {
    if ("cell" in changes || "theme" in changes) fill();
  });
  fill();
  return h("section", { class: "panel model", "aria-labelledby": "model-heading" },
    h("h2", { id: "model-heading" }, "The model"), body);
}

function classes(collection, state, truth, predicted) {
  const names = [...truth.names, ...predicted.names.filter((name) => !truth.names.includes(name))];
  const places = new Map(names.map((name, place) => [name, place]));
  const counts = names.map(() => new Uint32Array(names.length));
  const wrong = [];
  for (let graph = 0; graph < collection.n; graph++) {
    const [row, column] = [places.get(collection.text(truth, graph)), places.get(collection.text(predicted, graph))];
    counts[row][column]++;
    if (row !== column) wrong.push(graph);
  }
  const right = collection.n - wrong.length;
  return [
    h("p", {}, h("b", {}, `${((100 * right) / collection.n).toFixed(1)} %`), ` right: ${whole(right)} of ${plural(collection.n, "graph")}.`),
    confusion(state, names, counts),
    wrongList(collection, state, wrong, truth, predicted),
  ];
}

function confusion(state, names, counts) {
  const most = Math.max(1, ...counts.map((row) => Math.max(...row)));
  const head = h("tr", {}, h("th", { scope: "col" }, h("span", { class: "small-text" }, names.length > 6 ? "true" : "true \\ predicted")), names.map((name) => h("th", { scope: "col" }, own(clipped(name)))));
  const rows = names.map((truth, row) => h("tr", {}, h("th", { scope: "row" }, own(clipped(truth))), names.map((predicted, column) => {
    const count = counts[row][column];
    const isChosen = state.cell?.truth === truth && state.cell?.predicted === predicted;
    const strength = count ? Math.ceil(4 * Math.sqrt(count / most)) : 0;
    return h("td", {}, h("button", {
      type: "button", class: `cell ${row === column ? "right" : "wrong"}${strength}`, "aria-pressed": String(isChosen),
      "aria-label": `${whole(count)} of class ${clipped(truth)} predicted as ${clipped(predicted)}`,
      onclick: () => {
        state.update({ cell: isChosen ? null : { truth, predicted } });
        document.querySelectorAll(".confusion button")[row * names.length + column]?.focus();
      },
    }, whole(count)));
  })));
  return h("div", { class: "confusion", tabindex: 0, role: "group", "aria-label": "Confusion matrix; a cell filters the map" },
    h("table", { class: names.length > 6 ? "many" : null }, h("thead", {}, head), h("tbody", {}, rows)));
}

function wrongList(collection, state, wrong, truth, predicted) {
  const confidence = collection.columnOf("confidence");
  if (confidence) wrong.sort((a, b) => confidence.values[b] - confidence.values[a]);
  if (!wrong.length) return h("p", {}, "No graph is predicted wrongly.");
  return [
    h("h3", {}, confidence ? "Wrong with most confidence" : "Some that are wrong"),
    h("ol", { class: "wrong" }, wrong.slice(0, MOST_WRONG).map((graph) => h("li", {},
      link(state, graph), " ", own(clipped(collection.text(truth, graph))), " taken for ", own(clipped(collection.text(predicted, graph))),
      confidence ? ` (${(100 * confidence.values[graph]).toFixed(0)} %)` : ""))),
  ];
}

function errors(collection, state, truth, error) {
  const values = error.values;
  const graphs = [...values.keys()].filter((graph) => Number.isFinite(values[graph]));
  const order = graphs.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const mean = graphs.reduce((sum, graph) => sum + Math.abs(values[graph]), 0) / Math.max(1, graphs.length);
  return [
    h("p", {}, "Mean absolute error ", h("b", {}, number(mean)), "."),
    h("h3", {}, "Farthest from the truth"),
    h("ol", { class: "wrong" }, order.slice(0, MOST_WRONG).map((graph) => h("li", {},
      link(state, graph), ` ${number(values[graph])} from `, own(clipped(collection.text(truth, graph)))))),
  ];
}

function link(state, graph) {
  return h("a", { href: `#graph-${graph}`, onclick: (event) => {
    event.preventDefault();
    state.select(graph);
  } }, `graph ${graph}`);
}
