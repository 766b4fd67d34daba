// Bridges: where a path runs over water. The terrain only gives each tile's distance to the path, so
// each bridge's middle line is traced once through these distances, and planks are laid across it.

import { BRIDGE, CHUNK, WATER_BELOW } from '../terrain.js';
import { Lru } from './sprite.js';

const MOST_TILES = 1200;                  // of one bridge; a longer one counts as several
export const STEP = 0.25;                 // tiles between points of a middle line
const MOST_STEPS = 800;
const SHORTEST = 14;                      // points of a side branch; a shorter one is a corner
const SIDE = 1.3;                         // tiles beside the middle within which water counts
const ONTO_LAND = 0.9;                    // tiles by which a bridge overlaps its banks
const LOST = 14;                          // 1/16 tile from the path's middle, where a trace ends
const MET = 0.9;                          // tiles: middle lines nearer than this are one
const EDGE = 27;                          // 1/16 tile of path distance at a plank's end
export const WIDEST = 2.7;                // tiles from the middle; farther planks are another deck's

/** @typedef {{ xs: number[], ys: number[], lefts: number[], rights: number[] }} Line  Points of a
 * bridge's middle line in tiles, and the tiles from there to both edges of the deck. */

/** Finds bridges, and keeps those that it has found. */
export class Bridges {
  constructor(terrain) {
    this.terrain = terrain;
    this.byTile = new Lru(20000);
  }

  /** Return the bridge that covers a tile of kind BRIDGE.
   * @returns {{ lines: Line[] }} */
  at(x, y) {
    const known = this.byTile.get(x + ',' + y);
    if (known !== undefined) return known;
    const tiles = this.#tilesAround(x, y);
    const bridge = { lines: this.#trace(tiles) };
    for (const [tx, ty] of tiles) this.byTile.set(tx + ',' + ty, bridge);
    return bridge;
  }

  #tilesAround(x, y) {
    /** @type {[number, number][]} */
    const tiles = [[x, y]];
    const seen = new Set([x + ',' + y]);
    for (let i = 0; i < tiles.length && tiles.length < MOST_TILES; i++) {
      const [cx, cy] = tiles[i];
      for (let dy = -1; dy <= 1; dy++) {
        for (let dx = -1; dx <= 1; dx++) {
          const key = (cx + dx) + ',' + (cy + dy);
          if (seen.has(key) || this.terrain.kind(cx + dx, cy + dy) !== BRIDGE) continue;
          seen.add(key);
          tiles.push([cx + dx, cy + dy]);
        }
      }
    }
    return tiles.sort((a, b) => this.#distance(...middle(a)) - this.#distance(...middle(b))
      || a[1] - b[1] || a[0] - b[0]);
  }

  /** Return lines through all tiles. A tile that no line covers begins a new one. */
  #trace(tiles) {
    const lines = [];
    for (const tile of tiles) {
      const [x, y] = middle(tile);
      if (lines.length >= 8) break;
      if (this.#distance(x, y) > 20 || lines.some((line) => nearTo(line, x, y, 2.4))) continue;
      const line = this.#line(x, y, lines);
      if (lines.length === 0 || line.xs.length >= SHORTEST) lines.push(line);
    }
    return lines;
  }

  #line(x, y, others) {
    let turn = 0, least = Infinity;
    for (let i = 0; i < 16; i++) {
      const angle = i * Math.PI / 16, cos = Math.cos(angle) * 1.5, sin = Math.sin(angle) * 1.5;
      const far = this.#distance(x + cos, y + sin) + this.#distance(x - cos, y - sin);
      if (far < least) {
        least = far;
        turn = angle;
      }
    }
    const back = this.#follow(x, y, turn + Math.PI, others);
    const forth = this.#follow(x, y, turn, others);
    back.xs.reverse();
    back.ys.reverse();
    /** @type {Line} */
    const line = { xs: [...back.xs, x, ...forth.xs], ys: [...back.ys, y, ...forth.ys],
      lefts: [], rights: [] };
    for (const values of [line.xs, line.ys]) relax(values, 8);
    for (let i = 0; i < line.xs.length; i++) {
      const { cos, sin } = directionAt(line, i);
      line.lefts.push(this.#reach(line.xs[i], line.ys[i], sin, -cos));
      line.rights.push(this.#reach(line.xs[i], line.ys[i], -sin, cos));
    }
    for (const values of [line.lefts, line.rights]) relax(values, 4);
    return line;
  }

  /** Return the points from (x, y) to the end of the bridge, or to where it meets another line. */
  #follow(x, y, turn, others) {
    const xs = [], ys = [];
    let dry = 0;
    for (let i = 0; i < MOST_STEPS && dry * STEP < ONTO_LAND; i++) {
      let best = turn, least = Infinity;
      for (let j = -4; j <= 4; j++) {
        const angle = turn + j * 0.09;
        const far = this.#distance(x + Math.cos(angle) * 0.9, y + Math.sin(angle) * 0.9)
          + Math.abs(j) * 0.12;
        if (far < least) {
          least = far;
          best = angle;
        }
      }
      turn = best;
      const cos = Math.cos(turn), sin = Math.sin(turn);
      x += cos * STEP;
      y += sin * STEP;
      const off = (this.#distance(x - sin, y + cos) - this.#distance(x + sin, y - cos)) / 32;
      const shift = Math.min(Math.max(-off, -0.08), 0.08);
      x += -sin * shift;
      y += cos * shift;
      if (this.#distance(x, y) > LOST) break;
      const wet = [0, -SIDE, SIDE].some((side) =>
        this.#sample('heights', x - sin * side, y + cos * side) < WATER_BELOW);
      dry = wet ? 0 : dry + 1;
      if (others.some((line) => nearTo(line, x, y, MET))) break;
      xs.push(x);
      ys.push(y);
    }
    return { xs, ys };
  }

  /** Return the tiles from a point to the deck's edge in a direction. */
  #reach(x, y, cos, sin) {
    let far = 1.2;
    while (far < WIDEST && this.#distance(x + cos * far, y + sin * far) < EDGE) far += 0.06;
    return far;
  }

  #distance(x, y) {
    return this.#sample('paths', x, y);
  }

  /** Return the value of a field between tile centres, interpolated. */
  #sample(field, x, y) {
    const left = Math.floor(x - 0.5), top = Math.floor(y - 0.5);
    const u = x - 0.5 - left, v = y - 0.5 - top;
    return (this.#at(field, left, top) * (1 - u) + this.#at(field, left + 1, top) * u) * (1 - v)
      + (this.#at(field, left, top + 1) * (1 - u) + this.#at(field, left + 1, top + 1) * u) * v;
  }

  #at(field, x, y) {
    const cx = Math.floor(x / CHUNK), cy = Math.floor(y / CHUNK);
    return this.terrain.chunk(cx, cy)[field][(y - cy * CHUNK) * CHUNK + x - cx * CHUNK];
  }
}

/** Smooth a row of numbers, and keep both ends. */
function relax(values, times) {
  for (let pass = 0; pass < times; pass++) {
    let before = values[0];
    for (let i = 1; i < values.length - 1; i++) {
      const own = values[i];
      values[i] = before / 4 + own / 2 + values[i + 1] / 4;
      before = own;
    }
  }
}

/** Return the direction of a line at its point `i`. */
export function directionAt({ xs, ys }, i) {
  const before = Math.max(i - 2, 0), after = Math.min(i + 2, xs.length - 1);
  const dx = xs[after] - xs[before], dy = ys[after] - ys[before], length = Math.hypot(dx, dy) || 1;
  return { cos: dx / length, sin: dy / length };
}

/** @returns {[number, number]} */
const middle = ([x, y]) => [x + 0.5, y + 0.5];

export function nearTo(line, x, y, within) {
  for (let i = 0; i < line.xs.length; i++) {
    if (Math.hypot(line.xs[i] - x, line.ys[i] - y) < within) return true;
  }
  return false;
}
