import assert from 'node:assert/strict';
import { test } from 'node:test';

import { almanacOf, keepStanding, linesOf, reminder, sinceSeen, standing, sumsOf } from '../../page/book.js';
import { dayOf } from '../../page/panels.js';
import { storageOf } from '../../../../../tests/js/storage.js';
import { nothing } from '../../../tests/js/people.js';

const LANDMARKS = { of: (i, j) => (i === 3 && j === -2 ? { x: 500, y: -170, name: 'Kettle Oak' } : null) };
const NOON = new Date(2026, 4, 20, 12).getTime(), HOUR = 3_600_000;

/** Two kinds of lines, as parts of the game add them. @type {any[]} */
const NOTES = [
  { kind: 'dug', sign: 'flag', sum: ['hole', 'holes'], say: ([, , , n, x, y], { of }) =>
    [`You dug ${n} deep at ${of(x, y)?.name}.`, { x, y, name: 'your hole' }] },
  { kind: 'filled', sign: 'flag', sum: ['hole filled', 'holes filled'], others: true, say: ([, , who]) => [`${who} filled it.`, null] },
];
const STATE = Object.assign(nothing(), { landmarks: LANDMARKS });
for (const note of NOTES) STATE.notes.add(0, note);

const ROWS = [
  ['filled', NOON, 'Ben', 2, 12, 0],
  ['unheard of', NOON - 1, 'Ben', 1, 2, 3],
  ['constructor', NOON - 1, '', 0, 0, 0],
  ['dug', NOON - HOUR, '', 5, 3, -2],
  ['dug', NOON - 2 * HOUR, '', 12, 3, -2],
];

test('each line is a sentence, with the place that it is about', () => {
  const lines = linesOf(ROWS, STATE);
  assert.deepEqual(lines.map(({ text }) => text),
    ['Ben filled it.', 'You dug 5 deep at Kettle Oak.', 'You dug 12 deep at Kettle Oak.']);
  assert.deepEqual(lines.map(({ place }) => place?.x ?? null), [null, 3, 3]);
  assert.deepEqual(sumsOf(lines, STATE).map(([, n, word]) => `${n} ${word}`), ['2 holes', '1 hole filled']);
});

test('what others did is shown once, but not in a browser that has never read the book', () => {
  globalThis.localStorage = storageOf();
  const old = linesOf(ROWS, STATE);
  assert.deepEqual(sinceSeen(old, STATE), []);
  assert.deepEqual(sinceSeen(old, STATE), []);
  const more = linesOf([['dug', NOON + 2, '', 1, 3, -2], ['filled', NOON + 1, 'Cid', 3, 12, 0], ...ROWS],
    STATE);
  assert.deepEqual(sinceSeen(more, STATE).map(({ text }) => text.slice(0, 3)), ['Cid']);
  assert.deepEqual(sinceSeen(more, STATE), []);
  assert.deepEqual(sinceSeen([], STATE), []);
  assert.deepEqual(sinceSeen(more, STATE), []);
});

test('what stands longest is kept for the next visit, until it falls', () => {
  const state = /** @type {any} */ ({ notes: { all: [{ kind: 'cairn', stands: { what: 'Your cairn', ms: 7 * 24 * HOUR } }, { kind: 'plant' }] } });
  const rows = /** @type {any} */ ([['plant', NOON, '', 1, 0, 0], ['cairn', NOON - 24 * HOUR, '', 0, 0, 0], ['cairn', NOON - 30 * HOUR, '', 0, 0, 0]]);
  keepStanding(standing(rows, state, NOON));
  const weekday = new Date(NOON + 6 * 24 * HOUR).toLocaleDateString('en-GB', { weekday: 'long' });
  assert.equal(reminder(NOON), `Your cairn stands until ${weekday}.`);
  assert.equal(reminder(NOON + 5 * 24 * HOUR), 'Your cairn stands until tomorrow.');
  assert.equal(reminder(NOON + 6 * 24 * HOUR - 1), 'Your cairn stands until today.');
  assert.equal(reminder(NOON + 6 * 24 * HOUR), null);
  keepStanding(standing(rows, state, NOON + 7 * 24 * HOUR));
  assert.equal(reminder(NOON), null);
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
    ['empty', '', 0, 0, 0, ''], ['toString', '', 0, 0, 0, '']];
  const lines = almanacOf(entries, LANDMARKS);
  assert.deepEqual(lines.map(({ text }) => text), [
    'Ben went farthest: to Kettle Oak, 528 tiles east of the plaza.',
    'Cid’s cairn is the loneliest: 212 tiles from the next one. “alone”',
    'Ann’s cairn is the oldest: it has stood for 3 days. “hi”',
    'Ann’s cairn is the oldest: it has stood since today. “hi”',
    '3 hands have brought the fire to Kettle Oak.',
    'Nothing to tell yet: nobody has found or built anything.',
  ]);
  assert.deepEqual(lines[1].place, { x: -8.5, y: 0.5, name: 'the loneliest cairn' });
});
