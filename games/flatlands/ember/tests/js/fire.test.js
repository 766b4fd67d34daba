// Where fires burn, as the view draws them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Landmarks, PLAZA_HEARTH } from '../../../page/landmarks.js';
import { Ember } from '../../page/ember.js';
import { Terrain } from '../../../../../static/terrain.js';
import { draw } from '../../../../../tests/js/drawing.js';
import { nothing } from '../../../tests/js/people.js';

draw();
const [{ FIRE, firesOf }] = await Promise.all(['../../page/fire.js'].map((name) => import(name)));

test('hearths burn where the server says so', () => {
  const state = nothing(), ember = new Ember();
  const [mark, other] = state.marks = new Landmarks(new Terrain(2013)).within(-1280, -1280, 1279, 1279);
  state.marks = [mark, other];
  const burning = () => firesOf(ember, state).map(({ x, y, thing }) => [Math.floor(x), Math.floor(y), thing.type]);
  assert.deepEqual(burning(), [], 'where nothing is kept, nothing burns');
  ember.light([[other.x, other.y, 1, []]]);
  assert.deepEqual(burning(), [[other.foot, other.y + 2, FIRE], [PLAZA_HEARTH.x, PLAZA_HEARTH.y, FIRE]]);
});
