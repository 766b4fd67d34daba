// Bubbles, as the view places them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { advanceScene, showSaying } from '../../page/scene.js';
import { stand, UNIT } from '../../../../static/track.js';
import { canvas, draw } from '../../../../tests/js/drawing.js';
import { apart, covers } from './boxes.js';
import { comes, nothing } from './people.js';

draw();
const [{ Screen }, { Speech }, { Walkers }] = await Promise.all(
  ['screen', 'speech', 'walkers'].map((name) => import(`../../page/view/${name}.js`)));

const OWN = 2 ** 31 + 0, TILE = 27, WIDTH = 390, HEIGHT = 844, RIM = 3, CLOCKWORK = '#e6e9ed';

/** A phone on which players stand, each [id, x, y], around its own one, whose name is Hearer. */
function phone(...others) {
  const state = nothing();
  state.ownId = OWN;
  state.viewport = { w: WIDTH / TILE, h: HEIGHT / TILE };
  state.clock.sample(0, 1000, 0);
  state.walk.begin(0, 0, 1000);
  for (const [id, x, y] of [[OWN, 0, 0], ...others]) {
    comes(state, id, 0);
    state.replica.players.get(id).track = stand(x * UNIT, y * UNIT, 0);
  }
  state.replica.players.get(OWN).name = 'Hearer';
  for (const at of [10, 500]) advanceScene(state, at);
  return state;
}

/** Draw what is said; return the bubbles, each with its box, without the rim for its shadow, its paper and its words. */
function drawn(state) {
  const screen = new Screen(), walkers = new Walkers(TILE), on = canvas(WIDTH, HEIGHT);
  advanceScene(state, 1000);
  screen.look(state.camera, TILE, WIDTH, HEIGHT);
  walkers.follow(state, screen, 0);
  new Speech().draw(on.getContext(), state, screen, walkers.order, 1, 1);
  return on.calls.filter(([name]) => name === 'drawImage').map(([, { width, height, calls }, left, top]) => ({
    box: [left + RIM, top + RIM, left + width - RIM, top + height - RIM],
    paper: calls.findLast(([name], i) => name === 'fillStyle' && calls[i + 2]?.[0] === 'roundRect')[1],
    words: calls.filter(([name]) => name === 'fillText').map(([, text]) => text).join(' ') }));
}

/** The page's own walker, with its name. */
const OWN_WALKER = [WIDTH / 2 - 10, HEIGHT / 2 - 28, WIDTH / 2 + 10, HEIGHT / 2 + 25];

const faces = ({ walkers }) => walkers.map(({ x, y }) =>
  [WIDTH / 2 + TILE * x - 8, HEIGHT / 2 + TILE * y - 25, WIDTH / 2 + TILE * x + 8, HEIGHT / 2 + TILE * y - 11]);

test('clockwork walkers speak in two small bubbles that cover no face', () => {
  const speakers = [[7, -3, -5], [8, 0, -8], [9, 3, -5]];
  // Somebody stands where each bubble would be; and one walker stands below the page's own.
  const state = phone(...speakers, ...speakers.map(([id, x, y]) => [id + 90_000, x, y - 1.5]), [10, -0.3, 1.2]);
  for (const [id] of speakers) assert.equal(showSaying(state, id, 'Tick, tock. I never tire.', 600), false);
  assert.equal(showSaying(state, 10, 'Good to see you, Hearer! I am one of those made of clockwork.', 600), true);
  const found = drawn(state);
  assert.equal(found.length, 2);
  assert.deepEqual(found.map(({ paper }) => paper), [CLOCKWORK, CLOCKWORK]);
  assert.equal(found.filter(({ words }) => words === 'Good to see you, Hearer! I am one of those made of clockwork.').length, 1);
  apart(found.map(({ box }) => box), 'bubbles');
  for (const { box } of found) {
    for (const taken of [...faces(state), OWN_WALKER]) assert.ok(!covers(box, taken), `${box} covers ${taken}`);
    assert.ok(box[0] >= 0 && box[1] >= 0 && box[2] <= WIDTH && box[3] <= HEIGHT, `${box}`);
  }
});
