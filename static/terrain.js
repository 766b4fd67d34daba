// Terrain as a function of the world's seed and a tile. It is the twin of world/terrain.py, which
// explains how the layers make the ground. tests/vectors/terrain.json makes sure that both give the
// same numbers. So all numbers here are whole: use only + - *, Math.floor(a / b) and Math.imul, never
// a fraction, and never | >> % on a position. It never touches the page.

export const DEEP = 0, WATER = 1, SAND = 2, GRASS = 3, WOOD = 4, ROCK = 5, PATH = 6, BRIDGE = 7,
  PLAZA = 8, RAMP = 9, PLATEAU = 10;

/** The version of the ground: it grows whenever the same seed makes other ground. */
export const GROUND = 3;

export const CHUNK = 16;                  // tiles at each side of a chunk, the piece in which
                                          // terrain is computed
export const GROUND_LIMIT = 2 ** 30;      // there is ground from tile -GROUND_LIMIT to GROUND_LIMIT - 1
const CACHED_CHUNKS = 4096;

// Heights and woods are 0..65535. The view draws a shore where a height crosses one of these.
export const DEEP_BELOW = 19500, WATER_BELOW = 23500, SAND_BELOW = 25500, ROCK_FROM = 43500;
export const PLATEAU_FROM = 46140;
export const WOOD_FROM = 35000;
const MEADOW = 33000;

export const PATH_WITHIN = 24, PATH_FAR = 160;   // 1/16 tile

const PLOT_SIDE = 64, STRAY = 24, WARP = 96;
const RAMP_WIDTH = 3, RAMP_LONGEST = 9;
export const PLAZA_WITHIN = 7;
const CLEARING = 12, CLEARING_ENDS = 44;

/** Mix 32 bits (lowbias32 of Chris Wellons' hash-prospector, public domain). Uses the low 32 bits of
 * any whole number, and returns 0 .. 2^32 - 1. */
export function hash32(x) {
  x = Math.imul(x, 1);
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

const SMOOTH = {};
for (const length of [16, 32, 64]) {
  SMOOTH[length] = Array.from({ length }, (_, f) =>
    Math.floor(f * f * (3 * length - 2 * f) * 1024 / length ** 3));
}

/** Return how little the clearing around the plaza changes a tile near it: 0 .. 1024. */
function wildness(x, y) {
  return Math.min(Math.max(Math.floor((x * x + y * y - CLEARING ** 2) * 1024
    / (CLEARING_ENDS ** 2 - CLEARING ** 2)), 0), 1024);
}

/** Return the kind of a tile without a path or a ramp. */
function kindOf(height, wood) {
  if (height < DEEP_BELOW) return DEEP;
  if (height < WATER_BELOW) return WATER;
  if (height < SAND_BELOW) return SAND;
  if (height >= PLATEAU_FROM) return PLATEAU;
  if (height >= ROCK_FROM) return ROCK;
  return wood >= WOOD_FROM ? WOOD : GRASS;
}

/** Call `mark` with each place on a ramp in a strip of a chunk. `levelAt` returns whether the strip's whole
 * width is low at a place (-1), on a plateau (1), or neither (0). */
function findClimbs(levelAt, mark) {
  let last = CHUNK, before = 0;
  for (let i = 0; i < CHUNK; i++) {
    const level = levelAt(i);
    if (level === 0) continue;
    if (level === -before && i - last - 1 <= RAMP_LONGEST) {
      for (let k = last + 1; k < i; k++) mark(k);
    }
    last = i;
    before = level;
  }
}

/** The ground of one world. `seed` is any whole number; only its low 32 bits count. */
export class Terrain {
  constructor(seed) {
    this.seed = Math.imul(seed, 1) >>> 0;
    this.salts = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((layer) => hash32(this.seed + hash32(layer)));
    // When the newer half is full it becomes the older one, and the chunks of the last older one that
    // were not used meanwhile are forgotten.
    this.chunks = new Map();
    this.older = new Map();
  }

  /** Return the kind (DEEP .. PLATEAU) of the tile in column x, row y. */
  kind(x, y) {
    const cx = Math.floor(x / CHUNK), cy = Math.floor(y / CHUNK);
    return this.chunk(cx, cy).kinds[(y - cy * CHUNK) * CHUNK + x - cx * CHUNK];
  }

  /** Return whether a tile blocks walkers. */
  blocked(x, y) {
    const kind = this.kind(x, y);
    return kind === DEEP || kind === WATER || kind === ROCK;
  }

  /** Return the tiles of a chunk, row after row, as { kinds, heights, woods, paths }: typed arrays of
   * CHUNK x CHUNK numbers. Paths are distances to the nearest path in 1/16 tile, at most PATH_FAR. */
  chunk(cx, cy) {
    const key = cx + ',' + cy;
    let chunk = this.chunks.get(key);
    if (chunk === undefined) {
      chunk = this.older.get(key) ?? this.#make(cx, cy);
      if (this.chunks.size >= CACHED_CHUNKS / 2) {
        this.older = this.chunks;
        this.chunks = new Map();
      }
      this.chunks.set(key, chunk);
    }
    return chunk;
  }

  /** Return the kind of a tile without paths and ramps, as it looks from afar. No chunk is made for it, so a
   * map may ask for many tiles that lie far apart. */
  sketch(x, y) {
    if (!(x >= -GROUND_LIMIT && x < GROUND_LIMIT && y >= -GROUND_LIMIT && y < GROUND_LIMIT)) return DEEP;
    let height = Math.floor((4 * this.#noiseAt(0, 64, x, y) + 2 * this.#noiseAt(1, 32, x, y)
      + this.#noiseAt(2, 16, x, y)) / 7);
    let wood = Math.floor((2 * this.#noiseAt(3, 32, x, y) + this.#noiseAt(4, 16, x, y)) / 3);
    if (Math.abs(x) < CLEARING_ENDS && Math.abs(y) < CLEARING_ENDS) {
      const wild = wildness(x, y);
      height = MEADOW + Math.floor((height - MEADOW) * wild / 1024);
      wood = Math.floor(wood * wild / 1024);
    }
    return kindOf(height, wood);
  }

  #make(cx, cy) {
    const size = CHUNK * CHUNK, left = cx * CHUNK, top = cy * CHUNK;
    const kinds = new Uint8Array(size), heights = new Uint16Array(size);
    const woods = new Uint16Array(size), paths = new Uint16Array(size).fill(PATH_FAR);
    const chunk = { kinds, heights, woods, paths };
    if (!(left >= -GROUND_LIMIT && left < GROUND_LIMIT && top >= -GROUND_LIMIT && top < GROUND_LIMIT)) return chunk;
    const coarse = this.#noise(0, 64, left, top), middle = this.#noise(1, 32, left, top);
    const fine = this.#noise(2, 16, left, top);
    const groves = this.#noise(3, 32, left, top), trees = this.#noise(4, 16, left, top);
    this.#measurePaths(left, top, paths);
    for (let i = 0; i < size; i++) {
      const row = Math.floor(i / CHUNK), x = left + i - row * CHUNK, y = top + row;
      let height = Math.floor((4 * coarse[i] + 2 * middle[i] + fine[i]) / 7);
      let wood = Math.floor((2 * groves[i] + trees[i]) / 3);
      if (Math.abs(x) < CLEARING_ENDS && Math.abs(y) < CLEARING_ENDS) {
        const wild = wildness(x, y);
        height = MEADOW + Math.floor((height - MEADOW) * wild / 1024);
        wood = Math.floor(wood * wild / 1024);
      }
      heights[i] = height;
      woods[i] = wood;
      if (x * x + y * y <= PLAZA_WITHIN ** 2) kinds[i] = PLAZA;
      else if (paths[i] <= PATH_WITHIN) kinds[i] = height < WATER_BELOW ? BRIDGE : PATH;
      else kinds[i] = kindOf(height, wood);
    }
    if (kinds.includes(ROCK)) this.#makeRamps(cx, cy, kinds, heights);
    return chunk;
  }

  /** Turn the rock of a chunk's ramps into ramps. */
  #makeRamps(cx, cy, kinds, heights) {
    const h = this.#hash(9, cx, cy), places = CHUNK - RAMP_WIDTH + 1;
    const row = (h & 0xffff) % places, column = (h >>> 16) % places;
    for (const [start, along, across] of [[row * CHUNK, 1, CHUNK], [column, CHUNK, 1]]) {
      findClimbs((i) => {
        let least = 65535, most = 0;
        for (let k = 0; k < RAMP_WIDTH; k++) {
          const height = heights[start + i * along + k * across];
          least = Math.min(least, height);
          most = Math.max(most, height);
        }
        return most < ROCK_FROM ? -1 : least >= PLATEAU_FROM ? 1 : 0;
      }, (i) => {
        for (let k = 0; k < RAMP_WIDTH; k++) {
          const tile = start + i * along + k * across;
          if (kinds[tile] === ROCK) kinds[tile] = RAMP;
        }
      });
    }
  }

  #hash(layer, x, y) {
    const row = hash32(Math.imul(x, 0x9e3779b1) + this.salts[layer]);
    return hash32(row + Math.imul(y, 0x85ebca77));
  }

  #noise(layer, length, left, top) {
    const smooth = SMOOTH[length], out = new Uint16Array(CHUNK * CHUNK);
    const i = Math.floor(left / length), j = Math.floor(top / length);
    const x0 = left - i * length, y0 = top - j * length;
    const a = this.#hash(layer, i, j) >>> 16, b = this.#hash(layer, i + 1, j) >>> 16;
    const c = this.#hash(layer, i, j + 1) >>> 16, d = this.#hash(layer, i + 1, j + 1) >>> 16;
    for (let y = 0, k = 0; y < CHUNK; y++) {
      for (let x = 0; x < CHUNK; x++, k++) {
        const upper = a * 1024 + (b - a) * smooth[x0 + x];
        const lower = c * 1024 + (d - c) * smooth[x0 + x];
        out[k] = Math.floor((upper * 1024 + (lower - upper) * smooth[y0 + y]) / 1048576);
      }
    }
    return out;
  }

  /** Return the number of one tile among those that #noise returns for its chunk. */
  #noiseAt(layer, length, x, y) {
    const smooth = SMOOTH[length], i = Math.floor(x / length), j = Math.floor(y / length);
    const a = this.#hash(layer, i, j) >>> 16, b = this.#hash(layer, i + 1, j) >>> 16;
    const c = this.#hash(layer, i, j + 1) >>> 16, d = this.#hash(layer, i + 1, j + 1) >>> 16;
    const across = smooth[x - i * length], down = smooth[y - j * length];
    const upper = a * 1024 + (b - a) * across, lower = c * 1024 + (d - c) * across;
    return Math.floor((upper * 1024 + (lower - upper) * down) / 1048576);
  }

  /** Return the tile [x, y] at which the paths of plot (i, j) meet. */
  waypoint(i, j) {
    if (i === 0 && j === 0) return [0, 0];
    const h = this.#hash(5, i, j);
    return [i * PLOT_SIDE + (h & 0xffff) % (2 * STRAY + 1) - STRAY,
      j * PLOT_SIDE + (h >>> 16) % (2 * STRAY + 1) - STRAY];
  }

  /** Return the paths [x0, y0, x1, y1] that may pass through plot (i, j). */
  edges(i, j) {
    const edges = [];
    for (const k of [i - 1, i]) {
      if (this.#joinsRight(k, j)) edges.push([...this.waypoint(k, j), ...this.waypoint(k + 1, j)]);
    }
    for (const k of [j - 1, j]) {
      if (this.#joinsDown(i, k)) edges.push([...this.waypoint(i, k), ...this.waypoint(i, k + 1)]);
    }
    return edges;
  }

  #joinsRight(i, j) {
    if (j === 0 && (i === -1 || i === 0)) return true;
    const column = Math.floor(i / 2), row = Math.floor(j / 2), h = this.#hash(8, column, row);
    return i === 2 * column ? (h & 3) !== j - 2 * row : (h >>> 2 & 1) === j - 2 * row;
  }

  #joinsDown(i, j) {
    if (i === 0 && (j === -1 || j === 0)) return true;
    const column = Math.floor(i / 2), row = Math.floor(j / 2), h = this.#hash(8, column, row);
    return j === 2 * row ? (h & 3) !== 2 + i - 2 * column : (h >>> 3 & 1) === i - 2 * column;
  }

  #measurePaths(left, top, distances) {
    const reach = Math.floor((WARP + PATH_FAR) / 16) + 1;
    const plotOf = (tile) => Math.floor((tile + PLOT_SIDE / 2) / PLOT_SIDE);
    const near = new Map();
    for (let j = plotOf(top - reach); j <= plotOf(top + CHUNK + reach); j++) {
      for (let i = plotOf(left - reach); i <= plotOf(left + CHUNK + reach); i++) {
        for (const [x0, y0, x1, y1] of this.edges(i, j)) {
          if (Math.min(x0, x1) - reach > left + CHUNK || Math.max(x0, x1) + reach < left
            || Math.min(y0, y1) - reach > top + CHUNK || Math.max(y0, y1) + reach < top) continue;
          const ax = (x0 - left) * 16, ay = (y0 - top) * 16;
          const dx = (x1 - x0) * 16, dy = (y1 - y0) * 16;
          near.set([x0, y0, x1, y1].join(), { ax, ay, dx, dy, length2: dx * dx + dy * dy });
        }
      }
    }
    if (near.size === 0) return;
    const edges = [...near.values()];
    const bendX = this.#noise(6, 32, left, top), bendY = this.#noise(7, 32, left, top);
    for (let i = 0; i < CHUNK * CHUNK; i++) {
      const row = Math.floor(i / CHUNK);
      const px = (i - row * CHUNK) * 16 + Math.floor((bendX[i] - 32768) * WARP / 32768);
      const py = row * 16 + Math.floor((bendY[i] - 32768) * WARP / 32768);
      let best = PATH_FAR * PATH_FAR;
      for (const { ax, ay, dx, dy, length2 } of edges) {
        const rx = px - ax, ry = py - ay, along = rx * dx + ry * dy;
        let d2;
        if (along <= 0) d2 = rx * rx + ry * ry;
        else if (along >= length2) d2 = (rx - dx) * (rx - dx) + (ry - dy) * (ry - dy);
        else {
          const cross = rx * dy - ry * dx;
          d2 = Math.floor(cross * cross / length2);
        }
        if (d2 < best) best = d2;
      }
      distances[i] = Math.floor(Math.sqrt(best));
    }
  }
}
