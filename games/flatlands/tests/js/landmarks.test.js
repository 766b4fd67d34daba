import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Landmarks, NOUNS } from '../../page/landmarks.js';
import { advancePlaces, ordinalOf } from '../../page/places.js';
import { BRIDGE, DEEP, PATH, Terrain, WATER } from '../../../../static/terrain.js';
import { nothing } from './people.js';

const land = new Terrain(2013), landmarks = new Landmarks(land);
const around = landmarks.within(-500, -500, 499, 499);

test('landmarks are the same for everybody, have names, and stand on free ground near a path', () => {
  assert.ok(around.length > 25, `${around.length} landmarks`);
  assert.deepEqual(new Landmarks(new Terrain(2013)).within(-500, -500, 499, 499), around);
  assert.notDeepEqual(new Landmarks(new Terrain(2014)).within(-500, -500, 499, 499), around);
  for (const { x, y, kind, name } of around) {
    assert.ok(!land.blocked(x, y), `${name} stands in the way`);
    assert.ok(kind in NOUNS && name.endsWith(' ' + NOUNS[kind]));
    let near = false;
    for (let dy = -14; dy <= 14; dy++) {
      for (let dx = -14; dx <= 14; dx++) {
        const tile = land.kind(x + dx, y + dy);
        near ||= tile === PATH || tile === BRIDGE;
      }
    }
    assert.ok(near, `no path leads to ${name}`);
  }
  assert.ok(around.every(({ x, y }) => Math.hypot(x, y) > 45));
});

test('each part of the world has one landmark at most, and all are found again in smaller parts', () => {
  const parts = around.map(({ x, y }) => `${Math.floor(x / 160)}:${Math.floor(y / 160)}`);
  assert.equal(new Set(parts).size, parts.length);
  for (const mark of around) {
    assert.deepEqual(landmarks.within(mark.x, mark.y, mark.x, mark.y), [mark]);
    assert.deepEqual(landmarks.within(mark.x + 1, mark.y, mark.x + 9, mark.y + 9), []);
  }
});

test('signposts stand beside paths and show how far and where the nearest landmarks are', () => {
  const posts = landmarks.posts(-300, -300, 300, 300);
  assert.ok(posts.length > 40, `${posts.length} signposts`);
  for (const { x, y } of posts) {
    assert.ok(![PATH, BRIDGE, WATER, DEEP].includes(land.kind(x, y)));
    const directions = landmarks.directions(x, y), marks = landmarks.within(x - 160, y - 160, x + 160, y + 160);
    const far = (place) => Math.round(Math.hypot(place.x - x, place.y - y));
    const nearest = marks.sort((a, b) => far(a) - far(b)).slice(0, 2);
    assert.deepEqual(directions.filter(({ name }) => name !== 'Plaza').map(({ away }) => away),
      nearest.map(far));
    for (const { name, away, turn } of directions) {
      const { x: mx, y: my } = nearest.find((mark) => mark.name === name) ?? { x: 0, y: 0 };
      const angle = turn * Math.PI / 4;
      assert.equal(away, far({ x: mx, y: my }));
      assert.ok((mx - x) * Math.cos(angle) + (my - y) * Math.sin(angle) > 0.9 * (away - 1));
    }
  }
});

test('a player who comes to a landmark or a signpost is shown it, and nobody else is', () => {
  const state = nothing(), [mark] = around, [post] = landmarks.posts(60, -60, 90, -40);
  state.coursesOf = (from) => state.landmarks.courses(from);
  const at = (x, y) => {
    state.here = { x: x + 0.5, y: y + 0.5 };
    advancePlaces(state);
  };
  at(mark.x + 4, mark.y);
  assert.deepEqual(state.found, mark);
  assert.ok(state.marks.some(({ name }) => name === mark.name));
  // From as far as it can be seen, but no farther than 22 tiles.
  for (const [w, h, dx, dy, finds] of [[40, 24, 10, 0, true], [40, 24, 0, 11, true], [12, 24, 10, 0, false],
    [12, 24, 5, 9, true], [40, 16, 0, 9, false], [80, 60, 12, 0, true], [80, 60, 23, 0, false]]) {
    state.viewport = { ...state.viewport, w, h };
    at(mark.x + dx, mark.y + dy);
    assert.equal(state.found === null, !finds, `${dx}, ${dy} on ${w} x ${h}`);
  }
  at(post.x + 2, post.y);
  const courses = landmarks.courses(post), names = courses.map(({ name }) => name);
  assert.deepEqual(names, ['Barley Turn', 'Plum Turn', 'Juniper Bend']);
  assert.deepEqual(state.sign, { ...post, courses, chosen: -1, directions: landmarks.directions(post.x, post.y) });
  // All over the ring in which races begin, wherever in a tile one is, and nowhere else.
  for (const [away, reads] of [[4.1, false], [3.9, true], [4.1, false], [3.5, true]]) {
    at(post.x, post.y + away);
    assert.equal(state.sign !== null, reads, `${away} tiles`);
  }
  // On the plaza the waymark shows the way. What is shown as a course is not shown twice.
  at(1, 1);
  assert.equal(state.sign?.directions.length, 2);
  assert.deepEqual(state.sign?.courses.map(({ side, away }) => [side, away]), [[0, 73], [1, 83], [2, 76]]);
  at(-76, -3);
  assert.ok(!state.sign?.directions.some(({ name }) => name === 'Plaza'));
  assert.equal(state.sign?.courses[0].name, 'Plaza');
  state.terrain = new Terrain(7);
  at(1, 1);
  assert.deepEqual(state.sign?.directions.map(({ name }) => name),
    new Landmarks(new Terrain(7)).directions(0, 0).map(({ name }) => name));
});

test('a course leads back and forth between two signposts, joined by a path, whose names differ', () => {
  const all = landmarks.posts(-400, -400, 400, 400).flatMap((post) => landmarks.courses(post));
  assert.ok(all.length > 100, `${all.length} courses`);
  for (const { from, to, side, name } of all) {
    const back = landmarks.courses(to).find((each) => each.side === (side + 2) % 4);
    assert.deepEqual([back?.from, back?.to], [to, from]);
    assert.ok(Math.hypot(to.x - from.x, to.y - from.y) >= 24 && back?.name !== name);
  }
});

test('a place among the finders is shown as an ordinal number', () => {
  assert.deepEqual([1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 101, 111, 112, 113, 122, 1000].map(ordinalOf),
    ['first', 'second', 'third', 'tenth', '11th', '12th', '13th', '20th', '21st', '22nd', '23rd', '101st',
      '111th', '112th', '113th', '122nd', '1000th']);
});
