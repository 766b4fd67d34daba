// Landmarks and signposts: functions of the ground, whose twins are landmarks.py and posts.py of games/flatlands/ground/.
// Most parts of the world, 160 tiles each way, have one landmark on open ground not far from a path; it has a kind and
// a name. Where paths meet stands a signpost, which shows what lies where. They are only drawn: they stop nobody.

import { AUTUMN, DESERT, HEATH, MARSH, MEADOWS, Regions, SNOW } from './regions.js';
import { CHUNK, GRASS, hash32, PATH_FAR, SAND, WATER, WOOD } from './terrain.js';

/** The width, in tiles, of a part of the world, which may have one landmark. */
export const PART = 160;
const EDGE = 12;                          // the fewest tiles from a landmark to the border of its part
const TRIES = 24;                         // places that are tried
const FROM_PATH = 56;                     // 1/16 tile: no nearer to the middle of a path
const FROM_PLAZA = 45;                    // tiles
const SHORE = 7;                          // tiles around a landmark in which water is looked for
export const PLOT_SIDE = 64;                   // tiles between signposts, about
const AROUND = 8;                         // tiles around a waypoint in which a signpost stands
const POST_FROM = 26, POST_TO = 40;       // 1/16 tile from the middle of a path to a signpost
const APART = 24;                         // the fewest tiles between two signposts that make a course
const CACHED = 256;
const SALT = 0x1a4d3a, SALT_NAME = 0x1a4d3b, SALT_POST = 0x1a4d3c;
const SIDES = [[1, 0], [0, 1], [-1, 0], [0, -1]];     // of a plot: east, south, west and north

/** @typedef {{ x: number, y: number, foot: number, kind: string, name: string, region: number }} Landmark  Its
 * tile and its region. It is drawn in the column `foot`, where it stands in nobody's way. */
/** The radius of the ring around a signpost, in tiles, from within which it is read. */
export const RING = 4;

/** @typedef {{ x: number, y: number, i: number, j: number }} Post  The tile of a signpost, and its plot. */
/** @typedef {{ from: Post, to: Post, side: number, name: string, best?: string } & Direction} Course  From a signpost to the
 * next one on a side of its plot, by a path; `best` says who is the fastest, if that is known. */
/** @typedef {{ name: string, away: number, turn: number }} Direction  What lies `away` tiles away, and
 * in which direction: `turn` eighths of a turn from the east, clockwise. */

const KINDS = [];
KINDS[MEADOWS] = ['windmill', 'stones', 'balloon', 'oak', 'tower'];
KINDS[AUTUMN] = ['toadstool', 'oak', 'caravan', 'tower', 'windmill'];
KINDS[HEATH] = ['stones', 'head', 'tower', 'stones', 'balloon'];
KINDS[MARSH] = ['toadstool', 'oak', 'caravan', 'toadstool', 'tower'];
KINDS[DESERT] = ['pyramid', 'head', 'balloon', 'caravan', 'pyramid'];
KINDS[SNOW] = ['igloo', 'tower', 'stones', 'igloo', 'balloon'];
const BY_THE_WATER = ['lighthouse', 'wreck', 'lighthouse'];

/** The last word of the names of each kind of landmark. */
export const NOUNS = { windmill: 'Mill', stones: 'Stones', balloon: 'Balloon', oak: 'Oak', tower: 'Tower',
  toadstool: 'Toadstool', caravan: 'Caravan', head: 'Giant', pyramid: 'Pyramid', igloo: 'Igloo',
  lighthouse: 'Light', wreck: 'Wreck' };
const FIRST = ['Foxglove', 'Heron', 'Thistle', 'Bramble', 'Lantern', 'Marigold', 'Sparrow', 'Hollow',
  'Juniper', 'Copper', 'Otter', 'Clover', 'Raven', 'Willow', 'Amber', 'Merry', 'Quiet', 'Crooked',
  'Seven Winds', 'Moonrise', 'Hazel', 'Old Badger', 'Starling', 'Honey', 'Pepper', 'Lonely', 'Kettle',
  'Swallow', 'Elder', 'Silver', 'Nettle', 'Gull', 'Tinker', 'Sunday', 'Wandering', 'Fern', 'Poppy',
  'Barley', 'Whistling', 'Plum'];
const PLAZA_NAME = 'Plaza', POST_NOUNS = ['Corner', 'Turn', 'Cross', 'Fork', 'Bend', 'Gate'];

const WIDE = 4;                           // tiles to each side that a landmark should not share
const HEARTH = 2;                         // tiles from its feet down to its hearth
const ASIDE = [0, 1, -1, 2, -2, 3, -3];   // tiles by which it may be drawn beside its own tile

/** The tiles of the hearth and of the notice board on the plaza. */
export const PLAZA_HEARTH = { x: -4, y: 4 }, NOTICE_BOARD = { x: 4, y: -4 };

/** Return the tile of a landmark's hearth: in front of its feet.
 * @param {Landmark} mark @returns {{ x: number, y: number }} */
export function hearthOf({ foot, y }) {
  return { x: foot, y: y + HEARTH };
}

export class Landmarks {
  /** @param {import('./terrain.js').Terrain} terrain */
  constructor(terrain) {
    this.terrain = terrain;
    this.regions = new Regions(terrain.seed);
    /** @type {Map<string, any>} What is known of a part of the world, or of a plot. */
    this.known = new Map();
  }

  /** Return the landmarks whose tiles are in a rectangle of tiles.
   * @returns {Landmark[]} */
  within(left, top, right, bottom) {
    const found = [];
    for (let j = Math.floor(top / PART); j * PART <= bottom; j++) {
      for (let i = Math.floor(left / PART); i * PART <= right; i++) {
        const mark = this.of(i, j);
        if (mark !== null && mark.x >= left && mark.x <= right && mark.y >= top
          && mark.y <= bottom) found.push(mark);
      }
    }
    return found;
  }

  /** Return the landmark of a part of the world, or null if it has none.
   * @returns {Landmark | null} */
  of(i, j) {
    return this.#remembered('part ' + i + ',' + j, () => this.#find(i, j));
  }

  /** Return the signposts whose tiles are in a rectangle of tiles.
   * @returns {Post[]} */
  posts(left, top, right, bottom) {
    const found = [];
    for (let j = plotOf(top - AROUND); j <= plotOf(bottom + AROUND); j++) {
      for (let i = plotOf(left - AROUND); i <= plotOf(right + AROUND); i++) {
        const post = this.post(i, j);
        if (post !== null && post.x >= left && post.x <= right && post.y >= top
          && post.y <= bottom) found.push(post);
      }
    }
    return found;
  }

  /** Return whether it is known which landmark a part of the world has: finding out takes a few ms. */
  knows(i, j) {
    return this.known.has('part ' + i + ',' + j);
  }

  /** Return the signpost of a plot, or null if it has none.
   * @returns {Post | null} */
  post(i, j) {
    return this.#remembered('post ' + i + ',' + j, () => this.#post(i, j));
  }

  /** Return the courses that begin at a signpost.
   * @param {Post} from @returns {Course[]} */
  courses(from) {
    const { i, j } = from, { terrain } = this, edges = terrain.edges(i, j).map(String);
    return SIDES.flatMap(([di, dj], side) => {
      const ends = [...terrain.waypoint(i, j), ...terrain.waypoint(i + di, j + dj)];
      const joins = side < 2 ? ends : [...ends.slice(2), ...ends.slice(0, 2)];
      const to = edges.includes(String(joins)) ? this.post(i + di, j + dj) : null;
      if (to === null || Math.hypot(to.x - from.x, to.y - from.y) < APART) return [];
      return [{ from, to, side, ...directionTo(this.#nameOf(to), to.x - from.x, to.y - from.y) }];
    });
  }

  /** Look for one landmark or signpost around a tile, in a part or plot where that was not done yet, if there
   * is one: each takes a few ms, and a player that comes to a signpost needs all of them. */
  prepare(x, y) {
    const column = Math.floor(x / PART), row = Math.floor(y / PART);
    for (let j = row - 1; j <= row + 1; j++) {
      for (let i = column - 1; i <= column + 1; i++) {
        if (!this.knows(i, j)) return this.of(i, j);
      }
    }
    const i = plotOf(x), j = plotOf(y);
    const next = SIDES.find(([di, dj]) => !this.known.has(`post ${i + di},${j + dj}`));
    return next === undefined ? null : this.post(i + next[0], j + next[1]);
  }

  /** Return what a signpost at a tile shows: the two nearest landmarks and the plaza, the nearest first.
   * @returns {Direction[]} */
  directions(x, y) {
    const found = x * x + y * y > FROM_PLAZA ** 2 ? [directionTo(PLAZA_NAME, -x, -y)] : [];
    const marks = this.within(x - PART, y - PART, x + PART, y + PART)
      .map((mark) => directionTo(mark.name, mark.x - x, mark.y - y));
    marks.sort((a, b) => a.away - b.away);
    return [...marks.slice(0, 2), ...found].sort((a, b) => a.away - b.away);
  }

  #remembered(key, find) {
    let found = this.known.get(key);
    if (found === undefined) {
      found = find();
      if (this.known.size >= CACHED) this.known.clear();
      this.known.set(key, found);
    }
    return found;
  }

  #roll(i, j, salt) {
    return hash32(hash32(Math.imul(i, 0x9e3779b1) + hash32(this.terrain.seed + salt))
      + Math.imul(j, 0x85ebca77));
  }

  /** @returns {Landmark | null} */
  #find(i, j) {
    let roll = this.#roll(i, j, SALT);
    for (let tries = 0; tries < TRIES; tries++) {
      const span = PART - 2 * EDGE;
      const x = i * PART + EDGE + (roll & 0xffff) % span;
      const y = j * PART + EDGE + (roll >>> 16) % span;
      if (this.#suits(x, y)) return this.#mark(x, y, this.#roll(i, j, SALT_NAME));
      roll = hash32(roll + 1);
    }
    return null;
  }

  #suits(x, y) {
    const path = this.#at(x, y, 'paths'), kind = this.terrain.kind(x, y);
    return (kind === GRASS || kind === SAND) && path > FROM_PATH && path < PATH_FAR
      && x * x + y * y > FROM_PLAZA ** 2
      && [[-2, 0], [2, 0], [0, -2], [0, 2]].every(([dx, dy]) => {
        const near = this.terrain.kind(x + dx, y + dy);
        return near === GRASS || near === SAND || near === WOOD;
      });
  }

  #mark(x, y, roll) {
    const region = this.regions.at(x, y, this.#at(x, y, 'woods'));
    const wet = [[-1, 0], [1, 0], [0, -1], [0, 1]].some(([dx, dy]) =>
      this.terrain.kind(x + dx * SHORE, y + dy * SHORE) <= WATER);
    const kinds = wet ? BY_THE_WATER : KINDS[region];
    const kind = kinds[(roll >>> 16) % kinds.length];
    return { x, y, foot: x + this.#aside(x, y), kind, region, name: `${FIRST[(roll & 0xffff) % FIRST.length]} ${NOUNS[kind]}` };
  }

  /** Return by how many tiles a landmark must be moved aside to be clear of paths, water and rock. */
  #aside(x, y) {
    const isOpen = (column, row) => [GRASS, SAND, WOOD].includes(this.terrain.kind(column, row));
    return ASIDE.find((aside) => Array.from({ length: 2 * WIDE + 1 }, (_, i) => x + aside + i - WIDE)
      .every((column) => isOpen(column, y) && isOpen(column, y + 1))) ?? 0;
  }

  /** Return the tile for the signpost of a plot: beside a path, near its waypoint.
   * @returns {Post | null} */
  #post(i, j) {
    if (i === 0 && j === 0) return { x: 0, y: 0, i, j };
    const [wx, wy] = this.terrain.waypoint(i, j);
    let best = null, least = Infinity;
    for (let y = wy - AROUND; y <= wy + AROUND; y++) {
      for (let x = wx - AROUND; x <= wx + AROUND; x++) {
        const path = this.#at(x, y, 'paths'), away = (x - wx) ** 2 + (y - wy) ** 2;
        if (path < POST_FROM || path > POST_TO || away >= least) continue;
        const kind = this.terrain.kind(x, y);
        if (kind !== GRASS && kind !== SAND && kind !== WOOD) continue;
        best = { x, y, i, j };
        least = away;
      }
    }
    return best;
  }

  #nameOf({ i, j }) {
    if (i === 0 && j === 0) return PLAZA_NAME;
    const roll = this.#roll(i, j, SALT_POST);
    return `${FIRST[(roll & 0xffff) % FIRST.length]} ${POST_NOUNS[(roll >>> 16) % POST_NOUNS.length]}`;
  }

  #at(x, y, field) {
    const cx = Math.floor(x / CHUNK), cy = Math.floor(y / CHUNK);
    return this.terrain.chunk(cx, cy)[field][(y - cy * CHUNK) * CHUNK + x - cx * CHUNK];
  }
}

function plotOf(tile) {
  return Math.floor((tile + PLOT_SIDE / 2) / PLOT_SIDE);
}

/** @returns {Direction} */
function directionTo(name, dx, dy) {
  const turn = Math.round(Math.atan2(dy, dx) / Math.PI * 4);
  return { name, away: Math.round(Math.hypot(dx, dy)), turn: (turn + 8) % 8 };
}

/** Return whether a place is in the ring around a signpost.
 * @param {import('./state.js').Place} place @param {Post} post */
export function isInRing({ x, y }, post) {
  return Math.hypot(x - post.x - 0.5, y - post.y - 0.5) < RING;
}
