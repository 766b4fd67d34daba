import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Clock } from '../../static/clock.js';

test('a clock only goes back when it follows a node whose clock is behind', () => {
  const clock = new Clock();
  clock.sample(0, 100000, 10);
  const first = clock.now(10);
  assert.equal(first, 100005);
  clock.sample(20, 99000, 30);
  assert.ok(clock.now(30) >= first);
  clock.reset();
  clock.sample(40, 40000, 40);
  assert.equal(clock.now(40), 40000);
  assert.equal(clock.now(1040), 41000);
});

test('the clock follows the quickest recent ping, at a tenth of the speed of time', () => {
  const clock = new Clock();
  clock.sample(0, 1050, 100);
  assert.equal(clock.now(100), 1100);
  // Its answer was 40 ms late on its way.
  clock.sample(100, 1190, 280);
  assert.equal(clock.now(280), 1280);
  clock.sample(300, 1320, 310);
  assert.equal(clock.ping, 10);
  // 15 ms to catch up, and 10 of them in 100 ms.
  assert.equal(clock.now(380), 1390);
  assert.equal(clock.now(1000), 2015);
});

test('measurements made before a sleep do not count after it', () => {
  const clock = new Clock();
  for (let at = 0; at < 8000; at += 1000) clock.sample(at, at + 10, at + 20);
  // Performance time has stood still for eight seconds, and this ping is not the quickest.
  clock.sample(9000, 17_015, 9030);
  assert.ok(Math.abs(clock.now(9030) - 17_030) <= 30);
});
