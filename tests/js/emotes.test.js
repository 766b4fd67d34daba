import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DANCE, showEmote, WAVE } from '../../games/flatlands/page/emotes.js';
import { advanceScene, showSaying } from '../../games/flatlands/page/scene.js';
import { among, comes } from './people.js';

const sparks = (state) => [...state.drawn.values()].filter(({ sparkAt }) => sparkAt > 0)
  .map(({ id }) => id);

test('an emote is shown in a bubble, and gives way to what is said later', () => {
  const state = among([[1, 0]]);
  assert.equal(showEmote(state, 1, DANCE, 100), null);
  const walker = state.drawn.get(1);
  assert.equal(walker.saying.emote, DANCE);
  showSaying(state, 1, 'hello', 200);
  assert.deepEqual([walker.saying.emote, walker.saying.text], [0, 'hello']);
  showEmote(state, 1, DANCE, 300);
  state.clock.sample(20_000, 21_000, 20_000);
  advanceScene(state, 20_000);
  assert.equal(walker.saying, null);
});

test('a wave that is returned within three seconds gives both a spark, once', () => {
  const state = among([[1, 0], [2, 3], [3, 4]]);
  assert.equal(showEmote(state, 1, WAVE, 1000), null);
  assert.equal(showEmote(state, 2, WAVE, 4000), 1);
  assert.deepEqual(sparks(state), [1, 2]);
  // Both waves are used up.
  assert.equal(showEmote(state, 3, WAVE, 4100), null);
  assert.equal(showEmote(state, 2, WAVE, 4200), 3);
});

test('no spark comes from afar, too late, from oneself, or from who is muted', () => {
  const state = among([[1, 0], [2, 30]]);
  showEmote(state, 1, WAVE, 1000);
  assert.equal(showEmote(state, 2, WAVE, 1100), null);
  assert.equal(showEmote(state, 1, WAVE, 1200), null);
  const near = among([[1, 0], [2, 3]]);
  showEmote(near, 1, WAVE, 1000);
  assert.equal(showEmote(near, 2, WAVE, 4001), null);
  near.drawn.get(2).muted = true;
  assert.equal(showEmote(near, 1, WAVE, 4100), null);
  assert.deepEqual([sparks(state), sparks(near)], [[], []]);
});

test('clockwork never takes the spark of two people who wave to each other', () => {
  const anna = 70_001, ben = 70_002, rook = 5;
  const state = among([[anna, 0], [ben, 3], [rook, 1]]);
  assert.equal(showEmote(state, anna, WAVE, 1000), null);
  assert.equal(showEmote(state, rook, WAVE, 1400), null);
  assert.equal(showEmote(state, ben, WAVE, 2200), anna);
  assert.deepEqual(sparks(state), [anna, ben]);
});

test('whoever is alone with clockwork gets a spark with it', () => {
  const anna = 70_001, rook = 5;
  const state = among([[anna, 0], [rook, 1], [70_002, 30]]);
  showEmote(state, anna, WAVE, 1000);
  assert.equal(showEmote(state, rook, WAVE, 1400), anna);
  showEmote(state, rook, WAVE, 5000);
  assert.equal(showEmote(state, anna, WAVE, 5400), rook);
});

test('who came since the last frame is heard and seen to wave, but not from afar', () => {
  const state = among([[1, 0]]);
  showEmote(state, 1, WAVE, 1000);
  for (const [id, away] of [[2, 3], [3, 30]]) comes(state, id, away);
  showSaying(state, 2, 'hello', 1000);
  assert.equal(state.drawn.get(2).saying.text, 'hello');
  assert.equal(showEmote(state, 3, WAVE, 1000), null);
  comes(state, 4, 2);
  assert.equal(showEmote(state, 4, WAVE, 1000), 1);
});

test('an emote of nobody in sight, or one that is not known, is none', () => {
  const state = among([[1, 0]]);
  assert.equal(showEmote(state, 9, WAVE, 1000), null);
  for (const emote of [0, 7, 255]) showEmote(state, 1, emote, 1000);
  assert.equal(state.drawn.get(1).saying, null);
});
