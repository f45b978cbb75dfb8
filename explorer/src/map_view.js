// The map: every graph a point; pan, zoom, lasso and keys.

import { classColour, classShape, extent, inks, part, rampColour, rgb } from "./colours.js";
import { h, plural } from "./dom.js";
import { PointGrid } from "./point_grid.js";
import { PointLayer, pixelOf } from "./point_layer.js";
import { reachOf } from "./point_masks.js";

const REACH = 14; // pixels within which a point is hit
const MARGIN = 28;
const LARGEST = 18; // pixels that a point is wide

const KEYS_HELP =
  "Arrow keys go to the next graph in a direction, N and P to the next and previous by number, " +
  "plus and minus zoom, 0 shows all, S adds the graph to the selection, C holds it for comparison, Enter goes to its drawing.";

export class MapView {
  constructor(collection, state) {
    Object.assign(this, { collection, state, isLasso: false, zoom: 1, x: 0, y: 0, hover: -1, path: [] });
    this.pointers = new Map();
    this.grid = new PointGrid(collection.places);
    this.box = boxOf(collection.places);
    this.layer = new PointLayer(collection.places, {
      tabindex: 0, role: "application", "aria-roledescription": "map of graphs",
      "aria-label": `Map of ${plural(collection.n, "graph")}`, "aria-describedby": "map-keys",
    });
    this.canvas = this.layer.canvas;
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.element = h("div", { class: "stage" }, this.canvas, this.tip,
      h("p", { id: "map-keys", class: "hidden-text" }, KEYS_HELP));
    this.repaint();
    this.listen();
    state.listen((changes) => this.onChange(changes));
  }

  listen() {
    const { canvas } = this;
    new ResizeObserver(() => this.resize()).observe(this.element);
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.onUp(event));
    canvas.addEventListener("pointerleave", () => this.showTip(-1));
    canvas.addEventListener("dblclick", (event) => this.zoomAt(this.point(event), 2));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomAt(this.point(event), Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
  }

  onChange(changes) {
    if (["colourBy", "hidden", "ranges", "cell", "selection"].some((name) => name in changes)) this.repaint();
    if ("current" in changes) this.bringIntoView(this.state.current);
    this.requestDraw();
  }

  // ---- colours

  repaint() {
    const { collection, state } = this;
    const { n } = collection;
    const colours = new Uint32Array(n);
    const strengths = new Uint8Array(n);
    const shapes = new Uint8Array(n);
    const table = this.colourTable();
    const faint = inkOf(inks().faint);
    const [back, middle, front] = [[], [], []];
    const hasSelection = state.selection.size > 0;
    for (let i = 0; i < n; i++) {
      const { colour, shape } = table(i);
      const isShown = state.shown[i] === 1;
      const isStrong = !hasSelection || state.selection.has(i);
      colours[i] = isShown ? colour : faint;
      strengths[i] = isShown ? (isStrong ? 225 : 60) : 45;
      shapes[i] = shape;
      (isShown ? (isStrong ? front : middle) : back).push(i);
    }
    const order = Uint32Array.from([...back, ...middle, ...front]);
    this.layer.paint({ colours, strengths, shapes, order, paper: inkOf(inks().paper) });
    this.requestDraw();
  }

  colourTable() {
    const column = this.state.colourBy;
    if (column.kind === "class") {
      const table = column.names.map((_, code) => ({ colour: inkOf(classColour(code)), shape: classShape(code) }));
      return (graph) => table[column.values[graph]];
    }
    const range = extent(column.values);
    const steps = Array.from({ length: 256 }, (_, k) => ({ colour: inkOf(rampColour(k / 255)), shape: 0 }));
    const missing = { colour: inkOf(inks().faint), shape: 3 };
    return (graph) => {
      const value = column.values[graph];
      return Number.isFinite(value) ? steps[Math.round(255 * part(value, range))] : missing;
    };
  }

  // ---- places

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this.layer.resize(Math.round(width * ratio), Math.round(height * ratio), reachOf((LARGEST / 2) * ratio));
    Object.assign(this, { width, height, ratio });
    this.fit();
    this.draw(); // at once: a canvas of a new size is black
  }

  // The whole map, as large as it fits.
  fit() {
    const { low, high } = this.box;
    const room = [this.width - 2 * MARGIN, this.height - 2 * MARGIN];
    this.zoom = 1;
    this.base = Math.min(...room.map((size, axis) => size / Math.max(high[axis] - low[axis], 0.05)));
    this.x = this.width / 2 - (this.base * (low[0] + high[0])) / 2;
    this.y = this.height / 2 - (this.base * (low[1] + high[1])) / 2;
    this.requestDraw();
  }

  get unit() {
    return this.base * this.zoom;
  }

  get size() {
    const room = Math.sqrt((this.width * this.height) / this.collection.n);
    return Math.min(LARGEST, Math.max(2.5, Math.min(9, room * 0.33)) * this.zoom ** 0.4);
  }

  // Place of a graph on the canvas, in pixels of the page.
  placeOf(graph) {
    const { places } = this.collection;
    return [(places[2 * graph] / 65535) * this.unit + this.x, (places[2 * graph + 1] / 65535) * this.unit + this.y];
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  zoomAt([px, py], factor) {
    const zoom = Math.min(400, Math.max(0.5, this.zoom * factor));
    const by = zoom / this.zoom;
    this.x = px - (px - this.x) * by;
    this.y = py - (py - this.y) * by;
    this.zoom = zoom;
    this.requestDraw();
  }

  zoomBy(factor) {
    this.zoomAt([this.width / 2, this.height / 2], factor);
  }

  bringIntoView(graph) {
    if (graph === null || !this.width) return;
    const [px, py] = this.placeOf(graph);
    if (px < MARGIN / 2 || px > this.width - MARGIN / 2) this.x += this.width / 2 - px;
    if (py < MARGIN / 2 || py > this.height - MARGIN / 2) this.y += this.height / 2 - py;
  }

  // ---- pointers

  onDown(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const at = this.point(event);
    this.pointers.set(event.pointerId, at);
    this.travel = 0;
    this.path = this.isLasso || event.shiftKey ? [at] : [];
  }

  onMove(event) {
    const at = this.point(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.showTip(this.hit(at), at);
      return;
    }
    this.travel += Math.hypot(at[0] - before[0], at[1] - before[1]);
    if (this.pointers.size === 2) this.pinch(event.pointerId, at);
    else if (this.path.length) this.path.push(at);
    else {
      this.x += at[0] - before[0];
      this.y += at[1] - before[1];
    }
    this.pointers.set(event.pointerId, at);
    this.requestDraw();
  }

  pinch(id, at) {
    const [, other] = [...this.pointers].find(([key]) => key !== id);
    const before = this.pointers.get(id);
    const gap = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
    this.path = [];
    this.zoomAt(other, gap(at, other) / Math.max(1, gap(before, other)));
  }

  onUp(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.path.length > 2 && this.travel > 6) {
      this.state.update({ selection: this.inside(this.path) });
    } else if (this.travel < 6 && event.type === "pointerup") {
      const graph = this.hit(this.point(event));
      if (graph >= 0) this.state.select(graph);
    }
    this.path = [];
    this.requestDraw();
  }

  hit(at) {
    const toMap = ([px, py]) => [((px - this.x) / this.unit) * 65535, ((py - this.y) / this.unit) * 65535];
    const reach = (REACH / this.unit) * 65535;
    return this.grid.nearest(toMap(at), reach, (graph) => this.state.shown[graph] === 1);
  }

  inside(path) {
    const found = new Set();
    for (let graph = 0; graph < this.collection.n; graph++) {
      if (this.state.shown[graph] && isInside(this.placeOf(graph), path)) found.add(graph);
    }
    return found;
  }

  showTip(graph, at) {
    if (graph !== this.hover) {
      this.hover = graph;
      this.tip.hidden = graph < 0;
      if (graph >= 0) this.tip.textContent = this.collection.sentence(graph);
      this.canvas.classList.toggle("over-point", graph >= 0);
      this.requestDraw();
    }
    if (graph >= 0) {
      const isLeft = at[0] > this.width / 2;
      this.tip.style.left = isLeft ? "auto" : `${at[0] + 14}px`;
      this.tip.style.right = isLeft ? `${this.width - at[0] + 14}px` : "auto";
      this.tip.style.top = `${Math.max(4, at[1] - 12)}px`;
    }
  }

  // ---- keys

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const { state } = this;
    const actions = {
      "+": () => this.zoomBy(1.4), "=": () => this.zoomBy(1.4), "-": () => this.zoomBy(1 / 1.4), 0: () => this.fit(),
      n: () => this.step(1), p: () => this.step(-1), Home: () => this.step(1, -1), End: () => this.step(-1, this.collection.n),
      s: () => state.current !== null && state.toggleSelected(state.current),
      c: () => state.update({ held: state.held === null ? state.current : null }),
      Enter: () => document.getElementById("graph-heading")?.focus(),
      Escape: () => state.update({ selection: new Set() }),
    };
    const action = directions[event.key] ? () => this.go(directions[event.key]) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // The next or previous graph that is shown, by number.
  step(by, from = this.state.current ?? -1) {
    for (let graph = from + by; graph >= 0 && graph < this.collection.n; graph += by) {
      if (this.state.shown[graph]) return this.state.select(graph);
    }
    return undefined;
  }

  // The nearest graph that is shown in a direction, within 45 degrees of it if there is one.
  go([dx, dy]) {
    const { current, shown } = this.state;
    if (current === null) return this.step(1);
    const [x, y] = this.placeOf(current);
    let [best, least] = [-1, Infinity];
    for (let graph = 0; graph < this.collection.n; graph++) {
      if (!shown[graph] || graph === current) continue;
      const [px, py] = this.placeOf(graph);
      const along = (px - x) * dx + (py - y) * dy;
      const aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      if (along <= 0) continue;
      const cost = along + 2 * aside + (aside > along ? 1e4 : 0);
      if (cost < least) [best, least] = [graph, cost];
    }
    return best >= 0 ? this.state.select(best) : undefined;
  }

  // ---- drawing

  requestDraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.width) this.draw();
    });
  }

  draw() {
    const { ratio, unit, x, y, size } = this;
    this.layer.draw({ x: x * ratio, y: y * ratio, unit: unit * ratio, size: size * ratio });
    const { context } = this.layer;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawMarks(context);
    this.drawLasso(context);
  }

  drawMarks(context) {
    const { current, held } = this.state;
    const { ring, ink } = inks();
    if (current !== null) {
      const from = this.placeOf(current);
      context.strokeStyle = ink;
      context.globalAlpha = 0.45;
      context.lineWidth = 1;
      for (const { graph } of this.collection.neighbours(current)) {
        context.beginPath();
        context.moveTo(...from);
        context.lineTo(...this.placeOf(graph));
        context.stroke();
      }
      context.globalAlpha = 1;
      this.circle(context, from, ring, 3);
    }
    if (held !== null) {
      context.setLineDash([4, 3]);
      this.circle(context, this.placeOf(held), ring, 2.5);
      context.setLineDash([]);
    }
    if (this.hover >= 0) this.circle(context, this.placeOf(this.hover), ring, 1.5);
  }

  circle(context, [x, y], colour, width) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, this.size / 2 + 4, 0, 2 * Math.PI);
    context.stroke();
  }

  drawLasso(context) {
    if (this.path.length < 2) return;
    context.beginPath();
    this.path.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.fillStyle = "rgba(0, 114, 178, 0.15)";
    context.strokeStyle = inks().ink;
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
  }
}

const inkOf = (colour) => pixelOf(rgb(colour));

function boxOf(places) {
  const box = { low: [1, 1], high: [0, 0] };
  places.forEach((value, k) => {
    box.low[k % 2] = Math.min(box.low[k % 2], value / 65535);
    box.high[k % 2] = Math.max(box.high[k % 2], value / 65535);
  });
  return box;
}

function isInside([x, y], path) {
  let found = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const [[ax, ay], [bx, by]] = [path[i], path[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) found = !found;
  }
  return found;
}
