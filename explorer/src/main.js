// The page of a collection: unpacks the data and puts the parts together.

import { onThemeChange } from "./colours.js";
import { Collection } from "./collection.js";
import { unpacked } from "./data.js";
import { clipped, h, own, plural, replace } from "./dom.js";
import { graphPanel } from "./graph_panel.js";
import { legendPanel } from "./legend.js";
import { MapView } from "./map_view.js";
import { modelPanel } from "./model_panel.js";
import { searchBox } from "./search.js";
import { State } from "./state.js";

async function start() {
  const app = document.getElementById("app");
  const data = document.getElementById("data");
  let collection;
  try {
    collection = new Collection(await unpacked(data.textContent));
  } catch (error) {
    replace(app, h("p", { role: "alert" }, `The data of this page cannot be unpacked: ${error.message}. Is the file complete, and the browser from 2023 or later?`));
    return;
  }
  data.remove(); // its text takes as much memory as the file is long
  const state = new State(collection);
  const map = new MapView(collection, state);
  const live = h("p", { class: "hidden-text", "aria-live": "polite" });
  state.listen((changes) => {
    if ("current" in changes) {
      live.textContent = collection.sentence(state.current);
      remember(state.current);
    }
  });
  replace(app, header(collection, state), h("div", { class: "columns" },
    mapPanel(collection, map), graphPanel(collection, state),
    h("div", { class: "side" }, legendPanel(collection, state), modelPanel(collection, state) ?? "")), live);
  onThemeChange(() => {
    map.repaint();
    state.update({ theme: true });
  });
  window.addEventListener("hashchange", () => follow(state));
  map.resize();
  follow(state);
  if (state.current === null) state.select(collection.arrays.drawn?.[0] ?? 0);
  // for tests and benchmarks, and for the curious at the console
  window.retgkExplorer = { collection, state, map };
  document.documentElement.dataset.ready = "";
  performance.mark("interactive");
}

function header(collection, state) {
  const { title, method, notes } = collection.header;
  return h("header", {},
    h("div", { class: "head" },
      h("div", {}, h("h1", {}, own(clipped(title))), h("p", { class: "small-text" }, `${plural(collection.n, "graph")}, placed by ${method}: near means alike.`)),
      searchBox(collection, state)),
    notes.map((note) => h("p", { class: "note" }, note)));
}

function mapPanel(collection, map) {
  const lasso = h("button", { type: "button", "aria-pressed": "false", title: "Or hold Shift and drag", onclick: () => {
    map.isLasso = !map.isLasso;
    lasso.setAttribute("aria-pressed", String(map.isLasso));
    map.canvas.classList.toggle("lasso", map.isLasso);
  } }, "Lasso");
  const tools = [["−", "Zoom out", () => map.zoomBy(1 / 1.6)], ["+", "Zoom in", () => map.zoomBy(1.6)]];
  return h("section", { class: "panel map", "aria-label": "Map" },
    h("div", { class: "tools" }, lasso,
      h("button", { type: "button", onclick: () => map.fit() }, "Whole map"),
      tools.map(([text, label, onclick]) => h("button", { type: "button", "aria-label": label, title: label, onclick }, text))),
    map.element);
}

// The number of the graph stands in the address, so that a link leads to it.
function remember(graph) {
  try {
    history.replaceState(null, "", `#graph-${graph}`);
  } catch {
    // some frames have no address of their own
  }
}

function follow(state) {
  const found = /^#graph-(\d+)$/.exec(location.hash);
  if (found && Number(found[1]) < state.collection.n) state.select(Number(found[1]));
}

start();
