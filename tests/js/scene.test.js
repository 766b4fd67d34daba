import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isDeer } from '../../static/faces.js';
import { advanceScene } from '../../static/scene.js';
import { State } from '../../static/state.js';
import { stand, UNIT } from '../../static/track.js';

/** A state with the own player at the plaza, and others so many tiles to the east, by their ids. */
function among(others) {
  const state = new State();
  state.ownId = 2 ** 40;
  state.clock.sample(0, 1000, 0);
  state.walk.begin(0, 0, 1000);
  for (const [id, away] of [[state.ownId, 0], ...others]) {
    state.replica.players.set(id, { id, seq: 1, ack: 0, name: `N${id}`, dimmed: false,
      track: stand(away * UNIT, 0, 0), square: [0, 0], transitUntil: null });
  }
  state.replica.nameChanges++;
  advanceScene(state, 10);
  return state;
}

test('deer have the upper half of the ids of computer players', () => {
  assert.deepEqual([0, 32767, 32768, 65535, 65536, 2 ** 52].map(isDeer),
    [false, false, true, true, false, false]);
});

test('arrows point to the nearest players out of sight, and never to a deer', () => {
  const state = among([[7, 60], [40_000, 50], [2 ** 50, 55], [40_001, 51], [8, 20], [9, 5]]);
  assert.deepEqual(state.arrows.map(({ id }) => id), [2 ** 50, 7]);
  assert.equal(state.walkers.length, 7);
});
