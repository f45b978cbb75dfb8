// Points of the map: one buffer and one shader of WebGL, or a plain canvas where there is none.

import { h } from "./dom.js";

const VERTEX = `
attribute vec2 place; attribute vec4 colour; attribute float shape;
uniform vec2 scale; uniform vec2 shift; uniform mediump float size;
varying vec4 tint; varying float kind;
void main() {
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = size * (shape > 0.5 ? 1.12 : 1.0);
  tint = colour; kind = shape;
}`;
const FRAGMENT = `
precision mediump float;
varying vec4 tint; varying float kind; uniform mediump float size;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float d = length(p) - 0.92;
  if (kind > 2.5) d = max(abs(p.x), abs(p.y)) - 0.74;
  else if (kind > 1.5) d = max(p.y - 0.72, (1.8 * abs(p.x) - p.y - 1.0) / 2.06);
  else if (kind > 0.5) d = abs(p.x) + abs(p.y) - 0.95;
  float cover = tint.a * (1.0 - smoothstep(-2.0 / size, 2.0 / size, d));
  if (cover < 0.01) discard;
  gl_FragColor = vec4(tint.rgb * cover, cover);
}`;

// A layer with a canvas of its own: one that has had WebGL cannot be drawn on in another way.
export function pointLayer(places) {
  return WebGLPoints.on(newCanvas(), places) ?? new PlainPoints(newCanvas(), places);
}

function newCanvas() {
  return h("canvas", { class: "points", "aria-hidden": "true" });
}

class WebGLPoints {
  static on(canvas, places) {
    const gl = canvas.getContext("webgl", { antialias: false, premultipliedAlpha: true });
    const isEnough = gl !== null && gl.getExtension("OES_element_index_uint") !== null;
    const found = isEnough ? new WebGLPoints(gl, places) : null;
    return found?.isUsable ? found : null;
  }

  constructor(gl, places) {
    this.gl = gl;
    this.canvas = gl.canvas;
    this.kind = "WebGL";
    this.data = { places };
    this.start();
    gl.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    gl.canvas.addEventListener("webglcontextrestored", () => {
      this.start();
      if (this.data.colours) this.paint(this.data.colours, this.data.shapes, this.data.order);
      if (this.view) this.draw(this.view);
    });
  }

  start() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    this.isUsable = gl.getProgramParameter(program, gl.LINK_STATUS);
    if (!this.isUsable) return;
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(["scale", "shift", "size"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = { place: gl.createBuffer(), colour: gl.createBuffer(), shape: gl.createBuffer(), order: gl.createBuffer() };
    this.count = 0;
    gl.getExtension("OES_element_index_uint");
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.fill(program, "place", this.data.places, 2, gl.UNSIGNED_SHORT, true);
    this.program = program;
  }

  fill(program, name, values, size, type, isNormalised) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    const at = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, isNormalised, 0, 0);
  }

  // Colours as four bytes each, shapes as one, and the order in which points are drawn.
  paint(colours, shapes, order) {
    const { gl } = this;
    Object.assign(this.data, { colours, shapes, order });
    this.fill(this.program, "colour", colours, 4, gl.UNSIGNED_BYTE, true);
    this.fill(this.program, "shape", shapes, 1, gl.UNSIGNED_BYTE, false);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.order);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.DYNAMIC_DRAW);
    this.count = order.length;
  }

  draw(view) {
    const { gl, uniforms } = this;
    this.view = view;
    const { width, height, ratio, unit, x, y, size } = view;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniforms.scale, (2 * unit) / width, (-2 * unit) / height);
    gl.uniform2f(uniforms.shift, (2 * x) / width - 1, 1 - (2 * y) / height);
    gl.uniform1f(uniforms.size, Math.max(2, size * ratio));
    gl.drawElements(gl.POINTS, this.count, gl.UNSIGNED_INT, 0);
  }
}

const MOST_PLAIN = 20000; // points of a frame while the map moves

class PlainPoints {
  constructor(canvas, places) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.kind = "canvas";
    this.places = places;
  }

  paint(colours, shapes, order) {
    Object.assign(this, { colours, shapes, order });
  }

  draw({ ratio, unit, x, y, size, width, height, isMoving }) {
    const { context, colours, order, places } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const step = isMoving ? Math.max(1, Math.ceil(order.length / MOST_PLAIN)) : 1;
    for (let k = 0; k < order.length; k += step) {
      const i = order[k];
      const [px, py] = [(places[2 * i] / 65535) * unit + x, (places[2 * i + 1] / 65535) * unit + y];
      if (px < -size || py < -size || px > width + size || py > height + size) continue;
      const [r, g, b, a] = colours.subarray(4 * i, 4 * i + 4);
      context.fillStyle = `rgba(${r},${g},${b},${a / 255})`;
      if (size < 5) {
        context.fillRect(px - size / 2, py - size / 2, size, size); // several times as quick as a path
        continue;
      }
      tracePoint(context, px, py, size / 2, this.shapes[i]);
      context.fill();
    }
  }
}

function tracePoint(context, x, y, r, shape) {
  context.beginPath();
  if (shape === 0) context.arc(x, y, r, 0, 2 * Math.PI);
  for (const [k, [dx, dy]] of outline(shape).entries()) {
    if (k === 0) context.moveTo(x + dx * r, y + dy * r);
    else context.lineTo(x + dx * r, y + dy * r);
  }
  context.closePath();
}

// Corners of a shape around the origin, within a circle of radius one.
export function outline(shape) {
  if (shape === 1) return [[0, -1.1], [1.1, 0], [0, 1.1], [-1.1, 0]];
  if (shape === 2) return [[0, -1.05], [1, 0.75], [-1, 0.75]];
  if (shape === 3) return [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]];
  return [];
}
