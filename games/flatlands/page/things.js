// What lies in the world, as it is drawn: things appear and fade.
// It never touches the page and sends nothing.

import { UNIT } from './track.js';

/** @typedef {import('./replica.js').Thing} Thing */
/** @typedef {import('./state.js').ShownThing} ShownThing */
/** @typedef {import('./state.js').State} State */

const FADE = 300;                         // ms to fade in or out
const GONE_SHOWN = 1600;                  // ms for which a thing that is gone is kept

/** Return the key of a thing. If it lies elsewhere it is another thing, such as the gem that comes after one
 * was picked up. While it stays where it lies it is the same, even if something about it changes.
 * @param {Thing} thing */
function keyOf({ type, id, x, y }) {
  return `${type} ${id} ${x} ${y}`;
}

/** Bring state.things up to the time state.now.
 * @param {State} state */
export function advanceThings(state) {
  const { replica, things, muted, now } = state;
  if (state.thingsOf !== replica.thingChanges) {
    state.thingsOf = replica.thingChanges;
    compare(state);
  }
  const step = (now - state.thingsAt) / FADE;
  state.thingsAt = now;
  for (const [key, each] of things) {
    const { player = null } = each.thing.values;
    if (each.goneAt !== null && now - each.goneAt > GONE_SHOWN) things.delete(key);
    else if (each.own) each.alpha = 0;
    else if (each.goneAt !== null || (player !== null && muted.has(player))) {
      each.alpha = Math.max(each.alpha - step, 0);
    } else each.alpha = Math.min(each.alpha + step, 1);
  }
}

/** Compare what is drawn with what is known.
 * @param {State} state */
function compare({ replica, things, now }) {
  const known = new Set();
  for (const inSquare of replica.things.values()) {
    for (const thing of inSquare) {
      const key = keyOf(thing), each = things.get(key);
      const current = { thing, x: thing.x / UNIT, y: thing.y / UNIT, goneAt: null, taken: false };
      known.add(key);
      if (each === undefined) things.set(key, { ...current, alpha: 0, own: false });
      else Object.assign(each, current);
    }
  }
  for (const [key, each] of things) {
    if (known.has(key) || each.goneAt !== null) continue;
    const [col, row] = each.thing.square;
    each.goneAt = now;
    // Not if its square was dropped: then it still lies there.
    each.taken = replica.things.has(`${col}:${row}`);
  }
}

/** Stop drawing a thing that the server gave this page's player. Returns it, or null if it
 * was forgotten in the meantime.
 * @param {State} state @returns {ShownThing | null} */
export function pickUp({ things }, id, version) {
  const given = [...things.values()].find(({ thing }) =>
    thing.id === id && thing.version === version);
  if (given === undefined) return null;
  given.own = true;
  return given;
}
