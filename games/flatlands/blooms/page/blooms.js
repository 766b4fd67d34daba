// Squares that bloom: which ones do, by what lies in them, who made them bloom, and what a dance still lacks to make
// one bloom. It never touches the page and sends nothing.

import { isComputer } from '../faces.js';
import { fromPlaza, listOf } from '../near.js';
import { placeAt } from '../notes.js';
import { UNIT } from '../track.js';

/** @typedef {import('../state.js').State} State */

const BLOOM = 'Bloom';                    // the name of the kind of thing
const DANCERS = 3;                        // people that it takes
const GAP = 4000;                         // the most ms between two emotes of one dance
const DAY = 86_400_000;                   // ms for which a square blooms
const NEW = 15_000;                       // ms for which that is news
const AT = 1.6;                           // tiles to a wreath from where its names can be read
const NEAR = 16;                          // tiles to a wreath that is shown as news, and to others in the same dance

/** What the book says of one. @type {import('../notes.js').Note} */
export const NOTE = {
  kind: 'bloom',
  sign: 'flower',
  sum: ['square in bloom', 'squares in bloom'],
  say: ([, , who, , x, y]) => [`You, ${who} and a third danced until a square bloomed ${fromPlaza(x, y)}.`,
    placeAt(x, y, 'where you danced')],
};

export class Blooms {
  /** @param {import('../grown.js').Grown} grown  where it makes flowers grow */
  constructor(grown) {
    this.grown = grown;
    this.side = 1;                        // of a square, in tiles
    this.of = -1;                         // the value of the replica's `thingChanges` that was looked at
    /** @type {Map<string, import('../replica.js').Thing>} By 'col:row': what makes the square bloom. */
    this.all = new Map();
    /** @type {Set<string>} The ids of the blooms that the player was shown. */
    this.announced = new Set();
  }

  /** Bring the blooms on the ground up to date; return a sentence about a bloom that the player has come to, or null.
   * @param {State} state @returns {string | null} */
  look(state) {
    const { replica, here } = state, now = state.clock.now();
    if (this.of !== replica.thingChanges) {
      this.of = replica.thingChanges;
      this.side = replica.side;
      for (const [key, things] of replica.things) this.#turn(key, things.find(({ type }) => type === BLOOM));
    }
    for (const [key, { id, x, y, values }] of this.all) {
      if (values.until < now) {
        // Nothing is sent of a square that was dropped meanwhile.
        this.#turn(key, undefined);
        continue;
      }
      const news = values.until - now > DAY - NEW && Math.hypot(x / UNIT - here.x, y / UNIT - here.y) < NEAR;
      if (this.announced.has(id) || !(news || key === squareOf(state, here))) continue;
      this.announced.add(id);
      return sentenceOf(values);
    }
    return null;
  }

  /** Let a square, 'col:row', bloom, or no longer.
   * @param {string} key @param {import('../replica.js').Thing | undefined} bloom */
  #turn(key, bloom) {
    const before = this.all.get(key)?.id;
    if (bloom === undefined) this.all.delete(key);
    else this.all.set(key, bloom);
    if (before !== bloom?.id) this.grown.changeSquare(key, this.side);
  }

  /** Return the id of what makes the square of a tile bloom, which decides which flowers stand there, or ''. */
  blooming(x, y) {
    return this.all.get(`${Math.floor(x / this.side)}:${Math.floor(y / this.side)}`)?.id ?? '';
  }

  /** Return what a player that stands at a wreath reads, or null.
   * @param {State} state @returns {string | null} */
  read(state) {
    const { here } = state, bloom = this.all.get(squareOf(state, here));
    return bloom === undefined || Math.hypot(bloom.x / UNIT - here.x, bloom.y / UNIT - here.y) > AT ? null
      : sentenceOf(bloom.values);
  }

  /** Return what the dance of this page's player lacks, as long as others dance with it, or null.
   * @param {State} state @returns {string | null} */
  missing(state) {
    const { now } = state, own = state.drawn.get(state.ownId ?? 0), dances = ({ dancedAt }) => now - dancedAt < GAP;
    if (own === undefined || !dances(own) || this.all.has(squareOf(state, own))) return null;
    const others = state.walkers.filter((other) => other !== own && dances(other) && !other.muted
      && !isComputer(other.id) && Math.hypot(other.x - own.x, other.y - own.y) < NEAR);
    const here = others.filter((other) => squareOf(state, other) === squareOf(state, own));
    if (here.length >= DANCERS - 1) return 'Keep dancing, all of you: this square will bloom soon.';
    const names = listOf(others.map(({ name }) => name)), [first] = others;
    if (others.length > here.length) return `${names} and you dance in different squares (G). Three in one make it bloom.`;
    return first === undefined ? null : `${names} is dancing with you. With a third dancer, this square will bloom.`;
  }
}

/** @param {State} state @param {{ x: number, y: number }} place */
function squareOf({ replica: { side } }, { x, y }) {
  return `${Math.floor(x / side)}:${Math.floor(y / side)}`;
}

/** @param {Record<string, any>} bloom  its values */
function sentenceOf({ until, first, second, third }) {
  return `This square blooms ${untilWhen(until)}, for ${listOf([first, second, third])}.`;
}

/** Return in words until when: node time, in ms, is that of clocks on the wall. */
function untilWhen(at) {
  const end = new Date(at), time = end.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  return end.toDateString() === new Date().toDateString() ? `until ${time}` : 'until tomorrow';
}
