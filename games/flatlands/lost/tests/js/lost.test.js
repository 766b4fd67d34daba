import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LostThings, NAMES, NOTE } from '../../page/lost.js';

const DAY = 86_400_000, NOW = 20_000 * DAY + 5000;

/** @type {(player?: number, name?: string, at?: number, day?: number) => import('../../page/lost.js').Row} */
const row = (player = 0, name = '', at = 0, day = 20_000) => [day, 1, 171, -93, player, name, at];

function lostWith(...rows) {
  const lost = new LostThings();
  lost.rows = rows;
  return lost;
}

const stateAt = (x, y) => /** @type {any} */ ({ here: { x, y }, clock: { now: () => NOW } });

test('the board has a hint until somebody has found it, and then a name', () => {
  assert.equal(lostWith().hint(NOW), null);
  assert.equal(lostWith(row()).hint(NOW), 'Lost: a balloon, some 179 tiles north-east of the plaza. Whoever finds it wears it for a day.');
  assert.equal(lostWith(row(7, 'Ada', NOW)).hint(NOW), 'Ada has found the lost balloon, and wears it.');
  assert.equal(lostWith(row(0, '', 0, 19_999)).hint(NOW), null, 'that of yesterday is no news');
});

test('the next step leads about there, and to it once it is in sight', () => {
  const lost = lostWith(row());
  assert.deepEqual(lost.step(stateAt(0, 0)),
    { key: 'lost 20000', text: 'Look for the lost balloon', place: { x: 160.5, y: -79.5, name: 'the lost balloon' } });
  assert.deepEqual(lost.step(stateAt(160, -80))?.place, { x: 171.5, y: -92.5, name: 'the lost balloon' });
  assert.equal(lostWith(row(7, 'Ada', NOW)).step(stateAt(0, 0)), null);
});

test('whoever has found one wears it for a day', () => {
  const lost = lostWith(row(7, 'Ada', NOW - 1000), row(8, 'Ben', NOW - DAY + 1, 19_999));
  assert.deepEqual([...lost.worn(NOW)], [[7, 1], [8, 1]]);
  assert.deepEqual([...lost.worn(NOW + 1)], [[7, 1]]);
});

test('the book has what was found', () => {
  assert.deepEqual(NOTE.say(['lost', 1, '', 2, 3, 0], /** @type {any} */ (null)),
    ['You found the lost paper crown, 3 tiles east of the plaza.', null]);
  assert.equal(NAMES.length, 3);
});
