// Regions: parts of the world, some hundred tiles wide, that have trees, colours and butterflies of their
// own. They are functions of seed and tile, and are only drawn: no region changes where one can walk, so
// the server asks for one only to name a landmark. Two very slow noises say how warm and how wet a place is.

import { hash32 } from './terrain.js';

export const MEADOWS = 0, AUTUMN = 1, HEATH = 2, MARSH = 3, DESERT = 4, SNOW = 5;
export const REGIONS = ['meadows', 'autumn woods', 'heath', 'marsh', 'desert', 'snow'];

const LENGTH = 256, SHORT = 64;           // tiles between the points of the noises' lattices
const SHORT_SHARE = 0.22;                 // how much the shorter noise counts
const RAGGED = 0.07;                      // by how much groves bend the borders of regions
const GENTLE = 70, WILD = 150;            // tiles from the plaza: all is meadows within the first,
                                          // and nothing is changed for them from the second on
const WARM = 21, WET = 23;                // layers of the hashes

/** How far inside each region a place is, by how warm and wet it is, 0 to 1 each. Of the regions for
 * which this is positive, the one with the highest number is there. */
const INSIDE = [
  () => 1,
  (warm, wet) => Math.min(0.44 - warm, wet - 0.45),
  (warm, wet) => Math.min(0.355 - wet, 0.62 - warm),
  (warm, wet) => Math.min(wet - 0.655, warm - 0.4),
  (warm, wet) => Math.min(warm - 0.64, 0.58 - wet),
  (warm) => 0.31 - warm,
];

/** The regions of one world. */
export class Regions {
  constructor(seed) {
    this.salts = [WARM, WARM + 1, WET, WET + 1].map((layer) => hash32(seed + hash32(layer)));
    this.warm = this.wet = 0;             // of the place that was looked at last
  }

  /** Return the region of a tile; `wood` is the tile's wood, 0 to 65535. */
  at(x, y, wood) {
    this.#feel(x, y, wood);
    let region = INSIDE.length - 1;
    while (INSIDE[region](this.warm, this.wet) <= 0) region--;
    return region;
  }

  /** Write for each of side x side tiles from (left, top) on, row after row, how far inside each
   * region it is into insides[region], and its region into `regions`. */
  measure(left, top, side, woods, insides, regions) {
    for (let i = 0; i < side * side; i++) {
      const row = Math.floor(i / side);
      this.#feel(left + i - row * side, top + row, woods[i]);
      for (let region = 0; region < INSIDE.length; region++) {
        const inside = INSIDE[region](this.warm, this.wet);
        insides[region][i] = inside;
        if (inside > 0) regions[i] = region;
      }
    }
  }

  #feel(x, y, wood) {
    const away = Math.hypot(x, y), ragged = (wood / 65536 - 0.5) * RAGGED;
    const wild = Math.min(Math.max((away - GENTLE) / (WILD - GENTLE), 0), 1);
    this.warm = 0.5 + (this.#noise(0, x, y) - 0.5) * wild + ragged;
    this.wet = 0.5 + (this.#noise(2, x, y) - 0.5) * wild - ragged;
  }

  #noise(layer, x, y) {
    return this.#value(layer, LENGTH, x, y) * (1 - SHORT_SHARE)
      + this.#value(layer + 1, SHORT, x, y) * SHORT_SHARE;
  }

  #value(layer, length, x, y) {
    const i = Math.floor(x / length), j = Math.floor(y / length);
    const right = smooth(x / length - i), lower = smooth(y / length - j);
    const a = this.#point(layer, i, j), b = this.#point(layer, i + 1, j);
    const c = this.#point(layer, i, j + 1), d = this.#point(layer, i + 1, j + 1);
    const upper = a + (b - a) * right;
    return upper + (c + (d - c) * right - upper) * lower;
  }

  #point(layer, i, j) {
    return hash32(hash32(Math.imul(i, 0x9e3779b1) + this.salts[layer])
      + Math.imul(j, 0x85ebca77)) / 2 ** 32;
  }
}

function smooth(share) {
  return share * share * (3 - 2 * share);
}
