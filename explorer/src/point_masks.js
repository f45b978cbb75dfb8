// Which pixels a point covers, and how much of each.

export const PARTS = 4; // the middle of a point may be at any quarter of a pixel; a power of two

export class Masks {
  constructor(radius) {
    Object.assign(this, { radius, reach: reachOf(radius), known: [] });
  }

  // Masks for an image of some width, by shape and by the quarters that the middle is at.
  offsets(width) {
    const found = [];
    return (shape, across, down) => {
      const place = (shape * PARTS + down) * PARTS + across;
      return (found[place] ??= this.placed(place, shape, across, down, width));
    };
  }

  placed(place, shape, across, down, width) {
    const cells = (this.known[place] ??= this.cells(shape, across / PARTS, down / PARTS));
    return {
      offsets: Int32Array.from(cells, ([row, column]) => row * width + column),
      covers: Uint16Array.from(cells, ([, , cover]) => cover),
    };
  }

  // Rows and columns from the middle, and the part of the pixel that is covered, of 256.
  cells(shape, dx, dy) {
    const beyond = distanceTo(shape, this.radius);
    const found = [];
    for (let row = -this.reach; row <= this.reach; row++) {
      for (let column = -this.reach; column <= this.reach; column++) {
        const cover = Math.round(256 * Math.min(1, 0.5 - beyond(column + 0.5 - dx, row + 0.5 - dy)));
        if (cover > 0) found.push([row, column, cover]);
      }
    }
    return found;
  }
}

// Pixels that a point takes to each side of the one that its middle is in.
export function reachOf(radius) {
  return Math.ceil(1.2 * radius) + 1;
}

// How far a place is outside of a shape; less than zero inside.
function distanceTo(shape, radius) {
  const corners = outline(shape);
  if (!corners.length) return (x, y) => Math.sqrt(x * x + y * y) - radius;
  const sides = corners.map(([x, y], k) => {
    const [nextX, nextY] = corners[(k + 1) % corners.length];
    const [dx, dy] = [nextX - x, nextY - y];
    const length = Math.hypot(dx, dy);
    return [dy / length, -dx / length, (radius * (x * dy - y * dx)) / length];
  });
  return (x, y) => Math.max(...sides.map(([nx, ny, from]) => x * nx + y * ny - from));
}

// Corners of a shape around the origin, clockwise; the circle, of radius one, has none.
export function outline(shape) {
  if (shape === 1) return [[0, -1.1], [1.1, 0], [0, 1.1], [-1.1, 0]];
  if (shape === 2) return [[0, -1.05], [1, 0.75], [-1, 0.75]];
  if (shape === 3) return [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]];
  return [];
}
