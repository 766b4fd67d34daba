import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Following, Leading } from '../../page/leading.js';

const HERE = { x: 10, y: 10 };

test('a player who holds the pointer still is led on in the same direction, by few goals', () => {
  const leading = new Leading(), here = { ...HERE };
  let goals = 0;
  for (let now = 0; now < 20_000; now += 50) {
    const goal = leading.next(here, { x: here.x + 3, y: here.y }, goals === 0, now);
    if (goal !== null) {
      goals++;
      assert.ok(goal.x > here.x + 20 && goal.y === here.y);
    }
    here.x += 0.25;
  }
  assert.ok(goals > 5 && goals < 12, String(goals));
});

test('another direction leads elsewhere, at most every 120 ms', () => {
  const leading = new Leading();
  assert.notEqual(leading.next(HERE, { x: 14, y: 10 }, true, 0), null);
  assert.equal(leading.next(HERE, { x: 10, y: 14 }, false, 100), null);
  const goal = leading.next(HERE, { x: 10, y: 14 }, false, 130);
  assert.ok(goal !== null && goal.y > 30 && Math.abs(goal.x - 10) < 1e-9);
  // Across the direction in which angles begin anew.
  leading.next(HERE, { x: 0, y: 10.1 }, false, 300);
  assert.equal(leading.next(HERE, { x: 0, y: 9.9 }, false, 600), null);
});

test('a pointer on the player\'s own walker means to stand, and to stay there', () => {
  const leading = new Leading();
  leading.next(HERE, { x: 14, y: 10 }, true, 0);
  assert.deepEqual(leading.next(HERE, { x: 10.2, y: 10.1 }, false, 200), HERE);
  assert.equal(leading.next(HERE, { x: 10.2, y: 10.1 }, true, 400), null);
});

test('where there is no way it tries again only once a second', () => {
  const leading = new Leading();
  let goals = 0;
  for (let now = 0; now < 5000; now += 16) {
    if (leading.next(HERE, { x: 14, y: 10 }, true, now) !== null) goals++;
  }
  assert.ok(goals >= 4 && goals <= 6, String(goals));
});

test('a player who follows sets out again when the track of the other leads elsewhere, and only then', () => {
  const following = new Following(7, 'Rook'), here = { x: 0, y: 0 };
  assert.equal(following.next(here, { x: 5, y: 0 }, true, 0), true);
  assert.equal(following.next(here, { x: 5, y: 0 }, false, 5000), false);
  // It turned; but goals are not set too often.
  assert.equal(following.next(here, { x: 5, y: 9 }, false, 5100), true);
  assert.equal(following.next(here, { x: 9, y: 9 }, false, 5200), false);
  assert.equal(following.next(here, { x: 9, y: 9 }, false, 5400), true);
  // Beside it one stands, also if it comes nearer.
  here.x = 8;
  here.y = 8;
  assert.equal(following.next(here, { x: 9, y: 9 }, true, 60_000), false);
  assert.equal(following.next(here, { x: 8.4, y: 8.4 }, true, 61_000), false);
});

test('a player who was barred on the way to another player tries again now and then', () => {
  const following = new Following(7, 'Rook');
  let tries = 0;
  for (let now = 0; now < 10_000; now += 16) {
    if (following.next({ x: 0, y: 0 }, { x: 9, y: 0 }, true, now)) tries++;
  }
  assert.equal(tries, 4);
});
