// What is seen on water and beside it: where boats sail, where a walker makes ripples, and where lamps are
// reflected. It is found when a piece of ground is painted; water.js draws it.

import { WATER } from '../terrain.js';
import { rollAt } from './dice.js';
import { PROPS } from './props.js';

const BOAT_BLOCK = 24, BOAT_ROOM = 4;     // tiles: of a block in which one tile may have a boat; of water around it
const SALT_BOAT = 0xb0a7;
/** The most tiles from a lamp's foot down to water, and of its light there. */
export const REFLECTED = 6, LONG = 4;

/** The bits of a tile's shore: one for each side that may have water, and the way there. */
export const SIDES = [{ bit: 1, dx: 1, dy: 0 }, { bit: 2, dx: -1, dy: 0 }, { bit: 4, dx: 0, dy: 1 }, { bit: 8, dx: 0, dy: -1 }];

/** Return the boats of the window's piece: x, y (px of the middle of its course) and phase of each. */
export function boatsOf(window, tile) {
  const { x0, y0, tiles } = window, boats = [];
  for (let y = 0; y < tiles; y++) {
    for (let x = 0; x < tiles; x++) {
      const column = Math.floor((x0 + x) / BOAT_BLOCK), row = Math.floor((y0 + y) / BOAT_BLOCK);
      const roll = rollAt(column, row, SALT_BOAT), place = roll % BOAT_BLOCK ** 2;
      if ((y0 + y - row * BOAT_BLOCK) * BOAT_BLOCK + x0 + x - column * BOAT_BLOCK === place && isOpen(window, x, y)) {
        boats.push(Math.round((x + 0.5) * tile), Math.round((y + 0.5) * tile), roll >>> 16 & 1023);
      }
    }
  }
  return Int16Array.from(boats);
}

/** Return whether a tile is surrounded by water only. */
function isOpen(window, x, y) {
  for (let dy = -BOAT_ROOM; dy < BOAT_ROOM; dy++) {
    for (let dx = -BOAT_ROOM; dx < BOAT_ROOM; dx++) if (window.kind(x + dx, y + dy) > WATER) return false;
  }
  return true;
}

/** Return on which sides of each tile of land in the window's piece there is water: see SIDES. */
export function shoresOf(window) {
  const { tiles } = window, shores = new Uint8Array(tiles * tiles);
  for (let y = 0; y < tiles; y++) {
    for (let x = 0; x < tiles; x++) {
      if (window.kind(x, y) <= WATER) continue;
      for (const { bit, dx, dy } of SIDES) if (window.kind(x + dx, y + dy) <= WATER) shores[y * tiles + x] |= bit;
    }
  }
  return shores;
}

/** Return the light that lamps in the window's piece throw on water south of them: x, y (px of its upper end), and
 * length (px). Each prop throws its largest light. */
export function reflectionsOf(window, tile, near) {
  const { tiles, x0, y0, terrain } = window, found = [];
  for (const { number, x, y } of near) {
    const row = Math.floor(y / tile), { light } = PROPS[number - 1];
    if (light === undefined || x < 0 || x >= tiles * tile || row < 0 || row >= tiles) continue;
    const glow = light.glows.reduce((most, one) => one.size > most.size ? one : most);
    const px = x + Math.round(glow.x * tile), column = x0 + Math.floor(px / tile);
    const isWater = (down) => terrain.kind(column, y0 + row + down) <= WATER;
    let from = 1;
    while (from <= REFLECTED && !isWater(from)) from++;
    let to = from;
    while (to < from + LONG && isWater(to)) to++;
    if (to > from) found.push(px, Math.round((row + from + 0.4) * tile), Math.round((to - from - 0.4) * tile));
  }
  return Int16Array.from(found);
}
