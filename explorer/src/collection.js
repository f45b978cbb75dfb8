// The collection: places on the map, columns, nearest graphs and drawings, by number of a graph.

import { clipped, number } from "./dom.js";
import { returnProbabilities } from "./walks.js";

export class Collection {
  constructor({ header, arrays }) {
    this.header = header;
    this.arrays = arrays;
    this.n = header.n;
    this.columns = header.columns.map((column) => ({ ...column, values: arrays[column.key] ?? column.texts }));
    this.places = arrays.map;
    this.names = header.names;
    this.nNear = header.near.count;
    this.nodePtr = offsets(arrays.nodeCounts);
    this.edgePtr = offsets(arrays.edgeCounts);
    this.drawnPlace = arrays.drawn ? placesOf(arrays.drawn, this.n) : null;
    this.graphs = new Map();
  }

  columnOf(role) {
    return this.columns.find((column) => column.role === role) ?? null;
  }

  title(graph) {
    return `graph ${graph}`;
  }

  name(graph) {
    return this.names ? this.names[graph] : "";
  }

  // What a screen reader says of a graph, and what stands under a pointer.
  sentence(graph) {
    const parts = [this.title(graph)];
    if (this.names) parts.push(clipped(this.name(graph)));
    for (const column of this.columns) {
      if (column.role && column.role !== "size") parts.push(`${column.name} ${clipped(this.text(column, graph))}`);
    }
    return parts.join(", ");
  }

  text(column, graph) {
    const value = column.values[graph];
    if (column.kind === "class") return column.names[value];
    return column.kind === "number" ? number(value) : value;
  }

  neighbours(graph) {
    const { low, high } = this.header.near;
    const found = [];
    for (let i = graph * this.nNear; i < (graph + 1) * this.nNear; i++) {
      const distance = low + ((high - low) * this.arrays.nearDistances[i]) / 65534;
      found.push({ graph: this.arrays.near[i], distance });
    }
    return found;
  }

  isDrawn(graph) {
    return this.place(graph) >= 0;
  }

  place(graph) {
    return this.drawnPlace ? this.drawnPlace[graph] : graph;
  }

  // Nodes and edges of a graph that is drawn; null for others.
  graph(graph) {
    if (!this.isDrawn(graph)) return null;
    if (!this.graphs.has(graph)) {
      if (this.graphs.size > 200) this.graphs.clear();
      this.graphs.set(graph, new DrawnGraph(this, graph));
    }
    return this.graphs.get(graph);
  }
}

class DrawnGraph {
  constructor(collection, number) {
    const { arrays, header } = collection;
    const at = collection.place(number);
    const [first, last] = [collection.nodePtr[at], collection.nodePtr[at + 1]];
    const [firstEdge, lastEdge] = [collection.edgePtr[at], collection.edgePtr[at + 1]];
    const most = arrays.places instanceof Uint8Array ? 255 : 65535;
    this.number = number;
    this.n = last - first;
    this.places = Float64Array.from(arrays.places.subarray(2 * first, 2 * last), (x) => x / most);
    this.ends = arrays.ends.subarray(2 * firstEdge, 2 * lastEdge);
    this.weights = arrays.weights?.subarray(firstEdge, lastEdge) ?? null;
    this.labels = arrays.labels?.subarray(first, last) ?? null;
    this.labelNames = header.drawings.labels;
    this.names = arrays.nodeNames?.subarray(first, last) ?? null;
    this.nodeNames = header.drawings.names;
    this.orders = arrays.orders?.subarray(firstEdge, lastEdge) ?? null;
    this.isFormula = arrays.formulas?.[at] === 1;
    this.texts = this.isFormula ? Array.from(arrays.texts.subarray(first, last), (code) => header.drawings.texts[code]) : null;
    this.attributes = header.drawings.attributes.map(({ key, name, low, high }) => ({
      name,
      low,
      high,
      values: Float64Array.from(arrays[key].subarray(first, last), (step) =>
        step === 65535 ? NaN : low + ((high - low) * step) / 65534,
      ),
    }));
    this.shares = null;
    if (arrays.shares) {
      const unit = arrays.shareUnits[at];
      this.shares = Float64Array.from(arrays.shares.subarray(first, last), (share) => share * unit);
      this.decision = arrays.decisions[at];
      this.baseline = arrays.baselines[at];
      this.explained = header.model.shares.of[at];
    }
    this.steps = header.kernel.steps;
  }

  get probabilities() {
    this.known ??= returnProbabilities(this, this.steps);
    return this.known;
  }

  // Return probability of every node after so many steps.
  returns(step) {
    return Float64Array.from({ length: this.n }, (_, node) => this.probabilities[node * this.steps + step - 1]);
  }

  nodeText(node) {
    const parts = [this.names ? clipped(this.nodeNames[this.names[node]]) : `node ${node}`];
    if (this.labels) parts.push(clipped(this.labelNames[this.labels[node]]));
    return parts.join(" ");
  }
}

function offsets(counts) {
  const found = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) found[i + 1] = found[i] + counts[i];
  return found;
}

function placesOf(drawn, n) {
  const found = new Int32Array(n).fill(-1);
  drawn.forEach((graph, place) => (found[graph] = place));
  return found;
}
