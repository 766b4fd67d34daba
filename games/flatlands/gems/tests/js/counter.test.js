import assert from 'node:assert/strict';
import { test } from 'node:test';

import { countOf } from '../../page/counter.js';

test('the counter shows how many gems are left to plant, once that is known', () => {
  assert.deepEqual([countOf(3, 2), countOf(3, null)], ['3 · 2 to plant', '3']);
});
