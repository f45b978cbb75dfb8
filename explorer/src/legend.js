// Colours of the map: which column, what its colours mean, and which of its values are shown.

import { classColour, classShape, extent, rampStops } from "./colours.js";
import { clipped, h, number, own, plural, replace, s, whole } from "./dom.js";
import { bar } from "./node_colours.js";
import { outline } from "./point_masks.js";
import { saveCsv } from "./saving.js";

export function legendPanel(collection, state) {
  const select = h("select", {
    id: "colour-by",
    onchange: () => state.update({ colourBy: collection.columns[Number(select.value)] }),
  }, collection.columns.map((column, place) => column.kind === "text" ? null
    : h("option", { value: place, selected: column === state.colourBy }, clipped(column.name))));
  const values = h("div", { class: "values" });
  const summary = h("p", { class: "summary", role: "status" });
  const clear = h("button", { type: "button", onclick: () => state.clearFilters() }, "Show all");
  const save = h("button", { type: "button", onclick: () => saveCsv(collection, state.chosen()) }, "Save as CSV");

  function fill() {
    const column = state.colourBy;
    replace(values, column.kind === "class" ? classLegend(column, state) : numberLegend(column, state));
  }
  function count() {
    const nSelected = state.selection.size;
    const shown = state.isFiltered ? `${whole(state.nShown)} of ${plural(collection.n, "graph")} shown` : `All ${plural(collection.n, "graph")} shown`;
    summary.textContent = nSelected ? `${shown}, ${whole(nSelected)} selected` : shown;
    clear.disabled = !state.isFiltered && !nSelected;
  }
  state.listen((changes) => {
    if ("colourBy" in changes || "hidden" in changes || "theme" in changes) fill();
    count();
  });
  fill();
  count();
  return h("section", { class: "panel legend", "aria-labelledby": "legend-heading" },
    h("h2", { id: "legend-heading" }, "Colours and filters"),
    h("label", { for: "colour-by" }, "Colour by"), select, values, summary, h("div", { class: "row" }, clear, save));
}

function classLegend(column, state) {
  const hidden = state.hidden.get(column) ?? new Set();
  const counts = new Uint32Array(column.names.length);
  for (const code of column.values) counts[code]++;
  const set = (codes) => state.update({ hidden: new Map(state.hidden).set(column, codes) });
  const toggle = (code) => {
    const codes = new Set(hidden);
    if (!codes.delete(code)) codes.add(code);
    set(codes);
  };
  const items = column.names.map((name, code) => h("li", {}, h("button", {
    type: "button", class: "class", "aria-pressed": String(!hidden.has(code)), onclick: () => toggle(code),
  }, mark(code), own(clipped(name), { class: "name" }), h("span", { class: "count" }, whole(counts[code])))));
  return [
    h("ul", { class: "classes" }, items),
    h("div", { class: "row" },
      h("button", { type: "button", class: "small", onclick: () => set(new Set()) }, "All"),
      h("button", { type: "button", class: "small", onclick: () => set(new Set(column.names.keys())) }, "None")),
  ];
}

function mark(code) {
  const [colour, shape] = [classColour(code), classShape(code)];
  const corners = outline(shape).map(([x, y]) => `${(7 + 5.5 * x).toFixed(1)},${(7 + 5.5 * y).toFixed(1)}`).join(" ");
  const drawn = shape === 0 ? s("circle", { cx: 7, cy: 7, r: 5.5, fill: colour }) : s("polygon", { points: corners, fill: colour });
  return s("svg", { class: "mark", viewBox: "0 0 14 14", "aria-hidden": "true" }, drawn);
}

function numberLegend(column, state) {
  const { low, high } = extent(column.values);
  const [from, to] = state.ranges.get(column) ?? [low, high];
  const shown = h("p", { class: "small-text" });
  const inputs = [["from", from], ["to", to]].map(([name, value]) => h("input", {
    type: "range", min: 0, max: 1000, value: high > low ? Math.round((1000 * (value - low)) / (high - low)) : 0,
    "aria-label": `Show ${clipped(column.name)} ${name}`, oninput: () => change(),
  }));
  // the end itself, not a number an ulp below it that would hide the largest graph
  const valueOf = ({ value }) => (Number(value) === 1000 ? high : low + ((high - low) * Number(value)) / 1000);
  function say(a, b) {
    shown.textContent = `Shown: ${number(a)} to ${number(b)}`;
  }
  function change() {
    const [a, b] = inputs.map(valueOf);
    const ranges = new Map(state.ranges);
    const isAll = Number(inputs[0].value) === 0 && Number(inputs[1].value) === 1000;
    if (isAll) ranges.delete(column);
    else ranges.set(column, [Math.min(a, b), Math.max(a, b)]);
    say(Math.min(a, b), Math.max(a, b));
    state.update({ ranges });
  }
  say(from, to);
  return [
    h("div", { class: "scale" }, h("span", {}, number(low)), bar(rampStops()), h("span", {}, number(high))),
    h("div", { class: "ranges" }, inputs), shown,
  ];
}
