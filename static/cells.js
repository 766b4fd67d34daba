// The cells of a game: a byte for each tile of the held squares, in one or more layers. It applies the
// server's messages by the rules of docs/protocol.md, and never touches the page.

import * as P from './protocol.js';

export class Cells {
  constructor() {
    /** @type {Map<string, Uint8Array>} By 'layer:col:row': the values of a square's tiles, row by row. */
    this.squares = new Map();
    /** @type {Map<number, number>} By layer: the lowest value of a tile that nobody can enter. */
    this.solid = new Map();
    this.side = 1;                        // of a square, in tiles
  }

  /** Learn from the kinds of a welcome which layers have walls. */
  learn(kinds) {
    this.solid = new Map(kinds.filter(([what]) => what === 'solid').map(([, layer, least]) => [layer, least]));
  }

  /** Return the value of a tile in a layer. */
  value(layer, x, y) {
    const { side } = this, col = Math.floor(x / side), row = Math.floor(y / side);
    return this.squares.get(`${layer}:${col}:${row}`)?.[(y - row * side) * side + x - col * side] ?? 0;
  }

  /** Return whether a tile is a wall. */
  blocked(x, y) {
    for (const [layer, least] of this.solid) if (this.value(layer, x, y) >= least) return true;
    return false;
  }

  /** Apply a message if it is a CELLS, HELD or RESYNC; ignore others. `side` is the length of a
   * square's side in tiles. */
  apply(message, side) {
    this.side = side;
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
