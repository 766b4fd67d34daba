import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Footsteps } from '../../page/footsteps.js';

function walker() {
  const kinds = [];
  const steps = new Footsteps((kind) => kinds.push(kind));
  const go = (x, arrived = false) => steps.follow({ here: { x, y: 0 }, walk: { arrived },
    terrain: { kind: (column) => column } });
  return { kinds, go };
}

test('a walk sounds once in three quarters of a tile, like the ground there', () => {
  const { kinds, go } = walker();
  for (let x = 0; x <= 3; x += 0.125) go(x);
  assert.deepEqual(kinds, [0, 1, 1, 2]);
});

test('a player who stands, or is put elsewhere, makes no sound', () => {
  const { kinds, go } = walker();
  go(0);
  for (let x = 0; x < 5; x += 0.1) go(x, true);
  go(50);
  go(50.1);
  assert.deepEqual(kinds, []);
});
