import assert from 'node:assert/strict';
import { test } from 'node:test';

import { addNotes } from '../../../page/lines.js';
import { almanacOf, linesOf, sinceSeen, sumsOf } from '../../page/book.js';
import { dayOf } from '../../page/panels.js';
import { storageOf } from '../../../../../tests/js/storage.js';
import { nothing } from '../../../tests/js/people.js';

const LANDMARKS = { of: (i, j) => (i === 3 && j === -2 ? { x: 500, y: -170, name: 'Kettle Oak' } : null) };
const NOON = new Date(2026, 4, 20, 12).getTime(), HOUR = 3_600_000;

/** What a page knows of these landmarks, and of the kinds of lines. */
function knowing(landmarks) {
  const state = nothing();
  addNotes(state);
  return Object.assign(state, { landmarks });
}

const STATE = knowing(LANDMARKS);
const ROWS = [
  ['stone', NOON, 'Ben', 2, 12, 0],
  ['unheard of', NOON - 1, 'Ben', 1, 2, 3],
  ['constructor', NOON - 1, '', 0, 0, 0],
  ['landmark', NOON - HOUR, '', 1, 3, -2],
  ['landmark', NOON - 2 * HOUR, '', 12, 9, 9],
  ['spark', NOON - 26 * HOUR, 'Mira', 0, 0, -7],
  ...[1, 2, 3, 4].map((n) => ['hand', NOON - 30 * HOUR, 'Ben', n, 3, -2]),
  ['cairn', NOON - 80 * HOUR, '', 0, 12, 0],
];

test('each line is a sentence, with the place that it is about', () => {
  const lines = linesOf(ROWS, STATE);
  assert.deepEqual(lines.map(({ text }) => text), [
    'Ben put a stone on your cairn 12 tiles east of the plaza: it has 2 now.',
    'You were the first to find Kettle Oak: your name is carved there.',
    'You were the 12th to find a landmark.',
    'You and Mira waved to each other 7 tiles north of the plaza.',
    'You brought the ember to Kettle Oak.',
    'You and Ben brought the ember to Kettle Oak.',
    'You, Ben and another brought the ember to Kettle Oak.',
    'You, Ben and 2 others brought the ember to Kettle Oak.',
    'You left a cairn 12 tiles east of the plaza.',
  ]);
  assert.deepEqual(lines[1].place, { x: 500.5, y: -169.5, name: 'Kettle Oak' });
  assert.deepEqual([lines[0].place.x, lines[3].place], [12.5, null]);
  assert.deepEqual(sumsOf(lines, STATE).map(([, n, word]) => `${n} ${word}`),
    ['2 landmarks', '1 cairn', '1 stone from others', '4 landmarks lit', '1 spark']);
});

test('what others did is told once, but not in a browser that has never read the book', () => {
  globalThis.localStorage = storageOf();
  const old = linesOf(ROWS, STATE);
  assert.deepEqual(sinceSeen(old, STATE), []);
  assert.deepEqual(sinceSeen(old, STATE), []);
  const more = linesOf([['landmark', NOON + 2, '', 1, 3, -2], ['stone', NOON + 1, 'Cid', 3, 12, 0], ...ROWS],
    STATE);
  assert.deepEqual(sinceSeen(more, STATE).map(({ text }) => text.slice(0, 3)), ['Cid']);
  assert.deepEqual(sinceSeen(more, STATE), []);
  assert.deepEqual(sinceSeen([], STATE), []);
  assert.deepEqual(sinceSeen(more, STATE), []);
});

test('a day has a name', () => {
  assert.deepEqual([0, 11, 13, 35, 37].map((hours) => dayOf(NOON - hours * HOUR, NOON)).slice(0, 4),
    ['Today', 'Today', 'Yesterday', 'Yesterday']);
  assert.match(dayOf(NOON - 37 * HOUR, NOON), /18/);
  assert.equal(dayOf(NOON + HOUR, NOON), 'Today');
});

test('each entry of the almanac is a sentence, with the place that it is about', () => {
  const day = 24 * HOUR, entries = [['farthest', 'Ben', 2, 3, -2, ''], ['loneliest', 'Cid', 212, -9, 0, 'alone'],
    ['oldest', 'Ann', 3.5 * day, 4, 4, 'hi'], ['oldest', 'Ann', 3, 4, 4, 'hi'], ['hands', '', 3, 3, -2, ''],
    ['unseen', '', 0, 3, -2, ''], ['toString', '', 0, 0, 0, '']];
  const lines = almanacOf(entries, LANDMARKS);
  assert.deepEqual(lines.map(({ text }) => text), [
    'Ben went farthest: to Kettle Oak, 528 tiles east of the plaza.',
    'Cid’s cairn is the loneliest: 212 tiles from the next one. “alone”',
    'Ann’s cairn is the oldest: it has stood for 3 days. “hi”',
    'Ann’s cairn is the oldest: it has stood since today. “hi”',
    '3 hands have brought the fire to Kettle Oak.',
    'Nobody has ever seen Kettle Oak, 528 tiles east of the plaza.',
  ]);
  assert.deepEqual(lines[1].place, { x: -8.5, y: 0.5, name: 'the loneliest cairn' });
});
