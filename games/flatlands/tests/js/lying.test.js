import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pickUp } from '../../page/things.js';
import * as P from '../../../../static/protocol.js';
import { nothing } from './people.js';
import { find, frame, placedThere, takeThings } from './things.js';

const gem = (id, version, x, y) => [0, id, version, x * 1024, y * 1024];
const cairn = (version, player, stones) =>
  [1, '0:0', version, 0, 0, player, 'Ada', 'a line', stones];

const there = (...things) => placedThere(nothing(), ...things);

test('things fade in where they lie, in tiles, and fade out when they are taken or no longer held', () => {
  const state = there(gem('a', 1, 3, 4)), [each] = state.things.values();
  assert.deepEqual([each.x, each.y, each.alpha, each.goneAt], [3, 4, 1, null]);
  takeThings(state, [gem('a', 1, 3, 4), gem('b', 1, 5, 5)], 1000);
  frame(state, 1150);
  const other = find(state, 'b');
  assert.equal(other.alpha, 0.5);
  frame(state, 2000);
  takeThings(state, [gem('b', 1, 5, 5)], 2000);
  frame(state, 2150);
  assert.deepEqual([each.taken, each.alpha], [true, 0.5]);
  frame(state, 3700);
  assert.equal(state.things.size, 1);
  // One whose square was let go of was not taken.
  state.replica.apply([P.HELD, 1, 0, 2, 0], 0);
  frame(state, 3701);
  assert.deepEqual([other.taken, other.goneAt], [false, 3701]);
});

test('what is sent again after a resync does not flicker', () => {
  const state = there(gem('a', 1, 3, 4));
  state.replica.apply([P.RESYNC], 0);
  frame(state, 1003);
  state.replica.apply([P.HELD, 0, 0, 1, 0], 0);
  takeThings(state, [gem('a', 1, 3, 4)], 1006);
  frame(state, 1009);
  const [each] = state.things.values();
  assert.deepEqual([each.taken, each.goneAt, each.alpha], [false, null, 1]);
});

test('a gem that lies elsewhere is another one, and a cairn that grows the same', () => {
  const state = there(gem('a', 1, 3, 4), cairn(1, 7, 3));
  takeThings(state, [gem('a', 3, 9, 9), cairn(2, 7, 4)], 1000);
  assert.deepEqual([...state.things.values()].map(({ thing, goneAt }) =>
    [thing.kind, thing.version, goneAt]), [[0, 1, 1000], [1, 2, null], [0, 3, null]]);
  assert.equal(find(state, '0:0').thing.values.stones, 4);
});

test('what players who are muted have left is not shown', () => {
  const state = there(cairnAt('a', 3, 'left'), gem('a', 1, 3, 4));
  state.muted.add(7);
  frame(state, 1400);
  assert.deepEqual([...state.things.values()].map(({ alpha }) => alpha), [0, 1]);
  state.muted.delete(7);
  frame(state, 1800);
  assert.deepEqual([...state.things.values()].map(({ alpha }) => alpha), [1, 1]);
});

test('a gem that was found is no longer drawn, though it is still known', () => {
  const state = there(gem('a', 1, 3, 4), gem('b', 1, 12, 4));
  state.here = { x: 3, y: 4 };
  assert.equal(pickUp(state, 'a', 2), null);
  assert.equal(pickUp(state, 'a', 1)?.x, 3);
  takeThings(state, [gem('a', 1, 3, 4)], 1200);
  assert.equal(find(state, 'a').alpha, 0);
  takeThings(state, [], 1300);
  frame(state, 3000);
  assert.equal(state.things.size, 0);
});

const cairnAt = (id, x, text, player = 7) =>
  [1, id, 1, x * 1024, 4096, player, 'Ada', text, 1];

test('a cairn in the place of one that crumbled is drawn where it stands', () => {
  const state = there(cairnAt('a', 3, 'old'));
  takeThings(state, [[...cairnAt('a', 9, 'new'), 'more']], 1000);
  assert.deepEqual([...state.things.values()].map(({ x, thing, goneAt }) => [x, thing.values.text, goneAt]),
    [[3, 'old', 1000], [9, 'new', null]]);
});
