import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Atlas, companyLine, DOT_FADES, dotLine, dotOf, firstOf, Gaze, invitingLine, lineOf, nextWatch,
  WHOLE_WORLD } from '../../static/atlas.js';
import * as P from '../../static/protocol.js';
import { BRIDGE, PATH, PLAZA, Terrain } from '../../static/terrain.js';

const picture = (grain, fresh, ...some) => [P.DOTS, grain, fresh, some];
const living = (atlas) => [...atlas.dots.values()].filter(({ gone }) => gone === null);

test('a square is in the dot that the server means', () => {
  assert.deepEqual([0, 3, 4, 7, 8].map((grain) => dotOf(0, grain)), [0, 0, 0, 0, 0]);
  assert.equal(dotOf(-8, 4), 0);
  assert.equal(dotOf(-9, 4), -1);
  for (let grain = 0; grain < 32; grain++) {
    for (const square of [0, -1, 7, 8, -137, 99999, -(2 ** 27)]) {
      const dot = dotOf(square, grain), first = firstOf(dot, grain);
      assert.ok(first <= square && square < first + 2 ** grain);
      assert.equal(dotOf(first, grain), dot);
      assert.equal(dotOf(first - 1, grain), dot - 1);
    }
  }
});

test('a picture says where players are', () => {
  const atlas = new Atlas();
  assert.ok(atlas.apply(picture(0, true, [0, 0, [0, 3, 1, 2, 0]], [2, -6, [0, 1, 0, 0, 0]]), 10));
  const dots = living(atlas).map(({ col, row, people, computers, node }) =>
    [col, row, people, computers, node]);
  assert.deepEqual(dots, [[0, 0, 3, 1, 2], [8, -24, 1, 0, 0]]);
  assert.deepEqual(atlas.bounds(), { left: 0, top: -24, right: 9, bottom: 1 });
  assert.ok(!atlas.apply([P.FLUSH, 1, 0, []], 10));
});

test('items that later versions append, and messages of unknown kinds, change nothing', () => {
  const [today, later] = [new Atlas(), new Atlas()], more = ['more', 7, [0, 0]];
  const messages = [picture(0, true, [0, 0, [0, 3, 1, 2, 0]]), [P.TOTALS, 3, 1, 1, 2, 'redis', 2013, 16,
    ['Mira'], 4]];
  for (const message of messages) today.apply(message, 10);
  later.apply([P.DOTS, 0, true, [[...messages[0][3][0], ...more]], ...more], 10);
  later.apply([...messages[1], ...more], 10);
  assert.equal(later.apply([99], 20), false);
  assert.deepEqual(later, today);
});

test('a dot that has become empty fades, and a fresh picture replaces all dots', () => {
  const atlas = new Atlas(), hear = (grain, fresh, ...dots) =>
    atlas.apply(picture(grain, fresh, [0, 0, dots]), 1000 * ++pictures);
  let pictures = 0;
  hear(0, true, 1, 3, 0, 0, 0, 2, 1, 0, 0, 0);
  hear(0, false, 1, 0, 0, 0, 0);
  assert.deepEqual([living(atlas).length, atlas.dots.size], [1, 2]);
  atlas.expire(2000 + DOT_FADES + 1);
  assert.equal(atlas.dots.size, 1);
  hear(0, false, 1, 3, 0, 0, 0);
  hear(0, true, 2, 5, 0, 0, 0);
  // One that stays is the same.
  assert.deepEqual(living(atlas).map(({ people, since }) => [people, since]), [[5, 1000]]);
  hear(1, true, 2, 5, 0, 0, 0);
  assert.deepEqual(living(atlas).map(({ grain }) => grain), [1]);
});

test('a square flashes for messages, and a large dot when somebody comes or goes', () => {
  const atlas = new Atlas();
  atlas.apply(picture(0, true, [0, 0, [1, 3, 0, 0, 0]]), 0);
  atlas.apply(picture(0, false, [0, 0, [1, 3, 0, 0, 4]]), 1000);
  assert.deepEqual(living(atlas).map(({ batches, batchesAt }) => [batches, batchesAt]), [[4, 1000]]);
  atlas.apply(picture(4, true, [0, 0, [1, 3, 0, 0, 0]]), 2000);
  atlas.apply(picture(4, false, [0, 0, [1, 4, 0, 0, 0]]), 3000);
  assert.deepEqual(living(atlas).map(({ batches, batchesAt }) => [batches, batchesAt]), [[1, 3000]]);
});

test('the dot near a place is the nearest one within reach', () => {
  const atlas = new Atlas();
  atlas.apply(picture(0, true, [0, 0, [0, 1, 0, 0, 0, 1, 2, 0, 0, 0]]), 0);
  assert.equal(atlas.dotNear(0.5, 0.5, 0)?.people, 1);
  assert.equal(atlas.dotNear(1.2, 0.5, 0)?.people, 2);
  assert.equal(atlas.dotNear(2.5, 0.5, 0.4), null);
  assert.equal(atlas.dotNear(2.5, 0.5, 0.6)?.people, 2);
});

function gazeAt(scale, x = 0, y = 0) {
  const gaze = new Gaze();
  gaze.resize(1000, 800);
  gaze.put(x, y, scale);
  return gaze;
}

test('what is under the pointer stays there while the map is zoomed', () => {
  const gaze = gazeAt(10);
  const before = gaze.toWorld(900, 100);
  gaze.zoom(3, 900, 100);
  gaze.advance(0, 0);
  const after = gaze.toWorld(900, 100);
  assert.ok(Math.hypot(after.x - before.x, after.y - before.y) < 1e-6);
  assert.equal(gaze.scale, 30);
});

test('the gaze glides to its target and reaches it', () => {
  const gaze = gazeAt(256);
  gaze.fit({ left: 1000, top: 0, right: 3000, bottom: 500 }, 50);
  for (let i = 0; i < 100; i++) gaze.advance(30, 130);
  assert.ok(Math.abs(gaze.x - 2000) < 0.1 && Math.abs(gaze.y - 250) < 0.1);
  assert.ok(gaze.toScreen(1000, 0).x > 49 && gaze.toScreen(3000, 0).x < 951);
});

test('a picture of the whole world serves as long as its dots are fine enough', () => {
  const atlas = new Atlas(), gaze = gazeAt(30);
  atlas.apply(picture(0, true), 0);
  assert.equal(nextWatch(atlas, gaze, WHOLE_WORLD), null);
  gaze.zoom(4, 500, 400);
  assert.equal(nextWatch(atlas, gaze, WHOLE_WORLD), null);
  // Coarse ones are asked for again, finer and in a part of the world.
  gaze.put(100, 100, 30);
  gaze.whole = false;
  atlas.apply(picture(3, true), 0);
  const watch = nextWatch(atlas, gaze, WHOLE_WORLD);
  assert.ok(watch !== null && watch.grain === 0);
  assert.ok(watch.c0 <= 83 && watch.c1 >= 117 && watch.c1 - watch.c0 < 200);
  // The answer may be coarse again: it is not asked for once more.
  assert.equal(nextWatch(atlas, gaze, watch), null);
  gaze.pan(-2000, 0);
  assert.notEqual(nextWatch(atlas, gaze, watch), null);
  gaze.whole = true;
  assert.equal(nextWatch(atlas, gaze, watch), WHOLE_WORLD);
});

test('lines say how many players there are, and count computer players separately', () => {
  const totals = { people: 214, computers: 30, squares: 61, nodes: 3, broker: 'redis', seed: 1,
    side: 16, names: [], walked: 0 };
  assert.equal(lineOf(totals, false), '214 people and 30 clockwork');
  assert.equal(lineOf(totals, true), '214 people and 30 clockwork on 61 channels · 3 servers · redis');
  assert.equal(lineOf({ ...totals, people: 1, computers: 0, squares: null, nodes: 1,
    broker: 'memory' }, true), '1 person · 1 server · no broker');
  const line = (people, computers, ...names) =>
    invitingLine({ ...totals, people, computers, names: names.slice(0, 3), walked: names.length }, 'Nora', false);
  const again = (...names) =>
    invitingLine({ ...totals, people: 0, computers: 0, names: names.slice(0, 3), walked: names.length }, 'Nora', true);
  assert.equal(line(23, 0), '23 people are walking now.');
  assert.equal(line(3, 12, 'Mira', 'Ben'), '3 people are walking now, besides 12 clockwork walkers. '
    + 'Mira and Ben walked here in the last two days.');
  assert.equal(line(0, 0), 'Nobody is walking now: the world is yours.');
  assert.equal(line(0, 20), '20 clockwork walkers are out: join them.');
  assert.equal(line(0, 1, 'Mira', 'Ben', 'Cid', 'Dan', 'Eve'),
    'Mira, Ben and 3 others walked here in the last two days. 1 clockwork walker is out.');
  assert.equal(line(0, 0, 'Mira', 'Nora', 'Cid', 'Dan'),
    'Mira, Cid, 1 other and you walked here in the last two days.');
  assert.equal(line(0, 0, 'Nora'), 'You walked here in the last two days.');
  assert.equal(line(0, 0, ...Array(100).fill('Mira')), 'Mira, Mira and many others walked here in the last two days.');
  // Who has come again under another name is one of them, unless the server has forgotten that.
  assert.equal(again('Mira', 'Ben', 'Cid', 'Dan', 'Eve', 'Fay'),
    'Mira, Ben, 3 others and you walked here in the last two days.');
  assert.equal(again('Mira', 'Ben'), 'Mira and Ben walked here in the last two days.');
  assert.equal(again(), 'Nobody is walking now: the world is yours.');
  const atlas = new Atlas();
  atlas.apply(picture(0, true, [0, 0, [0, 5, 2, 1, 0]]), 0);
  assert.equal(dotLine(living(atlas)[0], false), '5 people and 2 clockwork');
  assert.equal(dotLine(living(atlas)[0], true), 'square 0, 0 · 5 people and 2 clockwork · server 2');
});

test('a line says who is in view, oneself first', () => {
  assert.equal(companyLine([], 0), 'Only you');
  assert.equal(companyLine([], 17), 'You and 17 clockwork');
  assert.equal(companyLine(['Ben'], 0), 'You and Ben');
  assert.equal(companyLine(['Ben'], 17), 'You, Ben and 17 clockwork');
  assert.equal(companyLine(['Ben', 'Mia'], 0), 'You, Ben and Mia');
  assert.equal(companyLine(['Ben', 'Mia'], 17), 'You, Ben, Mia and 17 clockwork');
  assert.equal(companyLine(['Ben', ...Array(9).fill('Mia')], 17), 'You, Ben, 9 others and 17 clockwork');
});

test('the map shows the land of the game, without paths', () => {
  const terrain = new Terrain(2013);
  let compared = 0;
  for (const [cx, cy] of [[0, 0], [-1, 2], [7, -9], [123456, -98765]]) {
    const { kinds } = terrain.chunk(cx, cy);
    kinds.forEach((kind, i) => {
      if (kind === PATH || kind === BRIDGE || kind === PLAZA) return;
      assert.equal(terrain.sketch(cx * 16 + i % 16, cy * 16 + Math.floor(i / 16)), kind);
      compared++;
    });
  }
  assert.ok(compared > 500);
});
