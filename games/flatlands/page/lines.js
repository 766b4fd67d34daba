// What is said of lines in people's books that no folder of a part has.

import { fromPlaza } from './near.js';
import { landmarkAt } from './notes.js';
import { ordinalOf } from './places.js';

/** @typedef {import('./notes.js').Note} Note */

/** What is said of kinds of lines, by their places in the sums.
 * @type {Record<string, Omit<Note, 'kind'> & { at: number }>} */
const KINDS = {
  landmark: {
    at: 10,
    sign: 'flag',
    sum: ['landmark', 'landmarks'],
    say: ([, , , n, i, j], landmarks) => {
      const place = landmarkAt(i, j, landmarks), { name } = place;
      return [n === 1 ? `You were the first to find ${name}: your name is carved there.`
        : `You were the ${ordinalOf(n)} to find ${name}.`, place];
    },
  },
  spark: {
    at: 70,
    sign: 'emote',
    sum: ['spark', 'sparks'],
    say: ([, , who, , x, y]) => [`You and ${who} waved to each other ${fromPlaza(x, y)}.`, null],
  },
};

/** Let a state know what is said of the kinds of lines that are known here.
 * @param {import('./state.js').State} state */
export function addNotes({ notes }) {
  for (const [kind, { at, ...note }] of Object.entries(KINDS)) notes.add(at, { kind, ...note });
}

