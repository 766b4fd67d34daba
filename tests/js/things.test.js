import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as P from '../../static/protocol.js';
import { Replica } from '../../static/replica.js';

const GEM = [0, '0:0:1', 3, 100, 200];
const CAIRN = [1, '1:0', 2, 5, 6, 77, 'Ada', 'the way to the lake', 4];

const KINDS = [['thing', 0, 'Gem', []], ['thing', 1, 'Cairn', ['player', 'name', 'text', 'stones']],
  ['thing', 99, 'Tree', ['height', 'kind']],
  ['event', 5, 'Cheer', ['loud']]];

function holding(c0, r0, c1, r1) {
  const replica = new Replica();
  replica.learn(KINDS);
  replica.apply([P.HELD, c0, r0, c1, r1], 0);
  return replica;
}

test('things are known by their square, at absolute positions', () => {
  const replica = holding(-1, 0, 1, 1);
  replica.apply([P.THINGS, -1, 1, [GEM]], 0);
  replica.apply([P.THINGS, 1, 0, [CAIRN]], 0);
  const [gem] = replica.things.get('-1:1'), [cairn] = replica.things.get('1:0');
  const span = 16 * 1024;
  assert.deepEqual(gem, { kind: 0, id: '0:0:1', version: 3, square: [-1, 1],
    x: 100 - span, y: 200 + span, type: 'Gem', values: {} });
  assert.deepEqual(cairn, { kind: 1, id: '1:0', version: 2, square: [1, 0],
    x: 5 + span, y: 6, type: 'Cairn',
    values: { player: 77, name: 'Ada', text: 'the way to the lake', stones: 4 } });
});

test('what is sent of a square replaces what was known of that square, and of no other', () => {
  const replica = holding(0, 0, 1, 0);
  replica.apply([P.THINGS, 0, 0, [GEM]], 0);
  replica.apply([P.THINGS, 1, 0, [CAIRN]], 0);
  const before = replica.thingChanges;
  replica.apply([P.THINGS, 0, 0, []], 0);
  assert.deepEqual(replica.things.get('0:0'), []);
  assert.equal(replica.things.get('1:0').length, 1);
  assert.ok(replica.thingChanges > before);
});

test('things of other games are known too, and items that later versions append do no harm', () => {
  const replica = holding(0, 0, 0, 0);
  replica.apply([P.THINGS, 0, 0, [[99, 'x', 1, 0, 0, 7, 'oak'], [98, 'y', 1, 0, 0, 1], [...GEM, 'more'],
    [...CAIRN, 'more']]], 0);
  assert.deepEqual(replica.things.get('0:0').map(({ id, type, values }) => [id, type, values]),
    [['x', 'Tree', { height: 7, kind: 'oak' }], ['y', '', {}], ['0:0:1', 'Gem', {}],
      ['1:0', 'Cairn', { player: 77, name: 'Ada', text: 'the way to the lake', stones: 4 }]]);
});

test('things of squares that are not held, and of another connection, are forgotten', () => {
  const replica = holding(0, 0, 1, 0);
  replica.apply([P.THINGS, 5, 0, [GEM]], 0);
  replica.apply([P.THINGS, 0, 0, [GEM]], 0);
  replica.apply([P.THINGS, 1, 0, [CAIRN]], 0);
  for (const [message, left] of [[[P.HELD, 1, 0, 2, 0], ['1:0']], [[P.RESYNC], []]]) {
    const before = replica.thingChanges;
    replica.apply(message, 0);
    assert.deepEqual([...replica.things.keys()], left);
    assert.ok(replica.thingChanges > before);
  }
});

test('events of other games are passed on by their names', () => {
  const replica = holding(0, 0, 0, 0), calls = [];
  replica.onEvent = (type, id, values) => calls.push([type, id, values]);
  const others = [[5, 7, 3], [41, 7, 3], [5, 8, 1, 'more']];
  replica.apply([P.FLUSH, 1, 100, [[0, 0, 0, 0, new Uint8Array(0), others]]], 100);
  assert.deepEqual(calls, [['Cheer', 7, { loud: 3 }], ['Cheer', 8, { loud: 1 }]]);
});
