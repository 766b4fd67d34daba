import assert from 'node:assert/strict';
import { test } from 'node:test';

import { farFrom, foundIn, Guide, placesNear, standsBeside, walkersNear, wayTo } from '../../page/near.js';
import { stand } from '../../../../static/track.js';
import { nothing } from './people.js';

const ADA = 2 ** 31 + 1, COMPUTER = 7, DEER = 8;

function walker(id, x, y, name) {
  return { id, type: id === DEER ? 'Deer' : '', x, y, name, dx: 0, dy: 1, walking: false, alpha: 1, own: false, dimmed: false,
    muted: false, look: 0, saying: null, wavedAt: -Infinity, sparkAt: -Infinity, seenAt: 0,
    fadedAt: 0 };
}

function stateWith(...walkers) {
  const state = nothing();
  state.here = { x: 0, y: 0 };
  state.camera = { x: 0, y: 0 };
  state.walkers = walkers;
  return state;
}

test('a goal that is in view is listed once', () => {
  const state = stateWith(), mark = /** @type {any} */ ({ x: 9, y: 0, name: 'Gull Light' });
  state.marks = [mark];
  for (const label of ['Gull Light', 'The plaza', 'Elm Arch']) {
    state.aim = { x: 9.5, y: 0.5, reach: 2, label };
    assert.deepEqual(placesNear(state).map(({ name }) => name),
      ['The plaza', 'Gull Light', ...label === 'Elm Arch' ? [label] : []]);
  }
});

test('a way is described in tiles and one of eight directions', () => {
  assert.equal(wayTo(3, 0), '3 tiles east');
  assert.equal(wayTo(0, 1), '1 tile south');
  assert.equal(wayTo(-6, -6), '8 tiles north-west');
  assert.equal(wayTo(-2, 0), '2 tiles west');
  assert.equal(wayTo(0, -2.4), '2 tiles north');
  assert.equal(wayTo(0.2, 0.1), 'here');
});

test('people are listed before clockwork, nearest first, without deer and the player itself', () => {
  const own = { ...walker(2 ** 40, 0, 0, 'Me'), own: true };
  const state = stateWith(walker(ADA, 9, 0, 'Ada'), own, walker(DEER, 1, 0, ''),
    walker(COMPUTER, 0, 4, 'Wren'));
  assert.deepEqual(walkersNear(state).map(({ name, way }) => [name, way]),
    [['Ada', '9 tiles east'], ['Wren', '4 tiles south']]);
  // Also where more clockwork is near than is listed.
  for (let i = 0; i < 12; i++) state.walkers.push(walker(100 + i, 1, 1, `Clock ${i}`));
  assert.equal(walkersNear(state)[0].name, 'Ada');
});

test('a player who stands beside this page\'s player is met; one who walks or is far away is not', () => {
  const ada = walker(ADA, 2, -2, 'Ada'), state = stateWith(ada);
  assert.equal(standsBeside(state, ADA), false);        // it is not drawn
  state.drawn.set(ADA, ada);
  assert.equal(standsBeside(state, ADA), true);
  ada.walking = true;
  assert.equal(standsBeside(state, ADA), false);
  ada.walking = false;
  ada.y = -3;
  assert.equal(standsBeside(state, ADA), false);
});

test('people who come into view are announced once, and computer players never', () => {
  const guide = new Guide(), state = stateWith(walker(COMPUTER, 1, 0, 'Wren'));
  state.now = 10_000;
  assert.equal(guide.look(state), null);
  state.walkers.push(walker(ADA, 2, 0, 'Ada'));
  assert.equal(guide.look(state), null);        // it looks every two seconds
  state.now = 12_500;
  assert.equal(guide.look(state), 'Ada is 2 tiles east.');
  state.now = 15_000;
  assert.equal(guide.look(state), null);
  state.walkers.push(walker(ADA + 1, 3, 0, 'Bob'), walker(ADA + 2, 4, 0, 'Eve'));
  state.now = 17_500;
  assert.equal(guide.look(state), 'Bob and 1 other come into view.');
});

test('a walk that something bars is reported, and one that the player ends is not', () => {
  const guide = new Guide(), state = stateWith();
  const { walk } = state;
  walk.blocked = (col) => col >= 3;
  walk.track = stand(512, 512, 0);
  walk.follow({ heading: [1, 0] }, 1000);
  assert.equal(guide.look(state), null);
  walk.follow(null, 1200);
  assert.equal(guide.look(state), null);
  walk.follow({ heading: [1, 0] }, 1300);
  assert.equal(guide.look(state), null);
  walk.advance(9000);
  assert.equal(guide.look(state), 'Something is in the way.');
  assert.equal(guide.look(state), null);
  // Whoever pushes on hears it again.
  walk.follow({ heading: [1, 0] }, 9500);
  assert.equal(guide.look(state), 'Something is in the way.');
  // The end of a short walk one sees.
  for (const [from, at, sentence] of [[0.5, 10_000, null], [-15, 30_000, 'You are there.']]) {
    state.here = { x: from, y: 0.5 };
    walk.track = stand(from * 1024, 512, at);
    walk.follow({ goal: [1024, 512] }, at);
    guide.look(state);
    state.here.x = 1;
    walk.advance(at + 10_000);
    assert.equal(guide.look(state), sentence);
  }
});

test('names that contain a text are found: beginnings of words first, then the nearest', () => {
  const near = (x, name, id = null) => ({ x, y: 0, name, id, way: '', walker: null });
  const all = [near(9, 'Primrose'), near(50, 'Old Rosé'), near(70, 'rose, too', 7), near(20, 'ROSE'), near(1, 'Ada'),
    near(71, 'rose, too', 7)];
  const names = (text) => foundIn(text, all, { x: 0, y: 0 }).map(({ name }) => name);
  assert.deepEqual(names('Rose'), ['ROSE', 'Old Rosé', 'rose, too', 'Primrose']);
  assert.deepEqual(names(' ÓLD r'), ['Old Rosé']);
  assert.deepEqual(names('badger'), []);
  assert.equal(foundIn('strauss', [near(1, 'Strauß')], { x: 0, y: 0 }).length, 1);
  assert.equal(foundIn('oak', [near(1, 'Old Oak'), near(1, 'Ann’s cairn: the oak')], { x: 0, y: 0 }).length, 2);
  const many = Array.from({ length: 50 }, (_, i) => near(i, 'Rose'));
  assert.equal(foundIn('rose', many, { x: 0, y: 0 }).length, 20);
});

test('landmarks out of view, people in squares, and cairns are listed with the way there', () => {
  const state = stateWith();
  state.landmarks = /** @type {any} */ ({ within: () => [{ x: 99, y: 0, name: 'Gull Light' }] });
  const found = farFrom(state, 16, [[7, 'Rose', -2, 0]], [['Bob', 'mind the otter', 0, 9]],
    [['Gull Light', 99, 0], ['Heron Mill', 0, -9000]]);
  assert.deepEqual(found.map(({ name, way }) => [name, way]), [['Rose', '25 tiles west'],
    ['Gull Light', '100 tiles east'], ['Gull Light', '100 tiles east'], ['Heron Mill', '9000 tiles north'], ['Bob’s cairn: mind the otter', '10 tiles south']]);
  for (const [letters, count] of [['otter', 1], ['light', 1], ['heron', 1]]) {
    assert.equal(foundIn(letters, found, state.here).length, count);
  }
});
