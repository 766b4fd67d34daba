// The ember: who carries it, as the server tells about once a second in the carrier's square. It never
// touches the page.

import { isComputer } from './faces.js';

const SHOWN = 3500;                       // ms for which it is shown after it was told of
const WORTH = 10000;                      // ms: whoever kept it for so long is told of

/** What the server tells: who carries it, after how many passes, for how many ms, and who had it before
 * (0: nobody) for how many ms.
 * @typedef {[id: number, passes: number, age: number, before: number, kept: number]} Told */

export class Ember {
  constructor() {
    /** @type {number | null} Id of the player that carried it last, as far as that is known. */
    this.id = null;
    this.passes = -1;
    this.toldAt = -Infinity;              // performance time, ms
  }

  /** Return the id of the player that carries it at performance time `at`, ms, or null if that is not
   * known. */
  carrier(at) {
    return at - this.toldAt < SHOWN ? this.id : null;
  }

  /** Take what is told at performance time `at`, ms; return whether another player has it now.
   * @param {Told} told */
  take([id, passes], at) {
    if (this.carrier(at) !== null && passes < this.passes) return false;
    const isNew = id !== this.carrier(at);
    Object.assign(this, { id, passes, toldAt: at });
    return isNew;
  }

  /** Forget it: the connection is another one. */
  clear() {
    this.id = null;
    this.passes = -1;
    this.toldAt = -Infinity;
  }
}

/** What the player is told that has got it: the board counts for how long. */
export const KEEP_IT = 'You have the ember: keep it, run!';

/** Return what a player is told, once, that has never had it. */
export function takeIt(name) {
  return `${name} has the ember: touch ${name}, and it is yours.`;
}

/** Return a time in words: 41 s, or 2 min 3 s. */
export function timeOf(ms) {
  const seconds = Math.round(ms / 1000), minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/** Return the sentence about who had the ember and who has it now, or null if it is not worth one: it is if
 * the player `own` is one of them, or if a person kept it for long. `name` returns the name of a player, or ''
 * if it is not known.
 * @param {Told} told @param {(id: number) => string} name */
export function lineOf([id, , age, before, kept], own, name) {
  const hadIt = before === own ? 'You' : name(before);
  const hasIt = id === own ? 'you have' : `${name(id)} has`;
  if (age > 2000 || before === 0 || before === id || hadIt === '' || hasIt === ' has') return null;
  if (id !== own && before !== own && (kept < WORTH || isComputer(before))) return null;
  if (kept < 500) return `${hadIt} had the ember. Now ${hasIt} it.`;
  return `${hadIt} kept the ember ${timeOf(kept)}. Now ${hasIt} it.`;
}
