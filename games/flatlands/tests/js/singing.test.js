import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Singing, toneOf } from '../../page/singing.js';

/** A state at a time, in ms, whose squares were delivered then, with walkers of a kind at these places. */
const stateAt = (at, places, kind = {}) => /** @type {any} */ ({
  now: at, clock: { now: () => at }, here: { x: 0, y: 0 },
  replica: { side: 4, squares: new Map(places.map(([x, y]) =>
    [`${Math.floor(x / 4)}:${Math.floor(y / 4)}`, { messages: [], last: at }])) },
  walkers: places.map(([x, y]) => ({ id: 2 ** 50, own: false, muted: false, walking: true, x, y, ...kind })),
});

function heard(places, kind) {
  const singing = new Singing();
  assert.deepEqual(singing.listen(stateAt(1000, places, kind)), []);
  return singing.listen(stateAt(1100, places, kind));
}

test('all tones are of one pentatonic scale, and neighbours are a step apart', () => {
  const tones = Array.from({ length: 11 }, (_, i) => toneOf(i, 0));
  assert.deepEqual(tones.map((tone) => Math.round(12 * Math.log2(tone / 196))), [0, 2, 4, 7, 9, 12, 14, 16, 19, 21, 24]);
  for (let col = -30; col < 30; col++) {
    const at = tones.indexOf(toneOf(col, 7));
    for (const next of [toneOf(col + 1, 7), toneOf(col, 8), toneOf(col, 6)]) assert.equal(Math.abs(tones.indexOf(next) - at), 1);
  }
});

test('a player who walks alone is one tone, quieter from afar, and a crowd is three that are bounded together', () => {
  assert.deepEqual(heard([[0, 0]]), [[196, 1]]);
  assert.deepEqual(heard([[12, 0]]).map(([, loud]) => loud), [0.5]);
  const crowd = heard(Array.from({ length: 30 }, (_, i) => [i % 6 * 3, Math.floor(i / 6) * 3]));
  assert.equal(crowd.length, 3);
  assert.ok(crowd.reduce((sum, [, loud]) => sum + loud, 0) <= Math.sqrt(3));
});

test('a player itself, and players who stand, are muted or far, are silent, and a delivery sounds once', () => {
  for (const kind of [{ own: true }, { walking: false }, { muted: true }]) assert.deepEqual(heard([[0, 0]], kind), []);
  assert.deepEqual(heard([[24, 0]]), []);
  const singing = new Singing(), state = stateAt(1100, [[0, 0]]);
  singing.listen(stateAt(1000, []));
  assert.equal(singing.listen(state).length, 1);
  assert.deepEqual(singing.listen({ ...state, now: 1150 }), []);
  assert.deepEqual(singing.listen({ ...state, now: 1300, clock: { now: () => 1300 } }).length, 0);
});
