import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cells } from '../../static/cells.js';
import * as P from '../../static/protocol.js';

const SIDE = 4;

function cellsOf(...messages) {
  const cells = new Cells();
  for (const message of messages) cells.apply(message, SIDE);
  return cells;
}

test('changes are written over what is known of a square\'s layer, and a whole layer replaces it', () => {
  const whole = Uint8Array.from({ length: SIDE * SIDE }, (_, i) => i);
  const cells = cellsOf([P.CELLS, -1, 2, 0, true, whole], [P.CELLS, -1, 2, 0, false, Uint8Array.of(1, 0, 99, 15, 0, 7)],
    [P.CELLS, -1, 2, 1, false, Uint8Array.of(0, 0, 5)]);
  assert.deepEqual([...cells.squares.get('0:-1:2')], [0, 99, ...whole.slice(2, 15), 7]);
  assert.deepEqual([...cells.squares.get('1:-1:2')], [5, ...new Array(15).fill(0)]);
  assert.equal(whole[1], 1, 'the message is not written to');
});

test('the number of a tile has two bytes', () => {
  const cells = new Cells();
  cells.apply([P.CELLS, 0, 0, 0, false, Uint8Array.of(255, 15, 3)], 64);
  assert.equal(cells.squares.get('0:0:0')[4095], 3);
});

test('a tile is a wall from the value that the welcome names for its layer', () => {
  const cells = cellsOf([P.CELLS, -1, 2, 1, false, Uint8Array.of(6, 0, 128, 7, 0, 127)],
    [P.CELLS, -1, 2, 0, false, Uint8Array.of(0, 0, 255)]);
  assert.equal(cells.blocked(-2, 9), false, 'no layer has walls');
  cells.learn([['thing', 1, 'Apple', []], ['cells', 1, 'walls', []], ['solid', 1, 128, []]]);
  assert.deepEqual([[-2, 9], [-1, 9], [-4, 8], [5, 5]].map(([x, y]) => cells.blocked(x, y)), [true, false, false, false]);
});

test('what is no longer held is forgotten, and everything is after a resync', () => {
  const some = Uint8Array.of(0, 0, 1);
  const cells = cellsOf([P.CELLS, 0, 0, 0, false, some], [P.CELLS, 5, 0, 0, false, some], [P.HELD, -1, -1, 1, 1]);
  assert.deepEqual([...cells.squares.keys()], ['0:0:0']);
  cells.apply([P.RESYNC], SIDE);
  assert.equal(cells.squares.size, 0);
});
