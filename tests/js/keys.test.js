import assert from 'node:assert/strict';
import { test } from 'node:test';

import { composes, letterOf, walkingKeys } from '../../static/keys.js';

test('a key means the letter on it, or if that is none of a to z, the letter of its place', () => {
  for (const [key, code, letter] of [['m', 'Semicolon', 'm'], [',', 'KeyM', null], ['M', 'KeyM', 'm'],
    ['é', 'Digit2', null], ['ь', 'KeyM', 'm'], ['ı', 'KeyI', 'i'], ['Enter', 'Enter', null]]) {
    assert.equal(letterOf({ key, code }), letter, `${key} at ${code}`);
  }
});

test('the keys that walk are named as they are printed, if the browser says how', async () => {
  const french = new Map([['KeyW', 'z'], ['KeyA', 'q'], ['KeyS', 's'], ['KeyD', 'd']]);
  assert.deepEqual(await walkingKeys({ getLayoutMap: async () => french }), ['Z', 'Q', 'S', 'D']);
  assert.deepEqual(await walkingKeys(undefined), ['W', 'A', 'S', 'D']);
  const refuses = async () => {
    throw new DOMException('not here', 'SecurityError');
  };
  assert.deepEqual(await walkingKeys({ getLayoutMap: refuses }), ['W', 'A', 'S', 'D']);
});

test('a key that accepts what was composed belongs to the composition, in Safari too', () => {
  assert.ok(composes({ isComposing: true, keyCode: 13 }));
  assert.ok(composes({ isComposing: false, keyCode: 229 }));
  assert.ok(!composes({ isComposing: false, keyCode: 13 }));
});
