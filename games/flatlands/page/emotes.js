// The emotes that players make: their numbers and names, and when a wave is returned. It never touches
// the page.

import { isComputer } from './faces.js';
import { fromPlaza } from './near.js';
import { walkerInSight } from './scene.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {import('./state.js').Walker} Walker */

export const WAVE = 1, HEART = 2, LAUGH = 3, DANCE = 4, EXCLAIM = 5, ASK = 6, BOW = 7;

/** By their numbers from 1 on: the name of each, and the words for somebody else who made it. */
export const EMOTES = [{ name: '', others: '' },
  { name: 'Wave', others: 'waved' },
  { name: 'Heart', others: 'sent a heart' },
  { name: 'Laugh', others: 'laughed' },
  { name: 'Dance', others: 'danced' },
  { name: 'Hey!', others: 'called hey' },
  { name: 'Huh?', others: 'wondered' },
  { name: 'Bow', others: 'bowed' }];

/** What the book says of a wave that was returned. @type {import('./notes.js').Note} */
export const SPARK = {
  kind: 'spark',
  sign: 'emote',
  sum: ['spark', 'sparks'],
  say: ([, , who, , x, y]) => [`You and ${who} waved to each other ${fromPlaza(x, y)}.`, null],
};

/** Return whether an emote has a number that is known here. */
export function isEmote(emote) {
  return emote >= 1 && emote < EMOTES.length;
}

export const EMOTE_SHOWN = 2600;          // ms
export const SPARK_SHOWN = 1400;          // ms
const RETURNED_WITHIN = 3000;             // ms after a wave, in which another one returns it
const NEAR = 10;                          // tiles between two who wave to each other

/** Show an emote of the walker `id` at performance time `at`, ms. If it is a wave that returns
 * another one's, both get a spark. Returns the id of that other one, or null.
 * @param {State} state */
export function showEmote(state, id, emote, at) {
  const walker = walkerInSight(state, id);
  if (walker === undefined || !isEmote(emote)) return null;
  walker.saying = { text: '', emote, at, until: at + EMOTE_SHOWN, toOwn: false, shown: !isComputer(id) };
  if (emote === DANCE) walker.dancedAt = at;
  if (emote !== WAVE) return null;
  const other = whomAnswered(state, walker, at);
  walker.wavedAt = other === null ? at : -Infinity;
  if (other === null) return null;
  other.wavedAt = -Infinity;
  walker.sparkAt = other.sparkAt = at;
  return other.id;
}

/** Return whether somebody near waits for this page's player to wave back, at performance time `at`, ms.
 * @param {State} state */
export function isWavedTo(state, at) {
  const own = state.drawn.get(state.ownId ?? 0);
  return own !== undefined && whomAnswered(state, own, at) !== null;
}

/** Return the walker nearby whose wave is the newest that nobody has returned yet, or null. A person
 * with another one nearby waves only to people, whatever clockwork does.
 * @param {State} state @param {Walker} walker */
function whomAnswered(state, walker, at) {
  let found = null;
  for (const other of state.drawn.values()) {
    if (other === walker || other.muted || at - other.wavedAt > RETURNED_WITHIN) continue;
    if (!isNear(other, walker)) continue;
    if (isComputer(walker.id) && hasCompany(state, other)) continue;
    if (isComputer(other.id) && hasCompany(state, walker)) continue;
    if (found === null || other.wavedAt > found.wavedAt) found = other;
  }
  return found;
}

/** Return whether a walker is a person with another one nearby. */
function hasCompany(state, walker) {
  return !isComputer(walker.id) && [...state.drawn.values()].some((other) =>
    other !== walker && !isComputer(other.id) && isNear(other, walker));
}

function isNear(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y) <= NEAR;
}
