// The cells of a game: a byte for each tile of the held squares, in one or more layers. It applies the
// server's messages by the rules of docs/protocol.md, and never touches the page.

import * as P from './protocol.js';

export class Cells {
  constructor() {
    /** @type {Map<string, Uint8Array>} By 'layer:col:row': the values of a square's tiles, row by row. */
    this.squares = new Map();
  }

  /** Take a message: of the kinds CELLS, HELD and RESYNC, and others, which do not matter. `side` is
   * the length of a square's side in tiles. */
  apply(message, side) {
    if (message[0] === P.CELLS) this.#write(message, side);
    else if (message[0] === P.HELD) this.#hold(message);
    else if (message[0] === P.RESYNC) this.squares.clear();
  }

  #write([, col, row, layer, whole, values], side) {
    const key = `${layer}:${col}:${row}`, known = this.squares.get(key) ?? new Uint8Array(side * side);
    this.squares.set(key, known);
    if (whole) known.set(values);
    else {
      for (let at = 0; at < values.length; at += 3) {
        known[values[at] + values[at + 1] * 256] = values[at + 2];
      }
    }
  }

  #hold([, c0, r0, c1, r1]) {
    for (const key of this.squares.keys()) {
      const [, col, row] = key.split(':').map(Number);
      if (col < c0 || col > c1 || row < r0 || row > r1) this.squares.delete(key);
    }
  }
}
