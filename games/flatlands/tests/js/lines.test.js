import assert from 'node:assert/strict';
import { test } from 'node:test';

import { addNotes } from '../../page/lines.js';
import { nothing } from './people.js';

const LANDMARKS = { of: (i, j) => (i === 3 && j === -2 ? { x: 500, y: -170, name: 'Kettle Oak' } : null) };

test('what the book says of landmarks and of sparks', () => {
  const state = nothing();
  addNotes(state);
  const say = (...row) => state.notes.all.find(({ kind }) => kind === row[0]).say([row[0], 1, ...row.slice(1)], LANDMARKS);
  const [found, place] = say('landmark', '', 1, 3, -2);
  assert.equal(found, 'You were the first to find Kettle Oak: your name is carved there.');
  assert.deepEqual(place, { x: 500.5, y: -169.5, name: 'Kettle Oak' });
  assert.equal(say('landmark', '', 12, 9, 9)[0], 'You were the 12th to find a landmark.');
  assert.deepEqual(say('spark', 'Mira', 0, 0, -7), ['You and Mira waved to each other 7 tiles north of the plaza.', null]);
});
