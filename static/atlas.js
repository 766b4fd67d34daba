// The map of everybody: how many players are where in the whole world, as the server sends it
// (docs/protocol-map.md), and where the map is looked at from. It never touches the page and
// sends nothing.

import * as P from './protocol.js';

/**
 * A part of the world that is 2^grain squares wide and high, in which players are, or were.
 * @typedef {object} Dot
 * @property {number} col          column among the dots of its grain
 * @property {number} row
 * @property {number} grain
 * @property {number} people
 * @property {number} computers
 * @property {number} node         number of the server process that has most of them
 * @property {number} batches      messages on its channels in the last second
 * @property {number} batchesAt    performance time, ms, of these messages
 * @property {number} since        performance time, ms, when it came
 * @property {number | null} gone  performance time, ms, when it became empty; null while it is not
 */

/** @typedef {{ people: number, computers: number, squares: number | null, nodes: number,
 * broker: string, seed: number, side: number, names: string[], walked: number }} Totals  Of the whole
 * world; `squares` is null if the server does not know. `seed` is that of the ground, and a square is
 * `side` tiles wide. `walked` is how many people walked here within two days, `names` some of theirs. */

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Area  In squares. */

const MANY = 90;                          // others: any more are "many"; the server knows of few more
export const DOT_FADES = 600;             // ms
export const CLOSEST = 180;               // css px per square at the largest scale
const LEVELS = 8;
const PATCH = 4;                          // dots at each side of a patch
const WORLD = 2 ** 31;                    // squares: more than there are to each side
const ROOM = 1.25;                        // the whole world is shown with room around it
const LEAST_SHOWN = 12;                   // squares that the map shows even of a smaller area
const AROUND = 0.6;                       // share of the screen to each side of its middle
const DRAWN = 9;                          // css px: finer dots are not worth drawing
const WORTH = 20;                         // css px: finer dots are asked for from this size on

const HUES = ['#5fd3ff', '#ffb454', '#7ee787', '#ff7d9c', '#c99bff', '#ffe066', '#4fe0c0',
  '#ff9166', '#8fa8ff', '#f28fd8'];

/** Return the colour of a server process on the map, by its number. */
export function hueOf(node) {
  return HUES[node % HUES.length];
}

/** Squares between the corner of dot 0 and the origin, by level. */
const SHIFTS = Array.from({ length: LEVELS }, (_, level) => 8 * (16 ** level - 1) / 15);

/** Return the first square of a dot along one axis, by the dot's column or row. */
export function firstOf(dot, grain) {
  return dot * 2 ** grain - SHIFTS[Math.floor(grain / 4)];
}

/** Return the column or row of the dot that a square is in, by the square's column or row. */
export function dotOf(square, grain) {
  return Math.floor((square + SHIFTS[Math.floor(grain / 4)]) / 2 ** grain);
}

export class Atlas {
  constructor() {
    /** @type {Totals | null} */
    this.totals = null;
    /** @type {Map<string, Dot>} With those that have become empty, until they have faded. */
    this.dots = new Map();
    this.grain = 0;
    /** Performance time, ms, of the last message. */
    this.heard = -Infinity;
    /** How many whole pictures came. */
    this.pictures = 0;
  }

  /** Apply a message that came at performance time `at`, ms; return whether it was about the map. */
  apply(message, at) {
    if (message[0] === P.TOTALS) {
      const [, people, computers, squares, nodes, broker, seed, side, names = [], walked = 0] = message;
      this.totals = { people, computers, squares, nodes, broker, seed, side, names, walked };
    } else if (message[0] === P.DOTS) {
      const [, grain, fresh, patches] = message;
      const before = new Set(fresh ? this.dots.keys() : []);
      this.grain = grain;
      this.pictures += Number(fresh);
      for (const [column, row, dots] of patches) this.#patch(grain, column, row, dots, at, before);
      for (const key of before) this.#end(key, at);
    } else return false;
    this.heard = at;
    return true;
  }

  #patch(grain, column, row, numbers, at, before) {
    for (let i = 0; i < numbers.length; i += 5) {
      const index = numbers[i], people = numbers[i + 1], computers = numbers[i + 2];
      const col = PATCH * column + index % PATCH, line = PATCH * row + Math.floor(index / PATCH);
      const key = grain + ':' + col + ':' + line;
      before.delete(key);
      if (people === 0 && computers === 0) {
        this.#end(key, at);
        continue;
      }
      const known = this.dots.get(key), node = numbers[i + 3], batches = numbers[i + 4];
      const lives = known !== undefined && known.gone === null;
      // Larger dots do not show messages: they flash when somebody comes or goes.
      const moved = grain >= 4 && lives && known.people + known.computers !== people + computers;
      this.dots.set(key, {
        col, row: line, grain, people, computers, node,
        batches: moved ? 1 : batches, batchesAt: batches > 0 || moved ? at : known?.batchesAt ?? -Infinity,
        since: lives ? known.since : at, gone: null,
      });
    }
  }

  #end(key, at) {
    const dot = this.dots.get(key);
    if (dot !== undefined && dot.gone === null) dot.gone = at;
  }

  /** Forget dots that have faded by performance time `at`, ms. */
  expire(at) {
    for (const [key, { gone }] of this.dots) {
      if (gone !== null && at - gone > DOT_FADES) this.dots.delete(key);
    }
  }

  /** Forget everything: the connection, or the server, is another one. */
  clear() {
    this.dots.clear();
    this.totals = null;
    this.pictures = 0;
    this.heard = -Infinity;
  }

  /** Return the smallest area with everybody in it, or null if nobody is known.
   * @returns {Area | null} */
  bounds() {
    let area = null;
    for (const { col, row, grain, gone } of this.dots.values()) {
      if (gone !== null) continue;
      const left = firstOf(col, grain), top = firstOf(row, grain), side = 2 ** grain;
      area ??= { left, top, right: left, bottom: top };
      area.left = Math.min(area.left, left);
      area.top = Math.min(area.top, top);
      area.right = Math.max(area.right, left + side);
      area.bottom = Math.max(area.bottom, top + side);
    }
    return area;
  }

  /** Return the dot that is drawn closest to a place in squares, if it is within `reach` squares of
   * its edge; otherwise null. */
  dotNear(x, y, reach) {
    let best = null, least = Infinity;
    for (const dot of this.dots.values()) {
      if (dot.gone !== null) continue;
      const left = firstOf(dot.col, dot.grain), top = firstOf(dot.row, dot.grain);
      const side = 2 ** dot.grain;
      const far = Math.max(left - x, x - left - side, top - y, y - top - side, 0);
      const off = far + Math.hypot(left + side / 2 - x, top + side / 2 - y) * 1e-6;
      if (far <= reach && off < least) {
        best = dot;
        least = off;
      }
    }
    return best;
  }
}

/** What of the map is in view: the middle of the screen in squares, and css px per square. It glides to
 * where it should be. */
export class Gaze {
  constructor() {
    this.x = this.y = 0.5;
    this.scale = CLOSEST;
    this.width = this.height = 1;
    /** Where it glides to, and the scale there. */
    this.to = { x: 0.5, y: 0.5, scale: CLOSEST };
    /** Whether it shows the whole world, and goes on doing so as that grows. */
    this.whole = true;
  }

  /** Set the size of the screen in css px. */
  resize(width, height) {
    this.width = width;
    this.height = height;
  }

  /** Be at a place and a scale at once, without gliding. */
  put(x, y, scale) {
    this.x = x;
    this.y = y;
    this.scale = scale;
    this.to = { x, y, scale };
  }

  /** Glide to where all of an area is in sight, with `edge` css px around it.
   * @param {Area} area */
  fit({ left, top, right, bottom }, edge) {
    const wide = Math.max((right - left) * ROOM, LEAST_SHOWN);
    const high = Math.max((bottom - top) * ROOM, LEAST_SHOWN);
    const scale = Math.min(Math.max(this.width - 2 * edge, 80) / wide,
      Math.max(this.height - 2 * edge, 80) / high, CLOSEST);
    this.to = { x: (left + right) / 2, y: (top + bottom) / 2, scale };
  }

  /** Zoom by a factor around a place of the screen, in css px. */
  zoom(factor, cssX, cssY) {
    const { to } = this;
    const scale = Math.min(Math.max(to.scale * factor, Math.min(this.width, this.height) / WORLD),
      CLOSEST);
    const dx = cssX - this.width / 2, dy = cssY - this.height / 2;
    to.x += dx / to.scale - dx / scale;
    to.y += dy / to.scale - dy / scale;
    to.scale = scale;
    this.#keepInside();
    this.whole = false;
  }

  /** Move by (dx, dy) css px: what is under a finger moves with it. */
  pan(dx, dy) {
    this.to.x -= dx / this.to.scale;
    this.to.y -= dy / this.to.scale;
    this.#keepInside();
    this.whole = false;
  }

  #keepInside() {
    this.to.x = Math.min(Math.max(this.to.x, -WORLD), WORLD);
    this.to.y = Math.min(Math.max(this.to.y, -WORLD), WORLD);
  }

  /** Glide on for some ms, two thirds of the way each `lag` ms; with 0 it is there at once. */
  advance(ms, lag) {
    const part = lag > 0 ? 1 - Math.exp(-ms / lag) : 1, { to } = this;
    const before = this.scale;
    this.scale *= (to.scale / this.scale) ** part;
    // While the scale changes, the distance on the screen counts, not that in the world.
    const done = Math.abs(to.scale / before - 1) < 1e-3 ? part
      : (1 / before - 1 / this.scale) / (1 / before - 1 / to.scale);
    this.x += (to.x - this.x) * Math.min(Math.max(done, part * 0.5), 1);
    this.y += (to.y - this.y) * Math.min(Math.max(done, part * 0.5), 1);
  }

  /** Return the css px of a place in squares. */
  toScreen(x, y) {
    return { x: (x - this.x) * this.scale + this.width / 2,
      y: (y - this.y) * this.scale + this.height / 2 };
  }

  /** Return the place in squares under a css px. */
  toWorld(cssX, cssY) {
    return { x: this.x + (cssX - this.width / 2) / this.scale,
      y: this.y + (cssY - this.height / 2) / this.scale };
  }

  /** Return the area that the screen will show once it has glided, with some room around it.
   * @returns {Area} */
  area() {
    const { x, y, scale } = this.to, wide = this.width / scale * AROUND;
    const high = this.height / scale * AROUND;
    return { left: x - wide, top: y - high, right: x + wide, bottom: y + high };
  }
}

/** @typedef {{ grain: number, c0: number, r0: number, c1: number, r1: number }} Watch  The fields of a
 * `watch`. */

/** The `watch` for the totals only. @type {Watch} */
export const TOTALS_ONLY = { grain: 0, c0: 1, r0: 1, c1: 0, r1: 0 };

/** The `watch` for the whole world. @type {Watch} */
export const WHOLE_WORLD = { grain: 0, c0: -WORLD, r0: -WORLD, c1: WORLD, r1: WORLD };

/** Return the `watch` to ask for next, or null if the last one, `asked`, still serves.
 * @param {Atlas} atlas @param {Gaze} gaze @param {Watch} asked @returns {Watch | null} */
export function nextWatch(atlas, gaze, asked) {
  if (gaze.whole) return asked.c0 === WHOLE_WORLD.c0 ? null : WHOLE_WORLD;
  const { x, y, scale } = gaze.to, wide = gaze.width / scale, high = gaze.height / scale;
  const covered = x - wide / 2 >= asked.c0 && x + wide / 2 <= asked.c1 + 1
    && y - high / 2 >= asked.r0 && y + high / 2 <= asked.r1 + 1;
  // Where dots are large on the screen, a `watch` of a smaller area may get finer ones.
  const coarse = atlas.grain > 0 && 2 ** atlas.grain * scale > WORTH
    && asked.c1 - asked.c0 > 1.7 * wide;
  if (covered && !coarse) return null;
  const grain = Math.min(Math.max(Math.ceil(Math.log2(DRAWN / scale)), 0), 4 * LEVELS - 1);
  // Neighbours are asked for in whole dots of a coarse grain, so that many clients ask for the same.
  const step = 2 ** Math.max(Math.ceil(Math.log2(wide / 16)), 0), area = gaze.area();
  // Without + 0 some would be -0.
  const before = (square) => Math.floor(square / step) * step + 0;
  const after = (square) => Math.ceil(square / step) * step + 0;
  const watch = { grain, c0: before(area.left), r0: before(area.top), c1: after(area.right),
    r1: after(area.bottom) };
  return Object.entries(watch).every(([name, value]) => value === asked[name]) ? null : watch;
}

/** Return a line that says how many there are, such as "214 people and 30 clockwork"; with `channels` also
 * what carries them: "... on 61 channels · 3 servers · redis".
 * @param {Totals} totals */
export function lineOf({ people, computers, squares, nodes, broker }, channels) {
  const who = `${counted(people, 'person', 'people')}${
    computers > 0 ? ` and ${computers} clockwork` : ''}`;
  if (!channels) return who;
  return `${who}${squares === null ? '' : ` on ${counted(squares, 'channel')}`} · `
    + `${counted(nodes, 'server')} · ${broker === 'memory' ? 'no broker' : broker}`;
}

/** Return what is in a dot, such as "5 people and 2 clockwork", and with `channels` also where and at which
 * server: "square 3, 4 · 5 people and 2 clockwork · server 1".
 * @param {Dot} dot */
export function dotLine({ col, row, grain, people, computers, node }, channels) {
  const who = [people > 0 ? counted(people, 'person', 'people') : '',
    computers > 0 ? `${computers} clockwork` : ''].filter((part) => part !== '').join(' and ');
  if (!channels) return who;
  const wide = 2 ** grain;
  const where = grain === 0 ? `square ${col}, ${row}` : `${wide} × ${wide} squares`;
  return `${where} · ${who} · server ${node + 1}`;
}

/** Return a line for somebody who has not joined yet, and whose name is `own`; `been`: it has walked here within two
 * days.
 * @param {Totals} totals */
export function invitingLine({ people, computers, names, walked }, own, been) {
  const others = names.filter((name) => name !== own);
  const among = others.length < names.length || (been && walked > others.length);
  const who = joined([...listed(others, walked - (among ? 1 : 0)), ...among ? ['you'] : []]);
  const clockwork = computers === 0 ? '' : counted(computers, 'clockwork walker');
  const before = who === '' ? '' : `${who.charAt(0).toUpperCase()}${who.slice(1)} walked here in the last two days.`;
  if (people > 0) {
    const beside = clockwork === '' ? '' : `, besides ${clockwork}`;
    return `${counted(people, 'person is', 'people are')} walking now${beside}. ${before}`.trim();
  }
  if (clockwork === '') return before || 'Nobody is walking now: the world is yours.';
  const are = `${clockwork} ${computers === 1 ? 'is' : 'are'} out`;
  return before === '' ? `${are}: join ${computers === 1 ? 'it' : 'them'}.` : `${before} ${are}.`;
}

/** Return a line that says who is in view: the player, other people by name, and how many are clockwork,
 * such as "You, Ben, 9 others and 3 clockwork".
 * @param {string[]} people */
export function companyLine(people, clockwork) {
  const named = people.slice(0, people.length > 2 ? 1 : 2), more = people.length - named.length;
  const all = ['You', ...named, ...othersOf(more), ...clockwork > 0 ? [`${clockwork} clockwork`] : []];
  return all.length === 1 ? 'Only you' : joined(all);
}

/** Return one or two names of `count` people, and how many others there are. */
function listed(names, count) {
  return [...names.slice(0, 2), ...othersOf(count - Math.min(names.length, 2))];
}

function othersOf(count) {
  return count <= 0 ? [] : [count > MANY ? 'many others' : counted(count, 'other')];
}

function joined(words) {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function counted(number, one, many = one + 's') {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}
