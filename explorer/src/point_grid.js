// The point nearest to a place: points lie in square cells, so that a pointer is compared with few of them.

const CELLS = 128; // along each side

export class PointGrid {
  constructor(places) {
    this.places = places;
    const n = places.length / 2;
    this.ptr = new Uint32Array(CELLS * CELLS + 1);
    const cells = Uint16Array.from({ length: n }, (_, i) => this.cell(places[2 * i]) + CELLS * this.cell(places[2 * i + 1]));
    for (const cell of cells) this.ptr[cell + 1]++;
    for (let cell = 0; cell < CELLS * CELLS; cell++) this.ptr[cell + 1] += this.ptr[cell];
    const next = this.ptr.slice();
    this.members = new Uint32Array(n);
    cells.forEach((cell, i) => (this.members[next[cell]++] = i));
  }

  cell(value) {
    return Math.max(0, Math.min(CELLS - 1, Math.floor((value / 65536) * CELLS)));
  }

  nearest([x, y], reach, isWanted) {
    let [best, least] = [-1, reach * reach];
    for (let row = this.cell(y - reach); row <= this.cell(y + reach); row++) {
      for (let column = this.cell(x - reach); column <= this.cell(x + reach); column++) {
        const cell = column + CELLS * row;
        for (let k = this.ptr[cell]; k < this.ptr[cell + 1]; k++) {
          const i = this.members[k];
          const gap = (this.places[2 * i] - x) ** 2 + (this.places[2 * i + 1] - y) ** 2;
          if (gap < least && isWanted(i)) [best, least] = [i, gap];
        }
      }
    }
    return best;
  }
}
