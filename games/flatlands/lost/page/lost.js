// Lost things, as the server sends them: what they are, where they lie, and who wears which. It never touches the page.

import { fromPlaza } from '../near.js';

const DAY = 86_400_000;                   // ms
const HINT = 40;                          // tiles: the hint is no more exact than that
const IN_SIGHT = 30, STAYS = 70;          // tiles from which the player is led to it, and from which no longer

/** What may be lost, by the numbers of the server. */
export const NAMES = ['kite', 'balloon', 'paper crown'];

/** A lost thing: the day, from 1970 on; what it is, where it lay, and who has found it when (node time, ms), or 0.
 * @typedef {[number, number, number, number, number, string, number]} Row */

/** What the book says of one. @type {import('../notes.js').Note} */
export const NOTE = {
  kind: 'lost',
  sign: 'flag',
  sum: ['lost thing found', 'lost things found'],
  say: ([, , , what, x, y]) => [`You found the lost ${NAMES[what] ?? 'thing'}, ${fromPlaza(x, y)}.`, null],
};

export class LostThings {
  constructor() {
    /** @type {Row[]} */
    this.rows = [];
    this.near = false;                    // whether the player is led to it, and not only about there
  }

  /** Return the row of today's thing, or null while none is known.
   * @param {number} now  node time, ms @returns {Row | null} */
  today(now) {
    return this.rows.find(([day]) => day === Math.floor(now / DAY)) ?? null;
  }

  /** Return who wears what now: id of a player -> number of the thing.
   * @param {number} now  node time, ms @returns {Map<number, number>} */
  worn(now) {
    return new Map(this.rows.filter(([, , , , player, , at]) => player !== 0 && now < at + DAY)
      .map(([, what, , , player]) => [player, what]));
  }

  /** Return what the notice board says of today's thing, or null.
   * @param {number} now  node time, ms */
  hint(now) {
    const row = this.today(now);
    if (row === null) return null;
    const [, what, x, y, player, name] = row;
    return player !== 0 ? `${name} has found the lost ${NAMES[what]}, and wears it.`
      : `Lost: a ${NAMES[what]}, some ${fromPlaza(...about(x, y))}. Whoever finds it wears it for a day.`;
  }

  /** Return the step to look for today's thing: to about where it lies, or to it once it is in sight.
   * @param {import('../state.js').State} state @returns {import('../next.js').Step | null} */
  step({ here, clock }) {
    const row = this.today(clock.now());
    if (row === null || row[4] !== 0) return null;
    const [day, what, x, y] = row, near = Math.hypot(x - here.x, y - here.y) < (this.near ? STAYS : IN_SIGHT);
    this.near = near;
    const [px, py] = near ? [x, y] : about(x, y), name = `the lost ${NAMES[what]}`;
    return { key: `lost ${day}`, text: near ? `There is ${name}` : `Look for ${name}`, place: { x: px + 0.5, y: py + 0.5, name } };
  }
}

/** Return a place near another one. */
function about(x, y) {
  return [Math.round(x / HINT) * HINT, Math.round(y / HINT) * HINT];
}
