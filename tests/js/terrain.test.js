import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Terrain } from '../../static/terrain.js';

test('ground in use stays cached, and the least recently used is forgotten', () => {
  const land = new Terrain(2013), plaza = land.chunk(0, 0), left = land.chunk(-1, 0);
  for (let far = 1; far < 9000; far++) {
    land.chunk(100 + far, 7);
    assert.equal(land.chunk(0, 0), plaza);
    assert.ok(land.chunks.size + land.older.size <= 4096);
  }
  assert.notEqual(land.chunk(-1, 0), left);
  assert.deepEqual(land.chunk(-1, 0), left);
});
