// Landmarks, the plaza, water and wind, as the view draws them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { hearthOf, Landmarks, NOTICE_BOARD, NOUNS, PLAZA_HEARTH } from '../../page/landmarks.js';
import { advanceScene } from '../../page/scene.js';
import { GRASS, PLAZA, SAND, Terrain, WATER, WOOD } from '../../../../static/terrain.js';
import { canvas, draw } from '../../../../tests/js/drawing.js';
import { among } from './people.js';
import { standingIn } from './standing.js';

draw();
const VIEW = '../../page/view/';
const [{ beaconAt, colourOf }, { Ground }, { GROUND_REACH, GROUNDS }, { LANDMARKS }, { EXTENTS, miniatureOf },
  { motionAt, MovingParts }, { NUMBERS, PROPS }, { Screen }, shore, { boatAt }, { tuftsOf, windAt }, { Window }] = await Promise.all(
  ['beacons', 'ground', 'grounds', 'landmarks', 'miniature', 'moving', 'props', 'screen', 'shore', 'water', 'wind', 'window']
    .map((name) => import(`${VIEW}${name}.js`)));

const KINDS = Object.keys(NOUNS), TILE = 10;
const land = new Terrain(2013), marks = new Landmarks(land).within(-1280, -1280, 1279, 1279);

test('each kind of landmark is two to three times as high as a house, has its own ground, and shines at night', () => {
  const house = -PROPS[NUMBERS.cottage0 - 1].box.top;
  const found = new Set(marks.map(({ kind }) => kind));
  for (const all of [Object.keys(LANDMARKS), Object.keys(GROUNDS), [...found]]) assert.deepEqual(all.sort(), [...KINDS].sort());
  for (const kind of KINDS) {
    assert.ok(NUMBERS[kind] !== undefined, kind);
    const { left, top, right } = EXTENTS[kind], high = -top / house;
    assert.ok(high >= 2 && high <= 3.05, `${kind} is ${high} times as high`);
    // What is wider than its ground would stand in the wood.
    assert.ok(Math.max(-left, right) < GROUND_REACH.side, kind);
    assert.ok(LANDMARKS[kind].some(({ light }) => light !== undefined && light.glows.length > 0 && light.pool > 0), kind);
    assert.match(colourOf(kind), /^\d+, \d+, \d+$/);
  }
  assert.ok(LANDMARKS.lighthouse.some(({ light }) => light?.beam < -5));
});

test('a landmark is drawn where it covers no path and no water, as far as there is room, and its hearth stands free', () => {
  let covering = 0, all = 0;
  for (const seed of [1, 2, 3, 4, 2013]) {
    const other = new Terrain(seed), open = (x, y) => [GRASS, SAND, WOOD].includes(other.kind(x, y));
    for (const mark of new Landmarks(other).within(-800, -800, 799, 799)) {
      const { x, y, foot } = mark, hearth = hearthOf(mark);
      assert.ok(Math.abs(foot - x) <= 3);
      assert.ok(open(hearth.x, hearth.y), `a hearth at ${hearth.x}, ${hearth.y}`);
      covering += Number(![-4, -2, 0, 2, 4].every((dx) => open(foot + dx, y)));
      all += 1;
    }
  }
  assert.ok(covering < all / 20, `${covering} of ${all} cover a path`);
  assert.ok(marks.some(({ x, foot }) => foot !== x));
});

test('nothing but its hearth stands close to a landmark', () => {
  for (const { foot, y } of marks.slice(0, 40)) {
    const [cx, cy] = [foot, y + 2].map((tile) => Math.floor(tile / 16));
    const near = standingIn(2013, cx, cy).filter(([px, py]) =>
      Math.hypot((cx * 16 + px - foot) / 5, (cy * 16 + py - y) / 3.8) < 0.98);
    assert.deepEqual(near.map(([px, py, name]) => [cx * 16 + px, cy * 16 + py, name]), [[foot, y + 2, 'hearth']]);
  }
});

test('each kind has its own picture for the maps, with everything that belongs to it', () => {
  const drawn = new Set();
  for (const kind of KINDS) {
    const picture = miniatureOf(kind, 20);
    assert.equal(miniatureOf(kind, 20), picture);
    assert.ok(picture.width <= 21 && picture.height <= 21 && Math.max(picture.width, picture.height) >= 19, kind);
    const shapes = picture.calls.find(([name]) => name === 'drawImage')[1].calls;
    assert.ok(shapes.filter(([name]) => name === 'fill').length > 5, kind);
    drawn.add(JSON.stringify(shapes));
  }
  assert.equal(drawn.size, KINDS.length);
});

/** The ground around a landmark, drawn with ten px per tile; and how to cover a rectangle, in tiles from its feet, for a
 * walker whose feet are `feet` tiles below its own: what has been drawn then, and whether anything was. */
function groundAround(kind) {
  const mark = marks.find((one) => one.kind === kind), screen = new Screen();
  const parts = new MovingParts(TILE), ground = new Ground(land, TILE, parts), ctx = canvas(400, 300).getContext();
  screen.look({ x: mark.foot + 0.5, y: mark.y + 0.5 }, TILE, 400, 300);
  ground.draw(ctx, screen, Infinity);
  return (feet, left, top, right, bottom) => {
    const on = canvas(400, 300);
    const any = ground.cover(on.getContext(), screen, 200 + left * TILE, 150 + top * TILE, 200 + right * TILE,
      150 + bottom * TILE, 150 + feet * TILE);
    return { any, names: on.calls.map(([name]) => name) };
  };
}

test('a landmark covers a player behind it and nobody in front of it, and so do its sails', () => {
  const cover = groundAround('windmill');
  assert.deepEqual(cover(-0.5, -0.5, -1.6, 0.5, -0.4), { any: true, names: ['drawImage'] });
  assert.deepEqual(cover(0.5, -0.5, -0.6, 0.5, 0.6), { any: false, names: [] });
  // Beside the tower only the sails are before a walker, and only there they are drawn again.
  const { any, names } = cover(-4, -2.6, -6, -2.2, -4.6);
  assert.ok(any);
  assert.deepEqual(names.filter((name) => ['clip', 'rotate', 'drawImage'].includes(name)), ['clip', 'rotate', 'drawImage']);
  assert.ok(names.indexOf('clip') < names.indexOf('drawImage') && names.at(-1) === 'restore');
});

test('a player who walks in a ring of stones is in front of some of them and behind others', () => {
  const cover = groundAround('stones');
  assert.ok(!cover(1.4, -2.6, 0.2, -1.6, 1.5).any);
  assert.ok(cover(0.5, -2.6, -0.6, -1.6, 0.6).any);
  assert.ok(cover(-0.6, -1.4, -1.7, -0.6, -0.5).any);
  assert.ok(!cover(0.4, -0.4, -0.6, 0.4, 0.5).any);
});

test('parts that move do so with time, and never far', () => {
  for (const { moving } of Object.values(LANDMARKS).flat()) {
    if (moving === undefined) continue;
    const seen = Array.from({ length: 40 }, (_, i) => motionAt(moving, i * 331));
    assert.ok(new Set(seen.map(({ turn, up }) => turn.toFixed(3) + up.toFixed(3))).size > 10);
    assert.ok(seen.every(({ up }) => Math.abs(up) < 0.5));
  }
});

test('on the plaza high things stand in the north, and nothing stands where people begin', () => {
  const found = [[-1, -1], [0, -1], [-1, 0], [0, 0]].flatMap(([cx, cy]) =>
    standingIn(2013, cx, cy).map(([x, y, name]) => ({ x: cx * 16 + x, y: cy * 16 + y, name })))
    .filter(({ x, y }) => land.kind(x, y) === PLAZA);
  const names = found.map(({ name }) => name);
  for (const name of ['well', 'board', 'hearth', 'planter', 'bench0', 'bench1', 'log0', 'waymark']) assert.ok(names.includes(name), name);
  assert.equal(names.filter((name) => name === 'lamp').length, 8);
  for (const { x, y, name } of found) {
    if (name === 'waymark' || name === 'lamp') continue;
    assert.ok(Math.hypot(x, y) > 4, name);
    assert.ok(y < 0 || PROPS[NUMBERS[name] - 1].box.top > -1.3, `${name} hides whoever is north of it`);
  }
  const at = ({ x, y }) => found.find((one) => one.x === x && one.y === y)?.name;
  assert.deepEqual([at(PLAZA_HEARTH), at(NOTICE_BOARD)], ['hearth', 'board']);
});

test('a landmark in view has an arrow in case a panel covers it, unless it is the goal', () => {
  const state = among([], 2 ** 40), [mark] = marks;
  state.viewport = { w: 40, h: 28 };
  const arrows = () => {
    advanceScene(state, 20);
    state.marks = [mark];
    advanceScene(state, 20);
    return state.arrows.filter(({ label }) => label === mark.name).map(({ kind, aim }) => ({ kind, aim }));
  };
  state.walk.begin((mark.foot + 3) * 1024, mark.y * 1024, 1000);
  assert.deepEqual(arrows(), [{ kind: mark.kind, aim: undefined }]);
  state.aim = { x: mark.x, y: mark.y, reach: 1, label: mark.name };
  assert.deepEqual(arrows(), [{ kind: undefined, aim: true }]);
  state.aim = null;
  state.walk.begin((mark.foot + 30) * 1024, mark.y * 1024, 1000);
  assert.deepEqual(arrows(), []);
});

test('the light of a landmark out of view is at the edge of the screen, fainter the farther it is', () => {
  const screen = { width: 400, height: 200, tile: 10 };
  assert.equal(beaconAt(screen, 399, 100), null);
  const near = beaconAt(screen, 200 + 400, 100), far = beaconAt(screen, 200 + 700, 100);
  assert.deepEqual([near.x, near.y], [400, 100]);
  assert.ok(near.bright > far.bright && far.bright > 0);
  assert.deepEqual(beaconAt(screen, 200, -300)?.y, 0);
  assert.equal(beaconAt(screen, 200 + 900, 100), null);
});

test('boats sail on water only, and ripples are where water is', () => {
  const window = new Window(land, 16);
  let boats = 0, shores = 0;
  for (let y = -160; y < 160; y += 16) {
    for (let x = -160; x < 160; x += 16) {
      window.look(x, y);
      const found = shore.boatsOf(window, 100);
      for (let i = 0; i < found.length; i += 3, boats++) {
        for (let now = 0; now < 64_000; now += 2000) {
          const at = boatAt(found[i + 2], now);
          for (const dx of [-1.2, 1.2]) {
            const tile = [x + found[i] / 100 + at.x + dx, y + found[i + 1] / 100 + at.y].map(Math.floor);
            assert.ok(land.kind(...tile) <= WATER, `a boat is at ${tile}`);
          }
        }
      }
      shore.shoresOf(window).forEach((bits, i) => {
        const row = Math.floor(i / 16), column = i - 16 * row;
        for (const { bit, dx, dy } of shore.SIDES) {
          const wet = land.kind(x + column, y + row) > WATER && land.kind(x + column + dx, y + row + dy) <= WATER;
          assert.equal((bits & bit) > 0, wet);
          shores += Number(wet);
        }
      });
    }
  }
  assert.ok(boats > 3 && boats < 20 && shores > 100, `${boats} boats`);
});

test('lamps are reflected on water south of them, and nowhere else', () => {
  const window = new Window(land, 16), mark = marks.find(({ x, y }) => x === 61 && y === -74), tile = 100;
  window.look(16 * Math.floor(mark.foot / 16), 16 * Math.floor(mark.y / 16));
  const isDry = (column, row) => Array.from({ length: 8 }, (_, i) => land.kind(window.x0 + column, window.y0 + row + i))
    .every((kind) => kind > WATER);
  const dry = Array.from({ length: 256 }, (_, i) => [i % 16, Math.floor(i / 16)]).find((place) => isDry(...place));
  const put = (name, [column, row]) => ({ number: NUMBERS[name], x: (column + 0.5) * tile, y: (row + 0.5) * tile });
  const near = [put('lighthouse', [mark.foot - window.x0, mark.y - window.y0]), put('lamp', dry), put('stump', dry)];
  const [x, y, long, ...others] = shore.reflectionsOf(window, tile, near);
  assert.deepEqual(others, []);
  assert.equal(land.kind(window.x0 + Math.floor(x / tile), window.y0 + Math.floor(y / tile)), WATER);
  assert.ok(y > (mark.y - window.y0) * tile && long > tile && long <= shore.LONG * tile);
});

test('gusts run over the land, and bend the tufts of open grass only', () => {
  const strengths = Array.from({ length: 400 }, (_, i) => windAt(i % 20 * 4, Math.floor(i / 20) * 4, 100_000));
  assert.ok(strengths.every((wind) => wind >= 0 && wind <= 1) && Math.max(...strengths) > 0.5);
  assert.ok(strengths.filter((wind) => wind === 0).length > 100);
  assert.notEqual(windAt(10, 10, 0), windAt(10, 10, 1500));
  // Here grass ends at a shore.
  const window = new Window(land, 16), [wx, wy] = [48, -48];
  window.look(wx, wy);
  const all = tuftsOf(window, 2 * TILE, []);
  assert.equal(tuftsOf(window, TILE, []).loose.size, 0);
  assert.ok(all.loose.size > 5 && all.tufts.length === 3 * all.loose.size);
  for (const at of all.loose) {
    const row = Math.floor(at / 16), column = at - 16 * row;
    assert.equal(land.kind(wx + column, wy + row), GRASS);
    assert.ok(row > 0 && row < 15 && column > 0 && column < 15);
  }
  // The picture of a tree over one of them.
  const [x, y] = all.tufts, under = tuftsOf(window, 2 * TILE, [{ number: NUMBERS.round0, x, y: y + 2 * TILE }]);
  assert.ok(under.loose.size < all.loose.size);
});
