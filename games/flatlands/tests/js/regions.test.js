// The borders of regions, as the ground is painted.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Terrain } from '../../../../static/terrain.js';
import { Window } from '../../page/view/window.js';

const TILES = 16;

/** A path as node has none: the corners of its curves, in tiles. */
class Corners {
  constructor() {
    this.corners = [];
  }

  moveTo() {}
  closePath() {}

  quadraticCurveTo(x, y) {
    this.corners.push([x, y]);
  }
}

test('a border of regions is ragged, with a fringe, and never a straight cut', () => {
  globalThis.Path2D = /** @type {any} */ (Corners);
  // Meadows end here, and autumn woods begin.
  const window = new Window(new Terrain(2013), TILES);
  window.look(128, -480);
  const [below, above] = window.layers();
  assert.equal(below.core, 'all');
  const core = inside(above.core), fringe = inside(above.fringe);
  assert.ok(core.length > TILES && fringe.length > TILES);
  assert.notDeepEqual(core, fringe);
  const straight = core.filter((_, i) => i + 5 < core.length && off(core.slice(i, i + 6)) < 0.2);
  assert.ok(straight.length < core.length / 4, `${straight.length} of ${core.length} are straight`);
});

/** Return the corners of an outline that are in the piece. */
function inside(outline) {
  return outline.corners.filter(([x, y]) => x > 0 && y > 0 && x < TILES && y < TILES);
}

/** Return by how many tiles corners are off the straight line from the first to the last one. */
function off(corners) {
  const [[x0, y0]] = corners, [x1, y1] = corners.at(-1), long = Math.hypot(x1 - x0, y1 - y0);
  return Math.max(...corners.map(([x, y]) => Math.abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) / long));
}
