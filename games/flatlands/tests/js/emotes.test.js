import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BOW, DANCE, EMOTES, isEmote, isWavedTo, showEmote, SPARK, WAVE } from '../../page/emotes.js';
import { advanceScene, showSaying } from '../../page/scene.js';
import { strollersAt } from '../../page/strollers.js';
import { motionOf } from '../../page/view/emotes.js';
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
  assert.equal(isWavedTo(state, 900), false);
  assert.equal(showEmote(state, 1, WAVE, 1000), null);
  // The own player, who made it, has nothing to return; another one has, for a while.
  state.ownId = 1;
  assert.equal(isWavedTo(state, 1000), false);
  state.ownId = 2;
  assert.deepEqual([1000, 4000, 4001].map((at) => isWavedTo(state, at)), [true, true, false]);
  assert.equal(showEmote(state, 2, WAVE, 4000), 1);
  assert.equal(isWavedTo(state, 4000), false);
  assert.deepEqual(sparks(state), [1, 2]);
  // Both waves are used up.
  assert.equal(showEmote(state, 3, WAVE, 4100), null);
  assert.equal(showEmote(state, 2, WAVE, 4200), 3);
});

test('no spark comes from afar, too late, from oneself, or from a muted player', () => {
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
  const anna = 2 ** 31 + 1, ben = 2 ** 31 + 2, rook = 5;
  const state = among([[anna, 0], [ben, 3], [rook, 1]]);
  assert.equal(showEmote(state, anna, WAVE, 1000), null);
  assert.equal(showEmote(state, rook, WAVE, 1400), null);
  assert.equal(showEmote(state, ben, WAVE, 2200), anna);
  assert.deepEqual(sparks(state), [anna, ben]);
});

test('a player who is alone with clockwork gets a spark with it', () => {
  const anna = 2 ** 31 + 1, rook = 5;
  const state = among([[anna, 0], [rook, 1], [2 ** 31 + 2, 30]]);
  showEmote(state, anna, WAVE, 1000);
  assert.equal(showEmote(state, rook, WAVE, 1400), anna);
  showEmote(state, rook, WAVE, 5000);
  assert.equal(showEmote(state, anna, WAVE, 5400), rook);
});

test('a player who came since the last frame is heard and seen to wave, but not from afar', () => {
  const state = among([[1, 0]]);
  showEmote(state, 1, WAVE, 1000);
  for (const [id, away] of [[2, 3], [3, 30]]) comes(state, id, away);
  showSaying(state, 2, 'hello', 1000);
  assert.equal(state.drawn.get(2).saying.text, 'hello');
  assert.equal(showEmote(state, 3, WAVE, 1000), null);
  comes(state, 4, 2);
  assert.equal(showEmote(state, 4, WAVE, 1000), 1);
});

test('an emote of nobody in sight, or an unknown one, is not shown', () => {
  const state = among([[1, 0]]);
  assert.equal(showEmote(state, 9, WAVE, 1000), null);
  for (const emote of [0, 8, 255]) showEmote(state, 1, emote, 1000);
  assert.equal(state.drawn.get(1).saying, null);
});

test('a bow is an emote of its own: the head is lowest in the middle of it, and is up again in the end', () => {
  assert.deepEqual([isEmote(BOW), EMOTES[BOW].others], [true, 'bowed']);
  const nods = [0, 0.25, 0.5, 0.75, 1].map((part) => motionOf({ now: 1000 + 1700 * part, still: false },
    { saying: { emote: BOW, at: 1000 }, dimmed: false }).nod);
  assert.ok(Math.max(...nods) === nods[2] && nods[2] > 0.9, `${nods}`);
  assert.ok(nods[0] < 0.01 && nods[4] < 0.01, `${nods}`);
});

test('a wave raises an arm, on the side of the body that is free, and swings it', () => {
  const wave = (now, left, still = false) =>
    motionOf({ now, still }, { saying: { emote: WAVE, at: 1000 }, dimmed: false }, left).arms;
  const raised = Array.from({ length: 40 }, (_, i) => wave(1500 + i * 20, false)[1]);
  assert.ok(raised.every((arm) => arm > 0.6), `${raised}`);
  assert.ok(Math.max(...raised) - Math.min(...raised) > 0.5);
  assert.equal(wave(1500, false)[0], null);
  assert.equal(wave(1500, true)[1], null);
  assert.ok(wave(1500, true)[0] > 0.6);
  // Where motion is reduced it is held up.
  assert.deepEqual(wave(1100, false, true), wave(2400, false, true));
  assert.ok(wave(1100, false, true)[1] > 0.6);
});

test('each emote moves the body and ends where it began, and a player who lost its connection sits', () => {
  for (let emote = 1; emote < EMOTES.length; emote++) {
    const at = (part) => motionOf({ now: 1000 + 1700 * part, still: false },
      { saying: { emote, at: 1000 }, dimmed: false });
    const far = (part) => {
      const { x, y, turn, stretch } = at(part);
      return Math.abs(x) + Math.abs(y) + Math.abs(turn) + Math.abs(stretch - 1);
    };
    assert.ok(Math.max(...[0.1, 0.15, 0.2, 0.3].map(far)) > 0.05, EMOTES[emote].name);
    assert.ok(far(0) < 1e-6 && far(1) < 1e-6, EMOTES[emote].name);
    assert.equal(at(1.01), null);
  }
  assert.ok(motionOf({ now: 0, still: false }, { saying: null, dimmed: true }).stretch < 1);
  assert.equal(motionOf({ now: 0, still: false }, { saying: null, dimmed: false }), null);
});

test('a player who strolls behind the title goes round the plaza without a jump, and there are no more than are out', () => {
  assert.deepEqual(strollersAt(0, null, 1033).map(({ own, look }) => [own, look]), [[true, 1033]]);
  const totals = { people: 2, computers: 20 };
  for (let now = 1000; now < 60_000; now += 50) {
    const before = strollersAt(now - 50, totals, 0), strollers = strollersAt(now, totals, 0);
    assert.equal(strollers.filter(({ id }) => id >= 2 ** 40).length, 3);
    assert.equal(strollers.length, 8);
    strollers.forEach(({ x, y, own }, i) => {
      assert.ok(own || Math.hypot(x - 0.5, y - 0.5) > 2.5 && Math.hypot(x - 0.5, y - 0.5) < 6);
      assert.ok(Math.hypot(x - before[i].x, y - before[i].y) < 0.1);
    });
  }
});

test('the book shows a wave that was returned', () => {
  assert.deepEqual(SPARK.say(['spark', 1, 'Mira', 0, 0, -7], /** @type {any} */ (null)),
    ['You and Mira waved to each other 7 tiles north of the plaza.', null]);
});
