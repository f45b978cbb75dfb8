// Search by number or name.

import { clipped, h, own, replace } from "./dom.js";

const MOST = 12;

export function matches(collection, text) {
  const wanted = text.trim().toLocaleLowerCase();
  if (!wanted) return [];
  const found = [];
  const asNumber = /^(graph )?\d+$/.test(wanted) ? Number(wanted.replace("graph ", "")) : NaN;
  if (asNumber < collection.n) found.push(asNumber);
  for (let graph = 0; collection.names && graph < collection.n && found.length < MOST; graph++) {
    if (graph !== asNumber && collection.name(graph).toLocaleLowerCase().includes(wanted)) found.push(graph);
  }
  return found;
}

export function searchBox(collection, state) {
  const list = h("ul", { id: "found", class: "found", hidden: true });
  const status = h("span", { class: "hidden-text", role: "status" });
  const input = h("input", {
    type: "search", id: "search", autocomplete: "off", placeholder: collection.names ? "Name or number" : "Number",
    "aria-label": "Search for a graph", "aria-controls": "found", oninput: show,
    onkeydown: (event) => {
      const [first] = matches(collection, input.value);
      if (event.key === "Enter" && first !== undefined) choose(first);
      if (event.key === "Escape") hide();
    },
  });
  function hide() {
    list.hidden = true;
    replace(list);
  }
  function choose(graph) {
    hide();
    state.select(graph);
  }
  function show() {
    const found = matches(collection, input.value);
    status.textContent = input.value.trim() ? `${found.length === MOST ? "many" : found.length} found` : "";
    list.hidden = !input.value.trim();
    replace(list, found.map((graph) => h("li", {}, h("button", { type: "button", onclick: () => choose(graph) },
      h("b", {}, String(graph)), " ", own(clipped(collection.name(graph)))))), found.length ? [] : h("li", { class: "none" }, "no such graph"));
  }
  const box = h("div", { class: "search", role: "search" }, input, list, status);
  box.addEventListener("focusout", (event) => {
    if (!box.contains(event.relatedTarget)) hide();
  });
  return box;
}
