import assert from 'node:assert/strict';
import { test } from 'node:test';

import { advanceScene, showSaying } from '../../page/scene.js';
import { UNIT } from '../../../../static/track.js';
import { among } from './people.js';

const OWN = 2 ** 40;

test('arrows point to the people out of sight, friends first, and of clockwork only to the one that is followed', () => {
  const state = among([[7, 60], [40_000, 50], [2 ** 50, 55], [2 ** 50 + 1, 59], [40_001, 51], [8, 20], [9, 5]], OWN);
  const pointed = () => state.arrows.map(({ id }) => id);
  assert.deepEqual(pointed(), [2 ** 50, 2 ** 50 + 1]);
  assert.equal(state.walkers.length, 8);
  state.friends.add(2 ** 50 + 1);
  state.followed = 7;
  advanceScene(state, 20);
  assert.deepEqual(pointed(), [2 ** 50 + 1, 2 ** 50, 7]);
});

test('a walker whom a sketch finds elsewhere goes there smoothly', () => {
  const state = among([[7, 2]], OWN);
  const player = state.replica.players.get(7), [, walker] = state.walkers;
  assert.equal(walker.x, 2);
  // It has walked on to the east meanwhile, three tiles to the south of where it was thought to be.
  Object.assign(player, { rough: true, sketches: 1 });
  Object.assign(player.track, { x: 3 * UNIT, y: 3 * UNIT, dx: 5 * 5 * UNIT, start: 1010, duration: 5000 });
  const drawn = [[2, 0]];
  for (let at = 20; at <= 2020; at += 20) {
    advanceScene(state, at);
    drawn.push([walker.x, walker.y]);
  }
  for (let i = 1; i < drawn.length; i++) {
    const [x, y] = drawn[i], [fromX, fromY] = drawn[i - 1];
    assert.ok(Math.hypot(x - fromX, y - fromY) < 0.4, `a jump from ${fromX}, ${fromY} to ${x}, ${y}`);
  }
  const [x, y] = drawn[drawn.length - 1], passed = 2020 - state.delay - 10;
  assert.ok(Math.abs(x - 3 - passed / 200) < 0.03 && Math.abs(y - 3) < 0.03, `${x}, ${y}`);
});

test('a walk is drawn back from where a sketch has found it, but not for long', () => {
  const state = among([[7, 2]], OWN);
  const player = state.replica.players.get(7), [, walker] = state.walkers;
  Object.assign(player, { rough: true, sketches: 0 });
  const seen = (start) => {
    Object.assign(player.track, { x: 2 * UNIT, dx: 10 * UNIT, start, duration: 2000 });
    advanceScene(state, 10);
    return walker.x;
  };
  const time = 1010 - state.delay;
  assert.ok(Math.abs(seen(time + 200) - 1) < 1e-6);
  assert.ok(Math.abs(seen(time + 5000) - 0) < 1e-6);
});

test('bubbles are shown of all people, and of the two clockwork walkers who matter most', () => {
  const state = among([[1, 2], [2, 4], [3, 6], [4, 8], [2 ** 50, 9], [2 ** 50 + 1, 10]], OWN);
  state.replica.players.get(OWN).name = 'Ada';
  const shown = () => state.walkers.filter(({ saying }) => saying?.shown).map(({ id }) => id);
  for (const id of [4, 3, 2, 2 ** 50, 2 ** 50 + 1]) showSaying(state, id, 'I like it here.', 10);
  advanceScene(state, 20);
  assert.deepEqual(shown(), [2, 3, 2 ** 50, 2 ** 50 + 1]);
  // A bubble that is shown stays, also if a nearer one speaks, but not if the own player is called.
  assert.equal(showSaying(state, 1, 'Tick, tock.', 30), false);
  advanceScene(state, 40);
  assert.deepEqual(shown(), [2, 3, 2 ** 50, 2 ** 50 + 1]);
  assert.equal(showSaying(state, 4, 'Come, Ada!', 50), true);
  assert.equal(showSaying(state, 2 ** 50, 'Anybody here?', 50), true);
  advanceScene(state, 60);
  assert.deepEqual(shown(), [2, 4, 2 ** 50, 2 ** 50 + 1]);
});
