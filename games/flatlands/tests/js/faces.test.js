import assert from 'node:assert/strict';
import { test } from 'node:test';

import { COLOURS, EARS, faceOf, HATS, lookOf, partsOf } from '../../page/faces.js';

test('every look is a different face, and can be read back', () => {
  const keys = new Set();
  for (let colour = 0; colour < COLOURS.length; colour++) {
    for (let hat = 0; hat < HATS.length; hat++) {
      for (let ears = 0; ears < EARS.length; ears++) {
        const look = lookOf(colour, hat, ears), face = faceOf(7, look);
        assert.ok(look > 0 && look < 65536);
        assert.deepEqual(partsOf(look), { colour, hat, ears });
        assert.deepEqual([face.colour, face.hat, face.ears],
          [COLOURS[colour].colour, HATS[hat], EARS[ears]]);
        keys.add(face.key);
      }
    }
  }
  assert.equal(keys.size, COLOURS.length * HATS.length * EARS.length);
});

test('a player who chose no look gets one from its id, and any number is some face', () => {
  assert.deepEqual(faceOf(2 ** 50, 0), faceOf(2 ** 50));
  for (const look of [1, 1023, 1024, 2047, 65535]) {
    const { hat, ears, colour } = faceOf(9, look);
    assert.ok(HATS.includes(hat) && EARS.includes(ears) && colour.startsWith('#'), String(look));
  }
});
