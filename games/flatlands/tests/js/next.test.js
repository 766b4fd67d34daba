// The next step: which one is shown, and where it leads.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { nearestUnfound } from '../../landmarks/page/discoveries.js';
import { forBrowser } from '../../page/keep.js';
import { Next, waveStep } from '../../page/next.js';
import { among, nothing } from './people.js';

const ADA = 2 ** 31 + 1, BEN = 2 ** 31 + 2, COMPUTER = 7;

/** @type {(key: string, x?: number) => import('../../page/next.js').Step} */
const step = (key, x) => (x === undefined ? { key, text: `Do ${key}`, act: () => {} }
  : { key, text: `See ${key}`, place: { x, y: 0, name: key } });

test('the first step that fits is shown, with the way to its place', () => {
  const state = nothing(), next = new Next();
  state.here = { x: 0, y: 0 };
  let first = null;
  state.next.add(20, () => step('oak', -7));
  state.next.add(10, () => first);
  assert.ok(next.look(state, 0));
  assert.deepEqual(next.shown(state), { text: 'See oak, 7 tiles', way: 'west', turn: Math.PI });
  first = step('gem');
  assert.ok(!next.look(state, 100), 'it looks twice a second only');
  next.look(state, 600);
  assert.deepEqual(next.shown(state), { text: 'Do gem', way: '', turn: null });
  first = null;
  next.look(state, 1200);
  assert.equal(next.step?.key, 'oak');
});

test('a step that was closed stays away until there is another one', () => {
  const state = nothing(), next = new Next();
  let key = 'oak';
  state.next.add(10, () => step(key, 5));
  next.look(state, 0);
  next.closed = 'oak';
  next.look(state, 600);
  assert.equal(next.shown(state), null);
  key = 'mill';
  next.look(state, 1200);
  assert.ok(next.shown(state)?.text.startsWith('See mill'));
  key = 'oak';
  next.look(state, 1800);
  assert.ok(next.shown(state)?.text.startsWith('See oak'));
});

test('a step to which no way leads is left out for some minutes', () => {
  const state = nothing(), next = new Next();
  state.next.add(10, () => step('island', 5));
  state.next.add(20, () => step('oak', 9));
  next.look(state, 0);
  next.bar(10);
  next.look(state, 20);
  assert.equal(next.step?.key, 'island', 'it was not where the player went');
  next.go(30);
  next.bar(40);
  next.look(state, 50);
  assert.equal(next.step?.key, 'oak');
  next.look(state, 200_000);
  assert.equal(next.step?.key, 'island');
});

test('it is noticed when one does not come nearer to where one goes', () => {
  const state = nothing(), next = new Next();
  state.here = { x: 0, y: 0 };
  state.next.add(10, () => step('far', 90));
  const stuckAt = (x, now) => {
    state.here = { x, y: 0 };
    next.look(state, now);
    return next.stuck;
  };
  assert.ok(!stuckAt(0, 0) && !stuckAt(0, 60_000), 'nobody goes there');
  next.go(60_000);
  assert.ok(!stuckAt(20, 80_000) && !stuckAt(20, 105_000));
  assert.ok(stuckAt(20, 111_000));
  next.rest();
  assert.ok(!stuckAt(20, 112_000), 'it goes elsewhere now');
});

test('one waves first at anybody, and then once at each person who is near', () => {
  forBrowser.forget('flatlands.did');
  const state = among([[COMPUTER, 2], [BEN, 30]], ADA), waves = [];
  for (const each of state.walkers) each.alpha = 1;
  const next = () => waveStep(state, (emote) => waves.push(emote));
  assert.deepEqual([next()?.key, next()?.text], [`wave ${COMPUTER}`, `Wave at N${COMPUTER}`]);
  next()?.act?.();
  state.did.add('wave');
  assert.deepEqual([waves, next()], [[1], null]);
  const ben = state.walkers.find(({ id }) => id === BEN);
  assert.ok(ben);
  ben.x = 3;
  assert.equal(next()?.key, `wave ${BEN}`);
  next()?.act?.();
  assert.equal(next(), null);
});

test('the nearest landmark that was not found is known after a while, one part of the world at a time', () => {
  const state = nothing(), none = new Set();
  state.here = { x: 0, y: 0 };
  let mark = null;
  for (let i = 0; i < 25; i++) mark = nearestUnfound(state, none);
  assert.equal(mark?.name, 'Gull Light');
  const others = nearestUnfound(state, new Set([`${mark.x}:${mark.y}`]));
  assert.ok(others !== null && others.name !== 'Gull Light');
  forBrowser.set('flatlands.found', `${mark.x}:${mark.y}`);
  assert.deepEqual(nearestUnfound(state, none), others);
  forBrowser.forget('flatlands.found');
});
