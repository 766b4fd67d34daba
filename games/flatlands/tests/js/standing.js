// What stands where, around the plaza of one world, in its other regions, and among the rocks of
// another: ../vectors.py keeps it as standing.json.

import { CHUNK, Terrain } from '../../../../static/terrain.js';
import { standingOn } from '../../page/view/standing.js';
import { PROPS } from '../../page/view/props.js';
import { Window } from '../../page/view/window.js';

const PIECES = [[2013, -3, -3, 6], [7, 16, -28, 4], [2013, 12, 0, 3], [2013, -3, 12, 4],
  [2013, 5, -17, 3], [2013, -19, 10, 3], [2013, 8, 8, 3]];      // seed, first chunk, chunks a side

/** What stands on the tiles of a chunk, row after row: [x, y, name, feet], tiles from the chunk's
 * corner and the feet's place in the tile in thousandths. */
export function standingIn(seed, cx, cy) {
  const window = new Window(new Terrain(seed), CHUNK), place = { x: 0, y: 0 }, standing = [];
  window.look(cx * CHUNK, cy * CHUNK);
  for (let y = 0; y < CHUNK; y++) {
    for (let x = 0; x < CHUNK; x++) {
      const number = standingOn(window, x, y, place);
      if (number === 0) continue;
      const feet = [Math.round(place.x * 1000), Math.round(place.y * 1000)];
      standing.push([x, y, PROPS[number - 1].name, ...feet]);
    }
  }
  return standing;
}

/** The vectors. */
export function make() {
  return PIECES.flatMap(([seed, left, top, side]) => Array.from({ length: side * side }, (_, i) => {
    const row = Math.floor(i / side), chunk = [left + i - row * side, top + row];
    return { seed, chunk, standing: standingIn(seed, ...chunk) };
  }));
}
