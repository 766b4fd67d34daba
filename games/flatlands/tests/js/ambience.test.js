import assert from 'node:assert/strict';
import { test } from 'node:test';

import { levelsAt } from '../../page/ambience.js';
import { skyAt, DAY } from '../../page/day.js';
import { GRASS, PLATEAU, WATER } from '../../page/terrain.js';

/** What is heard at (x, y) where the kinds of the ground are those that `kind` returns. */
const heard = (x, y, kind = () => GRASS, part = 0.3, marks = []) => levelsAt(/** @type {any} */ ({ here: { x, y }, marks,
  burns: ({ name }) => name === 'burns', terrain: { kind }, sky: skyAt(part * DAY) }));

test('a fire is the louder the nearer, on the plaza and at landmarks that burn', () => {
  const [near, far, silent] = [-3.5, 3, 20].map((x) => heard(x, 4.5).fire);
  assert.ok(near > far && far > 0 && silent === 0);
  const mark = { x: 100, y: 50, foot: 100 };
  assert.equal(heard(100, 52, undefined, undefined, [{ ...mark, name: 'dark' }]).fire, 0);
  assert.ok(heard(100, 52, undefined, undefined, [{ ...mark, name: 'burns' }]).fire > 0.3);
});

test('water is heard from a few tiles away, wind on heights, and crickets by night', () => {
  const shore = (x) => (x < 0 ? WATER : GRASS), [beside, near, far] = [1, 7, 40].map((x) => heard(x, 50, shore).water);
  assert.ok(beside > near && near > 0 && far === 0);
  assert.deepEqual([heard(50, 50, () => PLATEAU).wind, heard(50, 50).wind], [1, 0]);
  assert.deepEqual([heard(50, 50, undefined, 0.3).crickets, heard(50, 50, undefined, 0.8).crickets], [0, 1]);
});
