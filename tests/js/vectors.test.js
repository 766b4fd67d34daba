// The golden vectors, which the browser's modules share with Python's.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import * as checks from './checks.js';

const load = (name) => JSON.parse(
  readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'));

for (const [name, check] of Object.entries(checks)) {
  test(`the vectors of ${name}.json`, () => {
    const vectors = load(name);
    assert.ok((vectors.good ?? vectors).length > 20);
    assert.deepEqual(check(vectors), []);
  });
}
