// What is said of lines in people's books that no folder of a part has.

import { fromPlaza } from './near.js';
import { landmarkAt } from './notes.js';
import { ordinalOf } from './places.js';
import { PART } from './landmarks.js';

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
  hand: {
    at: 40,
    sign: 'flame',
    sum: ['landmark lit', 'landmarks lit'],
    say: ([, , who, n, i, j], landmarks) => {
      const mark = landmarks.of(i, j), name = mark === null ? 'a landmark' : mark.name;
      const hands = ['You', `You and ${who}`, `You, ${who} and another`][n - 1] ?? `You, ${who} and ${n - 2} others`;
      return [`${hands} brought the ember to ${name}.`,
        { x: (mark?.x ?? i * PART) + 0.5, y: (mark?.y ?? j * PART) + 0.5, name }];
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

