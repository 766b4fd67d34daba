// The way to a goal that a straight walk does not reach: around water and rock, over bridges and up
// ramps. Each frame searches for a little while. It never touches the page and sends nothing.

import { leg, UNIT } from './track.js';

const WIDE = 256;                         // tiles each way around the start that are searched
const STRAIGHT = 10, ACROSS = 14;         // the cost of a step, and of a diagonal one
const GREED = 1.25;                       // weight of what is left: a larger one finds a way sooner
const LOOK_EVERY = 16;                    // steps between two looks at the clock
const LEGS = 8;                           // of a straight walk that are looked at
const SIGHT = 31 * UNIT;                  // the longest leg that is certain to be one
const AGAIN = 40;                         // searches for one goal, at the most
const STEPS = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [1, -1], [-1, 1], [-1, -1]];

/** @typedef {import('./track.js').Pair} Pair */
/** @typedef {(column: number, row: number) => boolean} Blocked */

/** Return where a straight walk to a goal ends, or where it is after LEGS legs, all in units.
 * @param {Blocked} blocked @param {Pair} from @param {Pair} goal @returns {Pair} */
export function endOf(blocked, [x, y], goal) {
  for (let i = 0; i < LEGS; i++) {
    const track = leg(blocked, x, y, { goal }, 0);
    if (track === null) break;
    x += track.dx;
    y += track.dy;
  }
  return [x, y];
}

/** @param {Pair} one @param {Pair} other */
function far(one, other) {
  return Math.hypot(one[0] - other[0], one[1] - other[1]);
}

/** Return whether one leg leads from a place to another one, both in units.
 * @param {Blocked} blocked @param {Pair} from @param {Pair} to */
function sees(blocked, [x, y], to) {
  const dx = to[0] - x, dy = to[1] - y;
  if (Math.max(Math.abs(dx), Math.abs(dy)) > SIGHT) return false;
  if (dx === 0 && dy === 0) return true;
  const track = leg(blocked, x, y, { goal: to }, 0);
  return track !== null && track.dx === dx && track.dy === dy;
}

/** A search for the way from a place to a goal, both in units: A* over tiles. */
class Search {
  /** @param {Blocked} blocked @param {Pair} from @param {Pair} goal */
  constructor(blocked, from, goal) {
    this.blocked = blocked;
    const [col, row] = from.map((at) => Math.floor(at / UNIT));
    this.left = col - WIDE / 2;
    this.top = row - WIDE / 2;
    this.toX = Math.floor(goal[0] / UNIT) - this.left;
    this.toY = Math.floor(goal[1] / UNIT) - this.top;
    this.within = Math.min(this.toX, this.toY) >= 0 && Math.max(this.toX, this.toY) < WIDE;
    this.costs = new Int32Array(WIDE * WIDE).fill(2 ** 30);
    this.steps = new Int8Array(WIDE * WIDE).fill(-1);    // by which each tile was reached
    this.free = new Int8Array(WIDE * WIDE);              // 1: free, -1: blocked, 0: not looked at
    this.heap = [];                       // tiles to go on from, the most promising first, as [tile, rank]
    this.start = this.#tile(WIDE / 2, WIDE / 2);
    this.best = this.start;               // the tile nearest to the goal so far
    this.least = Infinity;
    this.reached = false;                 // true if the way leads to the goal, or out of the searched area
    this.costs[this.start] = 0;
    this.#push(this.start);
  }

  #tile(x, y) {
    return y * WIDE + x;
  }

  /** Return the least cost from a tile to the goal. */
  #rest(tile) {
    const x = tile % WIDE, dx = Math.abs(x - this.toX), dy = Math.abs((tile - x) / WIDE - this.toY);
    return STRAIGHT * Math.max(dx, dy) + (ACROSS - STRAIGHT) * Math.min(dx, dy);
  }

  #isFree(x, y) {
    const tile = this.#tile(x, y);
    if (this.free[tile] === 0) this.free[tile] = this.blocked(this.left + x, this.top + y) ? -1 : 1;
    return this.free[tile] === 1;
  }

  /** Search until performance time `until`, ms; return whether the search is over. */
  go(until) {
    for (let count = 1; this.heap.length > 0; count++) {
      if (count % LOOK_EVERY === 0 && performance.now() > until) return false;
      const [tile, rank] = this.#pop(), rest = this.#rest(tile);
      if (rank > this.costs[tile] + GREED * rest) continue;    // a better way there was found since
      if (rest < this.least) {
        this.least = rest;
        this.best = tile;
      }
      const x = tile % WIDE, y = (tile - x) / WIDE;
      const atEdge = x === 0 || y === 0 || x === WIDE - 1 || y === WIDE - 1;
      if (rest === 0 || (atEdge && !this.within)) {
        this.best = tile;
        this.reached = true;
        return true;
      }
      if (!atEdge) this.#spread(tile, x, y);
    }
    return true;
  }

  #spread(tile, x, y) {
    for (let i = 0; i < STEPS.length; i++) {
      const [dx, dy] = STEPS[i], next = tile + this.#tile(dx, dy), across = dx !== 0 && dy !== 0;
      const cost = this.costs[tile] + (across ? ACROSS : STRAIGHT);
      if (cost >= this.costs[next] || !this.#isFree(x + dx, y + dy)) continue;
      if (across && !(this.#isFree(x + dx, y) && this.#isFree(x, y + dy))) continue;
      this.costs[next] = cost;
      this.steps[next] = i;
      this.#push(next);
    }
  }

  /** Return the middles of the tiles of the way, in units, from the first step on.
   * @returns {Pair[]} */
  way() {
    /** @type {Pair[]} */
    const way = [];
    for (let tile = this.best; tile !== this.start;) {
      const x = tile % WIDE, y = (tile - x) / WIDE, [dx, dy] = STEPS[this.steps[tile]];
      way.push([(this.left + x + 0.5) * UNIT, (this.top + y + 0.5) * UNIT]);
      tile -= this.#tile(dx, dy);
    }
    return way.reverse();
  }

  #push(tile) {
    const { heap } = this, each = [tile, this.costs[tile] + GREED * this.#rest(tile)];
    let at = heap.length;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (heap[up][1] <= each[1]) break;
      heap[at] = heap[up];
      at = up;
    }
    heap[at] = each;
  }

  #pop() {
    const { heap } = this, [first] = heap, last = heap.pop();
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && heap[down + 1][1] < heap[down][1]) down++;
      if (heap[down][1] >= last[1]) break;
      heap[at] = heap[down];
      at = down;
    }
    heap[at] = last;
    return first;
  }
}

export class Route {
  /** A way from a place that ends `before` units before a goal, both also in units.
   * @param {Blocked} blocked @param {Pair} from @param {Pair} goal */
  constructor(blocked, from, goal, before = 0) {
    this.blocked = blocked;
    this.goal = goal;
    this.before = before;
    /** @type {Search | null} */
    this.search = new Search(blocked, from, goal);
    /** @type {Pair[]} The rest of the way, in units; empty until it is found. */
    this.way = [];
    this.whole = false;                   // true if nothing has to be added to it
    this.searches = 1;
    this.leads = true;                    // false if no way leads to the goal
    this.ended = false;                   // true once it leads no further
  }

  /** Return where to walk next, in units, or null if nothing is to be done now.
   * @param {Pair} here  where the player is, in units
   * @param {boolean} arrived  whether the walk leads no further
   * @param {number} until  performance time, ms, until which it may search
   * @returns {Pair | null} */
  next(here, arrived, until) {
    if (this.ended) return null;
    if (this.search !== null) {
      if (!this.search.go(until)) return null;
      this.#take(this.search);
    } else if (!arrived) return null;
    for (let i = this.way.length - 1; i >= 0; i--) {
      if (sees(this.blocked, here, this.way[i])) return this.way.splice(0, i + 1)[i];
    }
    if ((this.whole && this.way.length === 0) || this.searches === AGAIN) this.ended = arrived;
    else {
      this.searches++;
      this.search = new Search(this.blocked, here, this.goal);
    }
    return null;
  }

  /** @param {Search} search  one that is over */
  #take(search) {
    this.search = null;
    this.leads = search.reached;
    this.whole = search.within || !search.reached;
    const way = this.way = search.way();
    if (!this.leads || !this.whole) return;
    if (this.before === 0) way.push(this.goal);
    while (way.length > 0 && far(way[way.length - 1], this.goal) < this.before) way.pop();
  }
}
