// Squares that bloom: which ones do, by what lies in them, for whom, and what a dance still lacks that would let
// one bloom. It never touches the page and sends nothing.

import { isComputer } from './faces.js';
import { listOf } from './relay.js';
import { UNIT } from './track.js';

/** @typedef {import('./state.js').State} State */

const BLOOM = 'Bloom';                    // the name of the kind of things
const DANCERS = 3;                        // people that it takes
const GAP = 4000;                         // ms within which who dances on makes the next dance
const DAY = 86_400_000;                   // ms for which a square blooms
const NEW = 15_000;                       // ms for which that is news
const AT = 1.6;                           // tiles to a wreath from where its names are read
const NEAR = 16;                          // tiles to where it is told as news, and to others with whom one dances

export class Blooms {
  constructor() {
    this.of = -1;                         // the value of the replica's `thingChanges` that was looked at
    /** @type {Map<string, import('./replica.js').Thing>} By 'col:row': what makes the square bloom. */
    this.all = new Map();
    /** @type {Set<string>} The ids of those of which the player was told. */
    this.told = new Set();
  }

  /** Let the ground have what blooms, and return a sentence about what the player has come to, or null.
   * @param {State} state @returns {string | null} */
  look(state) {
    const { replica, grown, here } = state, now = state.clock.now();
    if (this.of !== replica.thingChanges) {
      this.of = replica.thingChanges;
      for (const [key, things] of replica.things) {
        const bloom = things.find(({ type }) => type === BLOOM);
        grown.bloom(key, bloom?.id ?? '', replica.side);
        if (bloom === undefined) this.all.delete(key);
        else this.all.set(key, bloom);
      }
    }
    for (const [key, { id, x, y, values }] of this.all) {
      if (values.until < now) {
        // Nobody has said so of a square that was let go meanwhile.
        grown.bloom(key, '', replica.side);
        this.all.delete(key);
        continue;
      }
      const news = values.until - now > DAY - NEW && Math.hypot(x / UNIT - here.x, y / UNIT - here.y) < NEAR;
      if (this.told.has(id) || !(news || key === squareOf(state, here))) continue;
      this.told.add(id);
      return sentenceOf(values);
    }
    return null;
  }

  /** Return what one reads who stands at a wreath, or null.
   * @param {State} state @returns {string | null} */
  read(state) {
    const { here } = state, bloom = this.all.get(squareOf(state, here));
    return bloom === undefined || Math.hypot(bloom.x / UNIT - here.x, bloom.y / UNIT - here.y) > AT ? null
      : sentenceOf(bloom.values);
  }

  /** Return what the dance of the own player lacks, as long as others dance with it, or null.
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

/** Return in words until when: node time in ms is that of clocks on the wall. */
function untilWhen(at) {
  const end = new Date(at), time = end.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  return end.toDateString() === new Date().toDateString() ? `until ${time}` : 'until tomorrow';
}
