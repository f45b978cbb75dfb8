// What the reader has chosen. Parts of the page listen to it, and change it with `update`.

export class State {
  constructor(collection) {
    this.collection = collection;
    this.listeners = [];
    this.current = null; // the graph that is shown
    this.held = null; // the graph that it is compared with
    this.colourBy = firstColour(collection);
    this.hidden = new Map(); // by column: codes of classes that are not shown
    this.ranges = new Map(); // by column: least and largest number that is shown
    this.cell = null; // of the confusion matrix: names of the true and the predicted class
    this.selection = new Set(); // graphs within a lasso
    this.nodeColour = firstNodeColour(collection);
    this.step = 4;
    this.shown = new Uint8Array(collection.n).fill(1);
    this.nShown = collection.n;
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  update(changes) {
    Object.assign(this, changes);
    if (["hidden", "ranges", "cell"].some((name) => name in changes)) this.filter();
    for (const listener of this.listeners) listener(changes);
  }

  filter() {
    const { collection, shown } = this;
    shown.fill(1);
    for (const [column, codes] of this.hidden) {
      if (codes.size) column.values.forEach((code, graph) => (shown[graph] &= codes.has(code) ? 0 : 1));
    }
    for (const [column, [low, high]] of this.ranges) {
      column.values.forEach((value, graph) => (shown[graph] &= value >= low && value <= high ? 1 : 0));
    }
    if (this.cell) {
      const [truth, predicted] = [collection.columnOf("class"), collection.columnOf("predicted")];
      for (let graph = 0; graph < collection.n; graph++) {
        const fits = collection.text(truth, graph) === this.cell.truth && collection.text(predicted, graph) === this.cell.predicted;
        shown[graph] &= fits ? 1 : 0;
      }
    }
    this.nShown = shown.reduce((sum, one) => sum + one, 0);
  }

  get isFiltered() {
    return this.nShown < this.collection.n;
  }

  clearFilters() {
    this.update({ hidden: new Map(), ranges: new Map(), cell: null, selection: new Set() });
  }

  select(graph) {
    if (graph >= 0 && graph < this.collection.n) this.update({ current: graph });
  }

  toggleSelected(graph) {
    const selection = new Set(this.selection);
    if (!selection.delete(graph)) selection.add(graph);
    this.update({ selection });
  }

  // Graphs to export: those selected that are shown, or all that are shown.
  chosen() {
    const found = [];
    for (let graph = 0; graph < this.collection.n; graph++) {
      if (this.shown[graph] && (!this.selection.size || this.selection.has(graph))) found.push(graph);
    }
    return found;
  }
}

function firstColour(collection) {
  const usable = collection.columns.filter((column) => column.kind !== "text");
  return usable.find((column) => column.role === "class") ?? usable[0];
}

function firstNodeColour({ arrays, header }) {
  if (arrays.shares) return "share";
  return header.drawings.texts ? "plain" : "returns";
}
