import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cairns, NOTES } from '../../page/cairns.js';
import { nothing } from '../../../tests/js/people.js';
import { find, frame, placedThere, takeThings } from '../../../tests/js/things.js';

const cairnAt = (id, x, text, player = 7) =>
  [1, id, 1, x * 1024, 4096, player, 'Ada', text, 1];

const there = (...things) => placedThere(Object.assign(nothing(), { cairns: new Cairns() }), ...things);

/** What is read from a place: the text of the cairn, and whether a stone could be added. */
function readFrom(state, x, y) {
  state.here = { x, y };
  state.cairns.advance(state);
  return [state.cairns.read?.thing.values.text ?? null, state.cairns.near];
}

test('the nearest cairn is read within two and a half tiles, until it is three away', () => {
  const state = there(cairnAt('a', 3, 'left'), cairnAt('b', 8, 'right'));
  assert.deepEqual(readFrom(state, 0.4, 4), [null, false]);
  assert.deepEqual(readFrom(state, 0.5, 4), ['left', true]);
  assert.deepEqual(readFrom(state, 0.1, 4), ['left', false]);
  assert.deepEqual(readFrom(state, 5.6, 4), ['right', true]);
  assert.deepEqual(readFrom(state, 11.1, 4), [null, false]);
});

test('a cairn that was clicked is read from anywhere, but no stone can be added to it', () => {
  const state = there(cairnAt('a', 3, 'left'), cairnAt('b', 8, 'right'));
  state.cairns.meant = find(state, 'b');
  assert.deepEqual(readFrom(state, 2, 4), ['right', false]);
  takeThings(state, [cairnAt('a', 3, 'left')], 1000);
  assert.deepEqual(readFrom(state, 2, 4), ['left', true]);
  assert.equal(state.cairns.meant, null);
});

test('a cairn whose line was closed is read again only when the player comes back', () => {
  const state = there(cairnAt('a', 3, 'left'));
  readFrom(state, 2, 4);
  assert.ok(state.cairns.close());
  assert.deepEqual(readFrom(state, 2, 4), [null, false]);
  assert.deepEqual(readFrom(state, 6.1, 4), [null, false]);
  assert.deepEqual(readFrom(state, 2, 4), ['left', true]);
});

test('nobody reads the cairns of players who are muted', () => {
  const state = there(cairnAt('a', 3, 'left'));
  assert.deepEqual(readFrom(state, 2, 4), ['left', true]);
  state.muted.add(7);
  frame(state, 1400);
  assert.deepEqual(readFrom(state, 2, 4), [null, false]);
});

test('the book shows cairns, and of stones from others', () => {
  const [[left, place], [stone]] = NOTES.map(({ kind, say }) => say([kind, 1, 'Ben', 2, 12, 0], /** @type {any} */ (null)));
  assert.equal(left, 'You left a cairn 12 tiles east of the plaza.');
  assert.deepEqual(place, { x: 12.5, y: 0.5, name: 'your cairn' });
  assert.equal(stone, 'Ben put a stone on your cairn 12 tiles east of the plaza: it has 2 now.');
});
