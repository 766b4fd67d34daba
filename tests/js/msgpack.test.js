// Bytes, which the server sends and the page only reads. The golden vectors have everything else.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decode } from '../../static/msgpack.js';

const bufferOf = (...bytes) => Uint8Array.from(bytes).buffer;

test('bytes are read with a length of one, two and four bytes, between other items', () => {
  for (const length of [[0xc4, 3], [0xc5, 0, 3], [0xc6, 0, 0, 0, 3]]) {
    const [before, bytes, after] = decode(bufferOf(0x93, 7, ...length, 1, 0, 255, 8));
    assert.ok(bytes instanceof Uint8Array);
    assert.deepEqual([before, [...bytes], after], [7, [1, 0, 255], 8]);
  }
});

test('bytes are read in place and not copied', () => {
  const buffer = bufferOf(0x92, 0xc4, 2, 5, 6, 0xc4, 0);
  const [bytes, none] = decode(buffer);
  assert.equal(bytes.buffer, buffer);
  assert.deepEqual([bytes.byteOffset, bytes.byteLength, none.byteLength], [3, 2, 0]);
});

test('bytes that are cut short are an error', () => {
  for (const bytes of [[0xc4], [0xc4, 2, 1], [0xc5, 0], [0xc5, 1, 0, 1],
    [0xc6, 0, 0, 0], [0xc6, 255, 255, 255, 255, 1]]) {
    assert.throws(() => decode(bufferOf(...bytes)), RangeError);
  }
});
