import assert from 'node:assert/strict';
import { test } from 'node:test';

import { leg, stand, UNIT } from '../../static/track.js';
import { Walk } from '../../static/walk.js';

const meadow = () => false;

function walkEast(blocked = meadow) {
  const walk = new Walk(blocked);
  walk.begin(0, 0, 1000);
  walk.follow({ heading: [1, 0] }, 1000);
  return walk;
}

test('a new wall in the way ends it in front of the wall, and another wall changes nothing', () => {
  const walls = new Set(), blocked = (x, y) => walls.has(`${x}:${y}`);
  const walk = walkEast(blocked), { track } = walk;
  walls.add('3:5');
  walk.replan(1200);
  assert.equal(walk.track, track);
  for (let y = -5; y <= 5; y++) walls.add(`4:${y}`);
  walk.replan(1200);
  assert.notEqual(walk.track, track);
  walk.advance(9000);
  assert.deepEqual(walk.at(9000), [4 * UNIT - 1, 0]);
  assert.equal(walk.arrived, true);
});

test('an answer to an older intent does not move the walk', () => {
  const walk = walkEast(), { track } = walk;
  assert.equal(walk.reconcile({ ack: 0, track: stand(9 * UNIT, 0, 1000) }, 1100), false);
  assert.equal(walk.track, track);
});

test('a track does not move the walk before the walk has been compared to it', () => {
  const walk = walkEast(), answer = { ack: 1, track: { ...walk.track } };
  walk.reconcile(answer, 1100);
  answer.track.x = 2 * UNIT;
  assert.ok(walk.drawn(1100)[0] < 0.6);
  // The error that is eased away is that between the two.
  walk.reconcile(answer, 1100);
  assert.ok(Math.abs(walk.error[0] + 2) < 0.001);
  walk.refused(answer);
  answer.track.x = 3 * UNIT;
  assert.equal(walk.track.x, 2 * UNIT);
});

test('a small error is eased away, and a large one is a jump', () => {
  const walk = walkEast();
  const late = { ...walk.track, start: 1100 };
  assert.equal(walk.reconcile({ ack: 1, track: late }, 2000), false);
  // Five tiles a second, 100 ms late.
  assert.ok(Math.abs(walk.error[0] - 0.5) < 0.001);
  const far = { ...walk.track, y: 9 * UNIT };
  assert.equal(walk.reconcile({ ack: 1, track: far }, 2000), true);
  assert.deepEqual(walk.error, [0, 0]);
});

test('a walk that the server ended early is reported, and stands', () => {
  const walk = walkEast();
  walk.reconcile({ ack: 1, track: stand(5 * UNIT, 0, 2000) }, 2000);
  assert.ok(walk.ended && walk.arrived);
  assert.deepEqual(walk.drawn(9000).map(Math.round), [5, 0]);
});

test('a walk that ended at a wall is not reported as ended by the server', () => {
  const walk = walkEast((col) => col === 5);
  walk.reconcile({ ack: 1, track: stand(5 * UNIT - 1, 0, 2000) }, 2000);
  assert.ok(!walk.ended && walk.arrived);
});

test('a frozen walk stays, and is where it should be once an answer comes', () => {
  const walk = walkEast();
  walk.freeze(2000);
  assert.equal(walk.time(9000), 2000);
  assert.deepEqual(walk.drawn(9000), walk.drawn(2000));
  assert.equal(walk.thaw(2200), false);
  assert.ok(Math.abs(walk.track.x / UNIT + 5 * 1.2 - 6) < 0.01);
  assert.equal(walk.time(2200), 2200);
});

test('a walk goes on at the pace that the server sent last, even before it is answered', () => {
  const walk = walkEast();
  walk.reconcile({ ack: 1, pace: 200, track: leg(() => false, 0, 0, walk.intent, 1000, 200) }, 1000);
  assert.deepEqual([walk.track.duration, ...walk.at(2000).map((n) => Math.round(n / UNIT))], [3200, 10, 0]);
  walk.reconcile({ ack: 0, pace: 50, track: walk.track }, 2000);
  walk.follow({ heading: [0, 1] }, 2000);
  assert.deepEqual([walk.track.duration, walk.at(3000)[1]], [12_800, 2559]);
});

test('a halted walk stands where it has got to', () => {
  const walk = walkEast();
  walk.halt(2000);
  assert.ok(walk.arrived);
  assert.deepEqual(walk.drawn(8000), [walk.track.x / UNIT, 0]);
  assert.equal(Math.round(walk.track.x / UNIT), 5);
});

test('an intent begins no sooner than the track that it follows', () => {
  const walk = walkEast();
  walk.reconcile({ ack: 1, track: { ...walk.track, start: 1500 } }, 1400);
  walk.follow({ heading: [0, 1] }, 1400);
  assert.deepEqual([walk.track.start, walk.track.x, walk.track.y], [1500, 0, 0]);
});
