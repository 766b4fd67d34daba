// The map of everybody under a mouse or a finger: what a click on it means.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Events } from '../../page/events.js';
import * as P from '../../../../static/protocol.js';
import { canvas, draw } from '../../../../tests/js/drawing.js';
import { among } from './people.js';

draw();
Object.assign(globalThis, { innerWidth: 1280, innerHeight: 800 });
const [{ Lookout }, { AtlasView }] = await Promise.all(['lookout', 'view/atlas'].map((name) => import(`../../page/${name}.js`)));

const OWN = 2 ** 40, SIDE = 16, PATCH = 4;    // squares a side of a part of the map that is sent at once

/** Open the map of a player at a place in tiles, with two people in the square (-2, 0) and itself on it; click(x, y, kind)
 * clicks or touches a place in tiles, or some css px beside it, and returns what the page says. */
function opened(x, y) {
  const state = among([], OWN), toasts = [], sent = [], listeners = {};
  const screen = Object.assign(canvas(), { style: {}, focus() {}, setPointerCapture() {},
    addEventListener: (name, act) => listeners[name] = act });
  const hud = { openAtlas() {}, focusWorld() {}, toast: (text) => toasts.push(text), atlas: { describe() {}, count() {} } };
  const net = { playing: true, socket: {}, send: (...message) => sent.push(message) };
  const view = new AtlasView(screen);
  const lookout = new Lookout(state, /** @type {any} */ (hud), view, /** @type {any} */ (net),
    /** @type {any} */ ({ asked: null }), false, new Events());
  Object.assign(state, { here: { x, y }, still: true, viewport: { w: 40, h: 25 } });
  state.replica.side = SIDE;
  lookout.resize(1280, 800, 1);
  const begin = () => {
    lookout.open();
    lookout.found = [state.landmarks.of(0, -1)];
    const patches = [[-2, 0], [Math.floor(x / SIDE), Math.floor(y / SIDE)]].map(([col, row]) => {
      const left = Math.floor(col / PATCH), top = Math.floor(row / PATCH);
      return [left, top, [(row - PATCH * top) * PATCH + col - PATCH * left, 2, 0, 0, 0]];
    });
    lookout.message([P.DOTS, 0, true, patches]);
    lookout.frame();
    lookout.frame();
  };
  const click = (tileX, tileY, kind, beside = 0, below = 0) => {
    begin();
    const at = lookout.gaze.toScreen(tileX / SIDE, tileY / SIDE);
    const event = { button: 0, pointerId: 1, pointerType: kind, clientX: at.x + beside, clientY: at.y + below };
    listeners.pointerdown(event);
    listeners.pointerup(event);
    return toasts.pop();
  };
  return { state, lookout, click, sent, toasts };
}

test('a click on anything of the map lets an arrow lead there, and closes the map', () => {
  const { state, lookout, click, sent } = opened(40.5, 40.5);
  const mark = state.landmarks.of(0, -1);
  for (const kind of ['mouse', 'touch']) {
    for (const [name, x, y] of [['2 people, ', -24, 8], ['', 70, -6], ['The plaza, ', 0.5, 0.5],
      [`${mark.name}, `, mark.x + 0.5, mark.y + 0.5], ['', 44.5, 36.5]]) {
      const sentence = click(x, y, kind);
      assert.match(sentence, new RegExp(`^${name}\\d+ tiles [a-z-]+: follow the arrow with the flag\\.`), `${kind}: ${name}`);
      assert.ok(Math.hypot(state.aim.x - x, state.aim.y - y) < 1e-6, `${kind}: ${name}`);
      assert.deepEqual([lookout.isOpen, sent.pop()], [false, [P.WATCH, null, 0, 0, 0, 0]]);
      state.aim = null;
    }
  }
});

test('a landmark is its picture and its name, which is below it', () => {
  const { state, click } = opened(40.5, 40.5), { name, x, y } = state.landmarks.of(0, -1);
  for (const [below, means] of [[-24, true], [15, true], [-50, false], [50, false]]) {
    assert.equal(click(x + 0.5, y + 0.5, 'mouse', 0, below).startsWith(name), means, `${below} px`);
  }
});

test('a finger may miss what it means by more than a mouse, and then still means it', () => {
  const { click } = opened(40.5, 40.5);
  for (const [kind, beside, means] of [['mouse', 8, true], ['mouse', 12, false], ['touch', 12, true], ['touch', 18, false]]) {
    assert.equal(click(0.5, 0.5, kind, beside).startsWith('The plaza'), means, `${kind} ${beside} px`);
  }
});

test('the arrow ends where the player is, who is shown that', () => {
  const { state, lookout, click, toasts } = opened(40.5, 40.5);
  click(-24, 8, 'mouse');
  lookout.frame();
  assert.ok(state.aim !== null);
  Object.assign(state.here, { x: -23, y: 7 });
  lookout.frame();
  assert.deepEqual([state.aim, toasts], [null, ['You are there.']]);
});
