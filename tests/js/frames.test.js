import assert from 'node:assert/strict';
import test from 'node:test';

import { Sample } from '../../static/hud/frames.js';

/** Return what a sample says of frames that take so many ms each, and after how many of them. */
function tried(...took) {
  const sample = new Sample();
  let at = 1000, slow = sample.frame(at), frames = 0;
  for (; slow === null; frames++) slow = sample.frame(at += took[frames % took.length]);
  return { slow, frames };
}

test('sixty frames a second are not slow, and fifty are', () => {
  assert.deepEqual(tried(1000 / 60), { slow: false, frames: 150 });
  assert.deepEqual(tried(20), { slow: true, frames: 150 });
});

test('the slowest machines are found out too, within some seconds', () => {
  assert.deepEqual(tried(250), { slow: true, frames: 20 });
  assert.deepEqual(tried(400, 683), { slow: true, frames: 20 });
});

test('a page that slept once is not slow', () => {
  for (const asleep of [240, 400, 60_000]) {
    assert.deepEqual(tried(asleep, ...Array(149).fill(1000 / 60)), { slow: false, frames: 150 });
  }
});

test('one frame that takes longer every now and then is no slow machine', () => {
  assert.equal(tried(...Array(14).fill(1000 / 60), 2000 / 60).slow, false);
});
