import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DAY, skyAt } from '../../page/day.js';
import { advanceScene } from '../../page/scene.js';
import { nothing } from './people.js';

const minute = 60_000;

test('nine minutes of a day are bright, and lamps burn in the dark only', () => {
  assert.equal(DAY, 16 * minute);
  for (let at = 0; at < 8.7 * minute; at += minute / 4) {
    assert.equal(skyAt(at).dark, 0);
    assert.equal(skyAt(at).lit, 0);
  }
  for (let at = 11.25 * minute; at < 14 * minute; at += minute / 4) {
    assert.ok(skyAt(at).dark > 0.5);
    assert.equal(skyAt(at).lit, 1);
  }
});

test('the light changes gradually, also from one day to the next', () => {
  let before = skyAt(0);
  for (let at = 100; at <= 2 * DAY; at += 100) {
    const sky = skyAt(at);
    assert.ok(Math.abs(sky.dark - before.dark) < 0.002, `darkness leaps at ${at} ms`);
    assert.ok(Math.abs(sky.lit - before.lit) < 0.01, `lamps leap at ${at} ms`);
    before = sky;
  }
});

test('everybody has the same day, whenever the page was opened', () => {
  const at = 1_800_000_123_456;
  assert.deepEqual(skyAt(at), skyAt(at + 5 * DAY));
  assert.deepEqual(skyAt(10 * minute + 30_000), skyAt(10 * minute + 30_000 + 1e5 * DAY));
  const states = [nothing(), nothing()];
  // One page was opened long before the other; both were sent the same node time.
  [500, 90_500].forEach((performanceTime, i) => {
    states[i].clock.sample(performanceTime, at, performanceTime);
    advanceScene(states[i], performanceTime + 4000);
  });
  assert.deepEqual(states[0].sky, states[1].sky);
  assert.deepEqual(states[0].sky, skyAt(at + 4000));
});
