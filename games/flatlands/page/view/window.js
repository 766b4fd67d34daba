// A window of terrain: the tiles of one piece of ground, and some around it that the piece depends on.

import { Landmarks } from '../landmarks.js';
import { MEADOWS, REGIONS, Regions } from '../regions.js';
import { BRIDGE, CHUNK, DEEP_BELOW, PATH, PATH_WITHIN, PLATEAU_FROM, PLAZA, RAMP, ROCK, ROCK_FROM,
  SAND_BELOW, WATER_BELOW, WOOD_FROM } from '../terrain.js';
import { outline } from './contour.js';
import { part, rollAt } from './dice.js';

const MARKS_WITHIN = 14;                  // tiles from a piece to landmarks that matter to it: their pictures
                                          // are high, and cottages keep away from them
export const PAD = 4;                     // tiles around a piece on which its borders depend

const PATH_WEIGHT = 60;                   // the height that 1/16 tile of path distance counts for
const WORN_WITHIN = 13;                   // 1/16 tile from the middle, where a path is worn
const DRY_FROM = WATER_BELOW + 0.16 * (SAND_BELOW - WATER_BELOW);
const SUNNY_BELOW = 24500, LUSH_FROM = 31000;        // woods, on meadows
const MOSS_BELOW = 26000;                            // woods, on rock
const STEPS = 6;                                     // on a ramp
const SALT_BORDER = 0xb04de4;
const RAGGED = 0.036, FRINGE = 0.009;     // by how much single tiles vary in depth; half of a fringe

/** The tiles x0 - PAD .. x0 + tiles + PAD - 1, and the same downwards. It is reused for the next
 * piece: read it before the next look(). */
export class Window {
  /** For pieces of `tiles` x `tiles` tiles. */
  constructor(terrain, tiles) {
    const side = tiles + 2 * PAD, size = side * side;
    this.terrain = terrain;
    this.tiles = tiles;
    this.side = side;                     // number of tiles in a row of each field
    this.x0 = this.y0 = 0;                // corner of the piece, in tiles
    this.kinds = new Uint8Array(size);
    this.heights = new Uint16Array(size);
    this.woods = new Uint16Array(size);
    this.paths = new Uint16Array(size);
    this.values = new Float32Array(size);
    this.land = new Regions(terrain.seed);
    this.regions = new Uint8Array(size);
    this.landmarks = new Landmarks(terrain);
    /** @type {import('../landmarks.js').Landmark[]} Those that are in the piece, or near. */
    this.marks = [];
    /** @type {import('../landmarks.js').Post[]} The signposts around. */
    this.posts = [];
    /** @type {{ x: number, y: number }[]} Places, in tiles, around which nothing grows. */
    this.cleared = [];
    /** @type {import('../grown.js').Grown | null} */
    this.grown = null;
    this.worn = new Uint8Array(size);
    this.plants = new Uint8Array(size);
    this.insides = REGIONS.map(() => new Float32Array(size));
  }

  /** Read the ground of the piece at tile (x0, y0). */
  look(x0, y0) {
    const { side } = this;
    this.x0 = x0;
    this.y0 = y0;
    const left = x0 - PAD, top = y0 - PAD;
    for (let cy = Math.floor(top / CHUNK); cy * CHUNK < top + side; cy++) {
      for (let cx = Math.floor(left / CHUNK); cx * CHUNK < left + side; cx++) {
        this.#copy(cx, cy, left, top);
      }
    }
    const right = x0 + this.tiles, bottom = y0 + this.tiles;
    this.marks = this.landmarks.within(x0 - MARKS_WITHIN, y0 - MARKS_WITHIN, right + MARKS_WITHIN,
      bottom + MARKS_WITHIN);
    this.posts = this.landmarks.posts(left, top, right + PAD, bottom + PAD);
    this.#grow(left, top);
    this.land.measure(left, top, side, this.woods, this.insides, this.regions);
  }

  /** Read what people have left. */
  #grow(left, top) {
    const { side } = this, looks = this.grown?.looks ?? null;
    this.worn.fill(0);
    this.plants.fill(0);
    for (let i = 0; looks !== null && looks.any() && i < this.worn.length; i++) {
      const x = left + i % side, y = top + Math.floor(i / side);
      this.worn[i] = looks.worn(x, y);
      this.plants[i] = looks.prop(x, y);
    }
  }

  #copy(cx, cy, left, top) {
    const chunk = this.terrain.chunk(cx, cy), side = this.side;
    const fromX = Math.max(cx * CHUNK, left), toX = Math.min((cx + 1) * CHUNK, left + side);
    const fromY = Math.max(cy * CHUNK, top), toY = Math.min((cy + 1) * CHUNK, top + side);
    for (let y = fromY; y < toY; y++) {
      let from = (y - cy * CHUNK) * CHUNK + fromX - cx * CHUNK;
      let to = (y - top) * side + fromX - left;
      for (let x = fromX; x < toX; x++, from++, to++) {
        this.kinds[to] = chunk.kinds[from];
        this.heights[to] = chunk.heights[from];
        this.woods[to] = chunk.woods[from];
        this.paths[to] = chunk.paths[from];
      }
    }
  }

  /** Return the kind of the tile (x, y), counted from the piece's corner, from -PAD on. */
  kind(x, y) {
    return this.kinds[(y + PAD) * this.side + x + PAD];
  }

  wood(x, y) {
    return this.woods[(y + PAD) * this.side + x + PAD];
  }

  height(x, y) {
    return this.heights[(y + PAD) * this.side + x + PAD];
  }

  path(x, y) {
    return this.paths[(y + PAD) * this.side + x + PAD];
  }

  /** Return the number of the prop that somebody has put on a tile, or 0. */
  plant(x, y) {
    return this.plants[(y + PAD) * this.side + x + PAD];
  }

  /** Return what decides which flowers are strewn over a tile, or ''. */
  blooming(x, y) {
    return this.grown?.blooming(this.x0 + x, this.y0 + y) ?? '';
  }

  region(x, y) {
    return this.regions[(y + PAD) * this.side + x + PAD];
  }

  /** Return the regions that the piece shows, with the outlines of their cores, which are ragged, and of
   * their fringes, through which the ground of other regions is seen. A later one lies over earlier ones.
   * @returns {{ region: number, core: import('./contour.js').Outline, fringe: Path2D | 'all' }[]} */
  layers() {
    const layers = [];
    for (let region = REGIONS.length - 1; region >= MEADOWS; region--) {
      const fringe = this.#inside(region, FRINGE), core = this.#inside(region, -FRINGE);
      if (fringe !== null) layers.unshift({ region, core, fringe });
      if (core === 'all') break;
    }
    return layers;
  }

  /** Return the outline of what is inside a region, or less than `more` outside it. */
  #inside(region, more) {
    const inside = this.insides[region];
    return this.#where((i) => inside[i] + more + this.#ragged(i, region), 0.05, 0.95);
  }

  /** Return how much deeper inside a region a tile is than its surroundings; negative if less deep. */
  #ragged(i, region) {
    const row = Math.floor(i / this.side), x = this.x0 - PAD + i - row * this.side;
    return (part(rollAt(x, this.y0 - PAD + row, SALT_BORDER + region), 0) - 0.5) * RAGGED;
  }

  /** Return the outlines of all kinds of ground, in tiles from the piece's corner. */
  outlines() {
    return {
      water: this.#above(this.heights, DEEP_BELOW, 0.1, 0.9),
      // The shore lies a little out in the water, so that feet on sand do not look wet.
      land: this.#above(this.heights, WATER_BELOW, 0.48, 0.64),
      dry: this.#above(this.heights, DRY_FROM, 0.05, 0.95),
      grass: this.#above(this.heights, SAND_BELOW, 0.2, 0.8),
      notSunny: this.#above(this.woods, SUNNY_BELOW, 0.05, 0.95),
      lush: this.#above(this.woods, LUSH_FROM, 0.05, 0.95),
      moss: this.#above(this.woods, MOSS_BELOW, 0.05, 0.95),
      wood: this.#where((i) => Math.min(this.woods[i] - WOOD_FROM + 1,
        3 * (this.heights[i] - SAND_BELOW + 1)), 0.2, 0.8),
      rock: this.#where((i) => this.#rock(i), 0.3, 0.52),
      // A plateau reaches a little over its rim, and hides the face that the rim's shape has where a ramp
      // ends.
      plateau: this.#above(this.heights, PLATEAU_FROM, 0.52, 0.62),
      // A way up, ramp or path, reaches below the rock at its sides.
      ramp: this.#where((i) => this.#isWayUp(i) ? 1 : -1, 0.6, 0.72),
      path: this.#where((i) => this.kinds[i] === PATH || this.kinds[i] === PLAZA
        ? Math.max(1, PATH_WITHIN + 1 - this.paths[i])
        : Math.min(-1, PATH_WITHIN - this.paths[i]), 0.3, 0.7),
      worn: this.#where((i) => this.kinds[i] === BRIDGE ? -4 : WORN_WITHIN - this.paths[i],
        0.05, 0.95),
      trodden: this.#where((i) => this.worn[i] > 0 ? 1 : -1, 0.4, 0.7),
      beaten: this.#where((i) => this.worn[i] > 1 ? 1 : -1, 0.3, 0.5),
      bridge: this.#where((i) => this.kinds[i] === BRIDGE
        ? Math.max(1, PATH_WITHIN + 1 - this.paths[i])
        : Math.min(-1, PATH_WITHIN - this.paths[i]), 0.45, 0.52),
    };
  }

  #isWayUp(i) {
    return this.kinds[i] === RAMP || (this.kinds[i] === PATH && this.heights[i] >= ROCK_FROM
      && this.heights[i] < PLATEAU_FROM);
  }

  /** Return the outlines of what is higher than each step of a ramp, the lowest first. */
  steps() {
    return Array.from({ length: STEPS }, (_, step) => this.#above(this.heights,
      ROCK_FROM + (PLATEAU_FROM - ROCK_FROM) * (step + 0.5) / STEPS, 0.05, 0.95));
  }

  /** Return a positive number where rims and plateaus are, without the ways up. */
  #rock(i) {
    if (this.heights[i] >= PLATEAU_FROM) return this.heights[i] - ROCK_FROM;
    if (this.kinds[i] === ROCK) {
      return Math.max(1, Math.min(this.heights[i] - ROCK_FROM,
        (this.paths[i] - PATH_WITHIN) * PATH_WEIGHT));
    }
    const below = this.heights[i] - ROCK_FROM;
    return below < 0 ? below : Math.min(-1, (this.paths[i] - PATH_WITHIN - 1) * PATH_WEIGHT);
  }

  #above(field, from, near, far) {
    const { values } = this;
    for (let i = 0; i < values.length; i++) values[i] = field[i] - from + 0.5;
    return outline(values, this.side, -PAD, near, far);
  }

  #where(valueAt, near, far) {
    const { values } = this;
    for (let i = 0; i < values.length; i++) values[i] = valueAt(i);
    return outline(values, this.side, -PAD, near, far);
  }
}
