import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cells } from '../../../../../static/cells.js';
import * as P from '../../../../../static/protocol.js';
import { Events } from '../../../page/events.js';
import { Grown } from '../../../page/grown.js';
import { Looks } from '../../page/looks.js';
import { Planting } from '../../page/planting.js';
import { GARDEN } from '../../page/plants.js';
import { standingOn } from '../../../page/view/standing.js';
import { addProps, NUMBERS, PROPS } from '../../../page/view/props.js';
import { Window } from '../../../page/view/window.js';
import { Terrain } from '../../../../../static/terrain.js';

addProps(GARDEN);

const SIDE = 4, WORN = 2, PLANTS = 5;

/** What is known after these messages, and what takes more. */
function grownBy(...messages) {
  const client = /** @type {any} */ ({ layers: new Cells(),
    cells: (name) => ({ number: name === 'Paths.worn' ? WORN : PLANTS }) });
  const grown = new Grown(), looks = grown.looks = new Looks(grown, (name) => NUMBERS[name]);
  const take = (message) => {
    client.layers.apply(message, SIDE);
    looks.take(message, client);
  };
  for (const message of messages) take(message);
  return { grown, looks, take };
}

const cells = (col, row, layer, ...triples) => [P.CELLS, col, row, layer, false, Uint8Array.of(...triples)];

test('tiles look worn, or like roads, and have what is planted there', () => {
  const { looks } = grownBy(cells(-1, 2, WORN, 0, 0, 1, 1, 0, 2, 2, 0, 5, 3, 0, 6, 15, 0, 200),
    cells(-1, 2, PLANTS, 1, 0, 1, 15, 0, 99));
  assert.deepEqual([0, 1, 2, 3].map((x) => looks.worn(x - 4, 8)), [0, 1, 1, 2]);
  assert.equal(looks.worn(-1, 11), 2);
  assert.deepEqual([[-4, 8], [-3, 8], [-1, 11], [5, 5]].map(([x, y]) => looks.plant(x, y)), [0, 1, 2, 0]);
});

test('the page knows which tiles look different, even if some of them are forgotten', () => {
  const { grown, take } = grownBy(cells(0, 0, WORN, 5, 0, 2));
  assert.deepEqual(grown.changes, [{ x: 1, y: 1 }]);
  take(cells(0, 0, WORN, 5, 0, 3));
  assert.equal(grown.changes.length, 1, 'it looks the same');
  take(cells(0, 0, PLANTS, 5, 0, 1));
  assert.equal(grown.changes.length, 2);
  for (let i = 0; i < 5000; i++) take(cells(0, 0, PLANTS, 5, 0, i % 2));
  assert.ok(grown.forgotten > 0 && grown.changes.length <= 4000);
  assert.equal(grown.forgotten + grown.changes.length, 2 + 5000);
});

test('what is no longer held is forgotten', () => {
  const { grown, looks, take } = grownBy(cells(0, 0, WORN, 5, 0, 2), cells(3, 0, WORN, 5, 0, 2));
  const before = grown.changes.length;
  take([P.HELD, 0, 0, 1, 1]);
  assert.deepEqual([looks.worn(1, 1), looks.worn(13, 1)], [1, 0]);
  assert.deepEqual(grown.changes.slice(before), [{ x: 13, y: 1 }], 'it is painted anew when one comes back');
});

test('after a resync only what is sent again is left', () => {
  const { grown, looks, take } = grownBy(cells(0, 0, WORN, 5, 0, 2), cells(0, 0, PLANTS, 6, 0, 1));
  take([P.RESYNC]);
  assert.deepEqual([looks.worn(1, 1), looks.plant(2, 1), grown.changes.length], [0, 0, 4]);
  take(cells(0, 0, PLANTS, 6, 0, 1));
  assert.deepEqual([looks.worn(1, 1), looks.plant(2, 1)], [0, 1]);
});

test('a plant stands where it was planted, and nothing else does', () => {
  const terrain = new Terrain(2013), window = new Window(terrain, 16), place = { x: 0, y: 0 };
  const { grown, looks } = grownBy();
  window.grown = grown;
  window.look(16, 16);
  const [x, y] = Array.from({ length: 256 }, (_, i) => [i % 16, Math.floor(i / 16)])
    .find(([column, row]) => standingOn(window, column, row, place) > 0 && window.path(column, row) > 40);
  assert.ok(!['lantern'].includes(PROPS[standingOn(window, x, y, place) - 1].name));
  looks.side = 16;
  looks.squares.set('1:1', Uint8Array.from({ length: 256 }, (_, i) => i === y * 16 + x ? 8 : 0));
  window.look(16, 16);
  assert.equal(standingOn(window, x, y, place), NUMBERS.lantern);
});

test('how many gems are left to plant is shown once that is known, and once a new one has come', () => {
  const answers = {}, shown = [], left = [], on = { message: (name, call) => { answers[name] = call; }, begun() {}, error() {} };
  const events = new Events();
  new Planting(null, { on }, { showGems: (gems) => left.push(gems) }, { spark() {} }, events);
  events.on('purse', (gems, flies) => {
    shown.push([gems, flies]);
  });
  answers.found();
  answers.purse(2);
  answers.sown(1, 0, 0, 1);
  answers.found();
  assert.deepEqual([shown, left], [[[2, false], [1, false], [2, true]], [2, 1, 2]]);
});
