// Points of the map, written into pixels by the script: as quick where WebGL is missing or emulated as
// where it is not. While the map is dragged its pixels move, and only what comes into view is written.

import { h } from "./dom.js";
import { Masks, PARTS } from "./point_masks.js";

const LEAST_RADIUS = 1; // pixels of the canvas

export class PointLayer {
  constructor(places, attributes) {
    this.places = places;
    this.canvas = h("canvas", attributes);
    this.context = this.canvas.getContext("2d", { alpha: false });
  }

  // `reach`: how many pixels the largest point may take to each side.
  resize(width, height, reach) {
    Object.assign(this.canvas, { width, height });
    this.reach = reach;
    this.pixels = new Pixels(width, height, reach);
    this.drawn = null; // the view that the pixels show
  }

  // Colours and paper are pixels, strengths and shapes bytes; `order` is the order in which points are drawn.
  paint(look) {
    this.look = look;
    this.drawn = null;
  }

  // `x` and `y` of the corner of the map, its width and the size of a point, in pixels of the canvas.
  draw({ x, y, unit, size }) {
    const { drawn } = this;
    const radius = Math.max(LEAST_RADIUS, Math.round(2 * size) / 4); // in quarters, so that masks serve for many frames
    const view = { x: Math.round(x), y: Math.round(y), unit, radius };
    if (this.masks?.radius !== radius) this.masks = new Masks(radius);
    if (drawn?.unit === unit && drawn.radius === radius) this.move(view.x - drawn.x, view.y - drawn.y, view);
    else this.write(this.pixels, view);
    this.drawn = view;
    this.pixels.show(this.context);
  }

  move(right, down, view) {
    const { pixels } = this;
    const { width, height } = this.canvas;
    if (Math.abs(right) >= width || Math.abs(down) >= height) return this.write(pixels, view);
    pixels.shift(right, down);
    this.renew(view, right > 0 ? 0 : width + right, 0, Math.abs(right), height);
    this.renew(view, 0, down > 0 ? 0 : height + down, width, Math.abs(down));
  }

  renew(view, x, y, width, height) {
    if (!width || !height) return;
    const strip = new Pixels(width, height, this.reach);
    this.write(strip, { ...view, x: view.x - x, y: view.y - y });
    this.pixels.insert(strip, x, y);
  }

  write({ values, width, height, margin }, { x, y, unit }) {
    const { places } = this;
    const { colours, strengths, shapes, order, paper } = this.look;
    const { reach } = this.masks;
    const masks = this.masks.offsets(width);
    const scale = (unit * PARTS) / 65535;
    const left = (x + margin) * PARTS + 0.5;
    const top = (y + margin) * PARTS + 0.5;
    values.fill(paper);
    for (let k = 0; k < order.length; k++) {
      const i = order[k];
      const across = Math.floor(places[2 * i] * scale + left);
      const down = Math.floor(places[2 * i + 1] * scale + top);
      const column = Math.floor(across / PARTS);
      const row = Math.floor(down / PARTS);
      if (column < reach || row < reach || column >= width - reach || row >= height - reach) continue;
      const { offsets, covers } = masks(shapes[i], across & (PARTS - 1), down & (PARTS - 1));
      const middle = row * width + column;
      const strength = strengths[i];
      const redBlue = colours[i] & 0xff00ff;
      const green = colours[i] & 0xff00;
      for (let m = 0; m < offsets.length; m++) {
        const at = middle + offsets[m];
        const below = values[at];
        const cover = (covers[m] * strength) >> 8; // of 256
        const rest = 256 - cover;
        // red and blue at once: the byte between them takes what overflows
        const mixed = ((Math.imul(below & 0xff00ff, rest) + Math.imul(redBlue, cover)) >>> 8) & 0xff00ff;
        values[at] = 0xff000000 | mixed | (((Math.imul(below & 0xff00, rest) + Math.imul(green, cover)) >>> 8) & 0xff00);
      }
    }
  }
}

// Pixels with a margin on all sides that is not shown, so that no point has to be cut.
class Pixels {
  constructor(width, height, reach) {
    this.margin = 2 * reach; // a point outside of what is shown may reach into it
    this.width = width + 2 * this.margin;
    this.height = height + 2 * this.margin;
    this.values = new Uint32Array(this.width * this.height);
  }

  // What comes in from the margin is not to be shown before it is written.
  shift(right, down) {
    const by = down * this.width + right;
    if (by > 0) this.values.copyWithin(by, 0);
    else this.values.copyWithin(0, -by);
  }

  // Puts other pixels, without their margin, where x and y say.
  insert({ values, width, height, margin }, x, y) {
    for (let row = margin; row < height - margin; row++) {
      const inner = values.subarray(row * width + margin, (row + 1) * width - margin);
      this.values.set(inner, (y + row) * this.width + x + this.margin);
    }
  }

  show(context) {
    this.image ??= new ImageData(new Uint8ClampedArray(this.values.buffer), this.width, this.height);
    context.putImageData(this.image, -this.margin, -this.margin);
  }
}

// Red, green and blue as one pixel; its bytes lie in this order on all machines of today.
export function pixelOf([red, green, blue]) {
  return 0xff000000 | (blue << 16) | (green << 8) | red;
}
