// What people have left on the ground, tile by tile, as it is drawn: how much feet have worn it, and what
// somebody has planted there. It never touches the page and sends nothing.

import { fromPlaza } from '../near.js';
import { placeAt } from '../notes.js';
import * as P from '../protocol.js';

/** The server's layers of cells that have it. */
const WORN = 'Paths.worn', PLANTS = 'Gardens.plants';
const FAINT = 2, ROAD = 6;                // values from which a tile looks worn, and is a road
const PLANT = 4;                          // a look is PLANT times the plant, plus how worn the tile is

/** What can be planted, from 1 on: its name, and the prop of view/props.js.
 * @type {{ name: string, many: string, prop: string }[]} */
export const KINDS = [{ name: 'Flowers', many: 'flowers', prop: 'flowers' },
  { name: 'Lantern', many: 'a lantern', prop: 'lantern' }];

/** What the book says of what was planted. @type {import('../notes.js').Note} */
export const NOTE = {
  kind: 'plant',
  sign: 'flower',
  sum: ['garden', 'gardens'],
  say: ([, , , n, x, y]) => [`You planted ${KINDS[n - 1]?.many ?? 'something'} ${fromPlaza(x, y)}.`,
    placeAt(x, y, 'your garden')],
};

export class Looks {
  /** `numberOf` returns the number of a prop by its name.
   * @param {import('../grown.js').Grown} grown @param {(name: string) => number} numberOf */
  constructor(grown, numberOf) {
    this.grown = grown;
    this.props = [0, ...KINDS.map(({ prop }) => numberOf(prop))];
    /** @type {Map<string, Uint8Array>} By 'col:row' of a square: the looks of its tiles, row by row. */
    this.squares = new Map();
    this.side = 1;                        // of a square, in tiles
  }

  any() {
    return this.squares.size > 0;
  }

  /** Take a message, once the client has: CELLS, and those after which the client knows less.
   * @param {any[]} message @param {import('../client.js').Client} client */
  take(message, client) {
    if (message[0] === P.CELLS) this.#look(`${message[1]}:${message[2]}`, client);
    else if ([P.WELCOME, P.HELD, P.RESYNC].includes(message[0])) {
      // What is sent of them later may be less, and of an empty square nothing is sent.
      for (const key of this.squares.keys()) {
        if (this.#layers(key, client).every((known) => known === undefined)) this.#look(key, client);
      }
    }
  }

  #layers(key, client) {
    return [WORN, PLANTS].map((name) => client.layers.squares.get(`${client.cells(name).number}:${key}`));
  }

  /** Look at a square, 'col:row', again. */
  #look(key, client) {
    const side = this.side = client.layers.side, looks = new Uint8Array(side * side), [worn, plants] = this.#layers(key, client);
    const known = this.squares.get(key), [col, row] = key.split(':').map(Number);
    for (let i = 0; i < looks.length; i++) {
      const value = worn?.[i] ?? 0, plant = Math.min(plants?.[i] ?? 0, KINDS.length);
      looks[i] = plant * PLANT + (value >= ROAD ? 2 : value >= FAINT ? 1 : 0);
      if (looks[i] === (known?.[i] ?? 0)) continue;
      this.grown.change(col * side + i % side, row * side + Math.floor(i / side));
    }
    if (worn === undefined && plants === undefined) this.squares.delete(key);
    else this.squares.set(key, looks);
  }

  #at(x, y) {
    const { side } = this, col = Math.floor(x / side), row = Math.floor(y / side);
    return this.squares.get(`${col}:${row}`)?.[(y - row * side) * side + x - col * side] ?? 0;
  }

  /** Return how worn a tile is: 0, 1 if that can be seen, or 2 if it is a road. */
  worn(x, y) {
    return this.#at(x, y) % PLANT;
  }

  /** Return what grows on a tile: 0, or 1 more than its index in KINDS. */
  plant(x, y) {
    return Math.floor(this.#at(x, y) / PLANT);
  }

  /** Return the number of the prop that stands for it, or 0. */
  prop(x, y) {
    return this.props[this.plant(x, y)];
  }
}
