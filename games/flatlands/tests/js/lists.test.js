// What parts of the game add to: lists in an order, and events.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Events } from '../../page/events.js';
import { Grown } from '../../page/grown.js';
import { placesNear } from '../../page/near.js';
import { Ordered } from '../../page/ordered.js';
import { advanceScene } from '../../page/scene.js';
import { Terrain } from '../../../../static/terrain.js';
import { among } from './people.js';

test('a list is in the order of its numbers, and of what was added first', () => {
  /** @type {Ordered<string>} */
  const list = new Ordered();
  for (const [at, item] of [[20, 'c'], [10, 'a'], [20, 'd'], [15, 'b']]) list.add(Number(at), String(item));
  assert.deepEqual(list.all, ['a', 'b', 'c', 'd']);
  assert.equal(list.first((item) => (item > 'b' ? item : null)), 'c');
  assert.equal(list.first(() => null), null);
});

test('all who listen hear what happens, whatever they answer', () => {
  const events = new Events(), heard = [];
  events.on('find', (...what) => heard.push(['one', ...what]));
  events.on('find', (text) => text === 'Ada');
  events.on('find', (text) => heard.push(['three', text]));
  assert.equal(events.emit('find', 'Ada'), true);
  assert.equal(events.emitter('find')('Bob'), false);
  assert.equal(events.emit('home'), false);
  assert.deepEqual(heard, [['one', 'Ada'], ['three', 'Ada'], ['one', 'Bob'], ['three', 'Bob']]);
});

test('the scene takes the steps of parts in each frame, has their arrows, and the list of what is near their places', () => {
  const state = among([], 2 ** 40), steps = [];
  const well = { x: 90, y: 0, label: 'the well', id: null, look: 0 };
  state.steps.add(20, () => steps.push('later'));
  state.steps.add(10, ({ now, ghosts }) => steps.push(now, ghosts.length));
  state.pointers.add(10, () => [well, { ...well, x: 1 }]);
  state.places.add(10, () => [{ x: 90, y: 0, name: 'The well' }]);
  advanceScene(state, 30);
  assert.deepEqual(steps, [30, 0, 'later']);
  assert.deepEqual(state.arrows.map(({ label, x }) => [label, x]), [['the well', 90]], 'what is in view has none');
  assert.deepEqual(placesNear(state).slice(0, 2).map(({ name }) => name), ['The well', 'The plaza']);
});

test('steps know the landmarks of the ground as it is in this frame', () => {
  const state = among([], 2 ** 40), known = [];
  state.steps.add(10, ({ landmarks }) => known.push(landmarks.terrain));
  state.terrain = new Terrain(7);
  advanceScene(state, 30);
  assert.deepEqual(known, [state.terrain]);
});

test('a square that looks different is painted anew, and old changes are forgotten', () => {
  const grown = new Grown();
  grown.changeSquare('-1:2', 8);
  assert.deepEqual(grown.changes, [[-8, 16], [-4, 16], [-8, 20], [-4, 20]].map(([x, y]) => ({ x, y })));
  for (let i = 0; i < 5000; i++) grown.change(i, 0);
  assert.equal(grown.changes.length + grown.forgotten, 5004);
  assert.ok(grown.changes.length <= 4000);
});
