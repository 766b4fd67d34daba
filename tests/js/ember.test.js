// Who carries the ember, as a page knows it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Ember, lineOf, timeOf } from '../../games/flatlands/page/ember.js';

const ADA = 70_001, BOB = 70_002;
const NAMES = { 1: 'Fern', [ADA]: 'Ada', [BOB]: 'Bob' };
const nameOf = (id) => NAMES[id] ?? '';

test('the ember is shown for some seconds after it was told of', () => {
  const ember = new Ember();
  assert.equal(ember.carrier(0), null);
  assert.equal(ember.take([7, 3, 0, 0, 0], 1000), true);
  assert.equal(ember.carrier(4400), 7);
  assert.equal(ember.carrier(4600), null);
  assert.equal(ember.take([7, 3, 1000, 0, 0], 2000), false);
  assert.equal(ember.carrier(5400), 7);
  ember.clear();
  assert.equal(ember.carrier(5400), null);
});

test('what was passed on later counts, unless it was not told of for long', () => {
  const ember = new Ember();
  ember.take([7, 3, 0, 0, 0], 1000);
  assert.equal(ember.take([8, 4, 0, 7, 900], 1100), true);
  assert.equal(ember.take([7, 3, 200, 0, 0], 1200), false);
  assert.equal(ember.carrier(1200), 8);
  // A world whose store was lost begins again.
  assert.equal(ember.take([1, 1, 0, 0, 0], 9000), true);
  assert.equal(ember.carrier(9000), 1);
});

test('who had it for long, and what concerns the own player, is told', () => {
  assert.equal(lineOf([BOB, 4, 0, ADA, 41_200], 9, nameOf), 'Ada kept the ember 41 s. Now Bob has it.');
  assert.equal(lineOf([BOB, 4, 0, ADA, 2000], 9, nameOf), null);
  assert.equal(lineOf([BOB, 4, 0, 1, 41_200], 9, nameOf), null, 'clockwork had it');
  assert.equal(lineOf([BOB, 4, 0, ADA, 0], ADA, nameOf), 'You had the ember. Now Bob has it.');
  assert.equal(lineOf([BOB, 4, 0, ADA, 2000], ADA, nameOf), 'You kept the ember 2 s. Now Bob has it.');
  assert.equal(lineOf([ADA, 4, 0, 1, 2000], ADA, nameOf), 'Fern kept the ember 2 s. Now you have it.');
  assert.equal(lineOf([ADA, 4, 5000, 1, 90_000], BOB, nameOf), null, 'it is no news');
  assert.equal(lineOf([ADA, 4, 0, 0, 0], ADA, nameOf), null, 'nobody had it');
  assert.equal(lineOf([ADA, 4, 0, 55, 90_000], BOB, nameOf), null, 'nobody knows who had it');
});

test('times are in seconds, and from a minute on in minutes too', () => {
  assert.deepEqual([0, 41_200, 59_400, 59_600, 123_000].map(timeOf),
    ['0 s', '41 s', '59 s', '1 min 0 s', '2 min 3 s']);
});
