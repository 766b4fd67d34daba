// How the page walks its player to a goal.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Events } from '../../page/events.js';
import { advanceScene } from '../../page/scene.js';
import { UNIT } from '../../../../static/track.js';
import { among } from './people.js';

const OWN = 2 ** 40, ADA = 90_001;

/** Return what walks a player who stands on the plaza, west of a wall, and a function that lets some ms pass and returns
 * where the player then is, in tiles. */
async function walled(context, players = []) {
  let time = 0;
  context.mock.method(performance, 'now', () => time);
  Object.assign(globalThis, { location: {}, sessionStorage: {}, localStorage: {} });
  const { Navigation } = await import('../../page/navigation.js');
  const state = among(players, OWN), events = new Events(), toasts = [];
  const { walk, clock } = state;
  walk.blocked = (column, row) => column === 3 && Math.abs(row) <= 3;
  const hud = /** @type {any} */ ({ hint() {}, focusWorld() {}, toast: (text) => toasts.push(text), notes: { following() {} } });
  const session = /** @type {any} */ ({ hasWalked() {}, client: {
    net: { playing: true }, go: (intent) => walk.follow(intent, Math.floor(clock.now())) } });
  const view = /** @type {any} */ ({ tileAt: (_, x, y) => ({ x, y }) });
  const navigation = new Navigation(state, session, hud, view, events);
  const pass = (ms) => {
    for (const until = time + ms; time < until; time += 20) {
      walk.advance(clock.now());
      advanceScene(state, time);
      events.emit('frame');
    }
    return walk.at(Math.floor(clock.now())).map((at) => Math.floor(at / UNIT));
  };
  return { navigation, events, state, toasts, pass };
}

test('a player walks around a wall to a goal behind it', async (context) => {
  const { events, pass, toasts } = await walled(context);
  events.emit('go', 6.5, 0.5, 'the well');
  assert.deepEqual([pass(20_000), toasts], [[6, 0], []]);
});

test('a player on its way around a wall that chooses another goal stays there', async (context) => {
  const { navigation, pass } = await walled(context);
  navigation.goTo(6.5, 0.5);
  pass(500);
  navigation.goTo(-4.5, 0.5);
  assert.deepEqual(pass(20_000), [-5, 0]);
});

test('a pointer that is held, and somebody who is followed, end the way around a wall', async (context) => {
  const { navigation, pass } = await walled(context, [[ADA, -6]]);
  for (const begin of [() => navigation.lead({ x: -2.5, y: 0.5 }), () => navigation.follow(ADA)]) {
    navigation.goTo(6.5, 0.5);
    pass(500);
    begin();
    pass(5000);
    const places = Array.from({ length: 50 }, () => pass(100)[0]);
    assert.ok(Math.max(...places) < 0, `it goes to ${places}`);
    navigation.lead(null);
  }
});
