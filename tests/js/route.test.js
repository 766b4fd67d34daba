import assert from 'node:assert/strict';
import { test } from 'node:test';

import { endOf, Route } from '../../static/route.js';
import { Terrain } from '../../static/terrain.js';
import { UNIT } from '../../static/track.js';
import { Walk } from '../../static/walk.js';

const middleOf = ([x, y]) => [(x + 0.5) * UNIT, (y + 0.5) * UNIT];
const awayFrom = (one, other) => Math.hypot(one[0] - other[0], one[1] - other[1]) / UNIT;

/** Walk by a route from a tile to another one, a frame each 16 ms. */
function walk(blocked, from, to, before = 0) {
  const route = new Route(blocked, middleOf(from), middleOf(to), before * UNIT);
  const own = new Walk(blocked);
  own.begin(...middleOf(from), 0);
  let goals = 0, now = 0;
  for (; !route.ended && now < 1e6; now += 16) {
    own.advance(now);
    const next = route.next(own.at(now), own.arrived, Infinity);
    if (next === null) continue;
    goals++;
    own.follow({ goal: next }, now);
  }
  return { route, goals, left: awayFrom(own.at(now), middleOf(to)), seconds: now / 1000 };
}

test('a goal behind a wall is reached by way of a few goals, around either of its ends', () => {
  const blocked = (col, row) => col === 10 && Math.abs(row) < 20;
  assert.ok(awayFrom(endOf(blocked, middleOf([0, 0]), middleOf([20, 3])), middleOf([20, 3])) > 9);
  const { left, goals, seconds } = walk(blocked, [0, 0], [20, 3]);
  assert.ok(left === 0 && goals <= 4, `${left} left by ${goals} goals`);
  assert.ok(seconds < 10.5, String(seconds));
});

test('a way may end before its goal, beside a player that stands there', () => {
  const { left } = walk((col, row) => col === 10 && row > -8, [0, 0], [20, 0], 1.6);
  assert.ok(left >= 1.6 && left < 3.2, String(left));
});

test('where no way leads to the goal, one leads near it, and says so', () => {
  const moat = (col, row) => Math.max(Math.abs(col - 30), Math.abs(row)) === 4;
  const { route, left } = walk(moat, [0, 0], [30, 0]);
  assert.equal(route.leads, false);
  assert.ok(left <= 5, String(left));
});

test('over the ground of the world a way leads by bridges, near and far', () => {
  for (const [seed, from, to] of [[178, [70, 8], [86, 8]], [2013, [0, 0], [100, 3000]]]) {
    const ground = new Terrain(seed);
    const { route, left, seconds } = walk((col, row) => ground.blocked(col, row), from, to);
    assert.ok(route.leads && left === 0, `${seed}: ${left} left`);
    // Nobody is led far about.
    const straight = Math.hypot(to[0] - from[0], to[1] - from[1]) / 5;
    assert.ok(seconds < Math.max(1.2 * straight, 8), `${seed}: ${seconds} s`);
  }
});

test('a search is spread over frames, and takes no longer than it may', () => {
  let looked = 0;
  const open = (col) => {
    looked++;
    return col === 40;
  };
  const route = new Route(open, middleOf([0, 0]), middleOf([80, 0])), most = [];
  for (let frame = 0; frame < 5000 && route.search !== null && !route.ended; frame++) {
    const before = looked;
    route.next(middleOf([0, 0]), true, -Infinity);
    most.push(looked - before);
  }
  assert.equal(route.leads, false);
  assert.ok(most.length > 100 && Math.max(...most.slice(0, -1)) < 400, String(Math.max(...most)));
});
