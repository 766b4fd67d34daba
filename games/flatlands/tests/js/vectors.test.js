// The golden vectors of Flatlands, which its page's modules share with Python's.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { NOUNS } from '../../page/landmarks.js';
import { PROPS } from '../../page/view/props.js';
import * as checks from './checks.js';

const load = (name) => JSON.parse(
  readFileSync(new URL(`../../../../tests/vectors/${name}.json`, import.meta.url), 'utf8'));

for (const [name, check] of Object.entries(checks)) {
  test(`the vectors of ${name}.json`, () => {
    const vectors = load(name);
    assert.ok((vectors.good ?? vectors).length > 20);
    assert.deepEqual(check(vectors), []);
  });
}

test('every thing that is not a landmark stands somewhere', () => {
  const seen = new Set(load('standing').flatMap(({ standing }) => standing.map(([, , name]) => name)));
  const names = PROPS.map(({ name }) => name).filter((name) => !(name.replace(/\d$/, '') in NOUNS));
  assert.deepEqual(names.filter((name) => !seen.has(name)), []);
});
