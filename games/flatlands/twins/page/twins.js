// Twin stones: who waits at which, as the server sends it; which of them this page's player is at, and what is missing
// there. It never touches the page.

import { isComputer, isDeer } from '../faces.js';
import { fromPlaza } from '../near.js';

/** @typedef {import('../state.js').State} State */

/** The names of the kinds of things. */
export const TWIN = 'Twin', HALF = 'Half';
/** Tiles from the gem to the middle of each stone, and from that to a player that is on the stone. */
export const ASIDE = 2, ON = 0.95;
/** Tiles from the gem within which the server sends who waits. */
const NEAR = 200;
const AT = 3.6;                           // tiles from the gem within which a player is at its stones

const IN_SIGHT = 30, HELPED = 60;         // tiles; and those from the plaza within which clockwork helps
const STAYS = 25000;                      // ms for which it is a next step to stay on a stone
const FORGOTTEN = 25000;                  // ms after which somebody of whom nothing is sent is taken to have gone
const NEWS_EVERY = 300000;                // ms for which it is not news again that somebody waits at a place
const SLOW = 2500;                        // ms that the server may take to open them

/** What the page says instead of a name where the server sends none: people are named. */
export const CLOCKWORK = 'a clockwork walker';

/** Somebody who waits, and where the gem is, in tiles; `at` is the performance time, ms, when it was sent.
 * @typedef {{ id: number, name: string, x: number, y: number, at: number }} Waiting */

/** The twin stones at (x, y), which this page's player is at: `on` is the side on which it stands on a stone, as in
 * sideOf. `other` is the performance time, ms, since when another person stands on the other stone, or on any if this
 * page's player stands on none; null if nobody does. `clockwork`: only clockwork does.
 * @typedef {{ x: number, y: number, on: number, other: number | null, clockwork: boolean }} Stones
 */

/** What the book says of one. @type {import('../notes.js').Note} */
export const NOTE = {
  kind: 'twin',
  sign: 'gem',
  sum: ['twin gem', 'twin gems'],
  say: ([, , who, , x, y]) => [`You and ${who || CLOCKWORK} opened twin stones ${fromPlaza(x, y)}.`, null],
};

export class Twins {
  constructor() {
    /** @type {Map<number, Waiting>} By player id. */
    this.all = new Map();
    /** @type {Map<string, number>} When it was news that somebody waits somewhere. */
    this.newsAt = new Map();
    this.onSince = 0;                     // performance time, ms, when the player came onto a stone
    /** @type {Set<string>} The ids of stones where nobody came. */
    this.vain = new Set();
    this.alone = false;                   // whether the server has said that the player is on both stones
    // What this frame shows.
    /** @type {Waiting[]} Others who wait, the nearest first; */
    this.waiting = [];
    /** @type {Stones | null} and the stones that this page's player is at. */
    this.stones = null;
  }

  /** Take what the server sends; return whether it is news.
   * @param {[number, string, number, number, boolean]} waiter */
  take([id, name, column, row, still], now) {
    const key = `${id} ${column} ${row}`;
    if (!still) {
      this.all.delete(id);
      return false;
    }
    this.all.set(id, { id, name, x: column + 0.5, y: row + 0.5, at: now });
    if (now < (this.newsAt.get(key) ?? -Infinity) + NEWS_EVERY) return false;
    this.newsAt.set(key, now);
    return true;
  }

  /** Bring `waiting` and `stones` up to the time state.now.
   * @param {State} state */
  advance(state) {
    const { here, now, muted, ownId } = state, { stones: before } = this;
    const away = ({ x, y }) => Math.hypot(x - here.x, y - here.y);
    for (const [id, { at }] of this.all) if (now - at > FORGOTTEN) this.all.delete(id);
    this.waiting = this.all.size === 0 ? [] : [...this.all.values()]
      .filter(({ id }) => id !== ownId && !muted.has(id)).sort((a, b) => away(a) - away(b));
    const twin = ownId === null ? undefined : twinsOf(state).find((each) => away(each) <= AT);
    const on = twin === undefined ? 0 : sideOf(twin, here);
    if (on === 0) this.alone = false;
    if (twin === undefined) {
      this.stones = null;
      return;
    }
    const { x, y } = twin, sides = standing(state, twin), company = on === 0 ? Math.max(...sides) : sides[on < 0 ? 1 : 0];
    if (on === 0 || before?.on !== on) this.onSince = now;
    else if (now > this.onSince + STAYS) this.vain.add(twin.thing.id);
    const same = before !== null && before.x === x && before.y === y && before.on === on;
    this.stones = { x, y, on, clockwork: company === 1,
      other: company < 2 ? null : same ? before.other ?? now : now };
  }

  /** Return the twin stones where others wait, as named places, the nearest first. */
  places() {
    return this.waiting.map(({ x, y, name }) => ({ x, y, name: placeOf(name) }));
  }

  /** Return the step to stay on a stone, or to go where somebody waits.
   * @param {State} state @returns {import('../next.js').Step | null} */
  waitingStep(state) {
    const [waiting] = this.waiting;
    if (this.stones !== null && this.stones.on !== 0 && !this.alone && state.now < this.onSince + STAYS) {
      return { key: 'stay', text: 'Stay on the stone: somebody comes', act: () => {} };
    }
    if (waiting === undefined) return null;
    const side = standing(state, waiting)[0] > 0 ? 1 : -1;
    return { key: `twin ${waiting.id}`, text: `${waiting.name} waits at twin stones`,
      place: { x: waiting.x + side * ASIDE, y: waiting.y, name: placeOf(waiting.name) } };
  }

  /** Return the step, for the first time, to the nearest twin stones that are in sight.
   * @param {State} state @returns {import('../next.js').Step | null} */
  firstStep(state) {
    const { here, did } = state, away = (one) => Math.hypot(one.x - here.x, one.y - here.y);
    // Where clockwork helps who is alone, and not where nobody has come for a while.
    const [twin] = did.has('twin') || this.stones?.on ? [] : twinsOf(state)
      .filter(({ x, y, thing }) => Math.hypot(x, y) < HELPED && !this.vain.has(thing.id)).sort((a, b) => away(a) - away(b));
    return twin === undefined || away(twin) > IN_SIGHT ? null
      : { key: `twin ${twin.thing.id}`, text: 'Step onto a twin stone', place: { x: twin.x - ASIDE, y: twin.y, name: 'twin stones' } };
  }

  /** Return in a sentence what is missing where this page's player is; null if nothing is, or it is at no stones.
   * @param {State} state @returns {string | null} */
  missing({ ownId, now }) {
    if (this.stones === null) return null;
    const { x, y, on, other, clockwork } = this.stones;
    if (on === 0) {
      return other === null ? 'Step onto a stone: the gem opens when somebody stands on the other one, too.'
        : 'Step onto the free stone: somebody is waiting for you.';
    }
    if (this.alone) return 'You are on both stones: it takes another person.';
    if (other !== null) return now - other < SLOW ? null : 'Stay: they open as soon as the server reaches its store.';
    if (clockwork) return 'Stay: clockwork helps you if no other person is here.';
    const own = this.all.get(ownId ?? 0);
    return own?.x === x && own.y === y ? `Stay: everybody within ${NEAR} tiles knows that you are waiting. Near the plaza clockwork helps, too.`
      : 'It takes somebody on the other stone. Near the plaza clockwork helps, too.';
  }
}

/** Return what the twin stones are called at which somebody of this name waits. */
export function placeOf(name) {
  return `${name} at twin stones`;
}

/** Return all twin stones that lie there.
 * @param {State} state */
export function twinsOf({ things }) {
  return [...things.values()].filter(({ thing, goneAt }) => thing.type === TWIN && goneAt === null);
}

/** Return which stone of a gem a place is on: -1 for the left one, 1 for the right one, 0 for none.
 * @param {{ x: number, y: number }} gem @param {{ x: number, y: number }} place */
export function sideOf({ x, y }, place) {
  return [-1, 1].find((side) => Math.hypot(place.x - x - side * ASIDE, place.y - y) <= ON) ?? 0;
}

/** Return who stands on the stones of a gem: [left, right], each 0 (nobody), 1 (clockwork) or 2 (a person).
 * @param {State} state @param {{ x: number, y: number }} gem @returns {[number, number]} */
export function standing({ walkers }, gem) {
  /** @type {[number, number]} */
  const on = [0, 0];
  for (const walker of walkers) {
    const { id, x, y, alpha } = walker;
    if (alpha === 0 || isDeer(walker) || Math.abs(y - gem.y) > ON || Math.abs(x - gem.x) > ASIDE + ON) continue;
    const side = sideOf(gem, { x, y }), at = side < 0 ? 0 : 1;
    if (side !== 0) on[at] = Math.max(on[at], isComputer(id) ? 1 : 2);
  }
  return on;
}
