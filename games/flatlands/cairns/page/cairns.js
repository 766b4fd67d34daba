// Which cairn this page's player reads, and what the book says of cairns. It never touches the page and sends nothing.

import { fromPlaza } from '../near.js';
import { placeAt } from '../notes.js';

/** @typedef {import('../state.js').ShownThing} ShownThing */
/** @typedef {import('../state.js').State} State */

/** The name of the kind of things. */
export const CAIRN = 'Cairn';

const STANDS = { what: 'Your cairn', ms: 7 * 86_400_000 };
const READ_WITHIN = 2.5;                  // tiles: from there the line of a cairn is read
const READ_OUT = 3;                       // tiles: farther away than this it is not read any more

/** What the book says. @type {import('../notes.js').Note[]} */
export const NOTES = [{
  kind: 'cairn',
  sign: 'cairn',
  sum: ['cairn', 'cairns'],
  stands: STANDS,
  say: ([, , , , x, y]) => [`You left a cairn ${fromPlaza(x, y)}.`, placeAt(x, y, 'your cairn')],
}, {
  kind: 'stone',
  sign: 'cairn',
  sum: ['stone from others', 'stones from others'],
  others: true,
  stands: STANDS,
  say: ([, , who, n, x, y]) => [`${who} put a stone on your cairn ${fromPlaza(x, y)}: it has ${n} now.`,
    placeAt(x, y, 'your cairn')],
}];

export class Cairns {
  constructor() {
    /** @type {ShownThing | null} The cairn that was clicked, until the player clicks elsewhere, walks by keys, or closes its card. */
    this.meant = null;
    /** @type {ShownThing | null} The cairn whose line was closed, as long as the player is near it. */
    this.closed = null;
    // What this frame shows.
    /** @type {ShownThing | null} The cairn whose line is shown. */
    this.read = null;
    /** True if this page's player is close enough to that cairn to add a stone. */
    this.near = false;
  }

  /** Forget them all, since nothing is drawn any more. */
  clear() {
    this.read = this.meant = this.closed = null;
  }

  /** Close the line that is shown; return whether there was one. */
  close() {
    const was = this.read;
    this.meant = null;
    if (was !== null) this.closed = was;
    return was !== null;
  }

  /** Find out which cairn is read: the one that was clicked, or else the nearest one.
   * @param {State} state */
  advance({ things, here }) {
    const before = this.read;
    if (!isThere(this.meant)) this.meant = null;
    if (this.closed !== null && away(this.closed, here) > READ_OUT) this.closed = null;
    let best = this.meant, least = READ_WITHIN;
    if (best === null) {
      for (const each of things.values()) {
        if (each.thing.type !== CAIRN || !isThere(each) || each === this.closed) continue;
        if (away(each, here) <= least) {
          least = away(each, here);
          best = each;
        }
      }
      const stays = before !== null && isThere(before) && before !== this.closed;
      if (best === null && stays && away(before, here) <= READ_OUT) best = before;
    }
    this.read = best;
    this.near = best !== null && away(best, here) <= READ_WITHIN;
  }
}

/** @param {ShownThing | null} each */
function isThere(each) {
  return each !== null && each.goneAt === null && each.alpha > 0;
}

/** @param {ShownThing} each @param {import('../state.js').Place} here */
function away(each, here) {
  return Math.hypot(each.x - here.x, each.y - here.y);
}
