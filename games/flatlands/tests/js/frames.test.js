import assert from 'node:assert/strict';
import test from 'node:test';

import { Effort, Sample } from '../../page/hud/frames.js';

/** Return how many ms a sample says that frames take that take so many ms, and after how many of them. */
function tried(...took) {
  const sample = new Sample();
  let at = 1000, ms = sample.frame(at), frames = 0;
  for (; ms === null; frames++) ms = sample.frame(at += took[frames % took.length]);
  return { ms: Math.round(ms * 10) / 10, frames };
}

test('a sample is 150 frames, or some seconds of the slowest machines', () => {
  for (const [took, ms, frames] of [[[1000 / 60], 16.7, 150], [[20], 20, 150], [[100], 100, 50],
    [[250], 250, 20], [[400, 683], 250, 20]]) assert.deepEqual(tried(...took), { ms, frames });
  // A page that slept once is not slow: 18.5 ms are slow.
  for (const asleep of [240, 400, 60_000]) {
    const { ms, frames } = tried(asleep, ...Array(149).fill(1000 / 60));
    assert.ok(ms < 18.5 && frames === 150, `${ms}`);
  }
});

test('the blur comes once frames are fast, and goes for good where it makes them slow', () => {
  const effort = new Effort(), after = (took) => {
    effort.judge(took);
    return effort.plain;
  };
  assert.equal(effort.plain, true);
  assert.deepEqual([25, 18.5, 16.7, 19, 16.7, 16.7].map(after), [true, false, false, true, true, true]);
  assert.equal(effort.coarse, false);
});

test('frames that are slow without the blur become coarse', () => {
  const effort = new Effort(), after = (took) => {
    effort.judge(took);
    return [effort.plain, effort.coarse];
  };
  assert.deepEqual([16.7, 40, 40].map(after), [[false, false], [true, false], [true, true]]);
});
