// Decides which prop of props.js stands on which tile: trees, bushes, boulders, and the props on the
// plaza. They are only drawn: none of them blocks a walker.
//
// A tile picks from a list by its roll modulo the list's length. So a list of another length replants
// all woods, meadows or rocks of every world, while replacing one prop by another changes only the
// tiles where the first one stood. tests/vectors/standing.json shows such changes; `make vectors` makes
// it again.

import { GRASS, PLAZA_WITHIN, ROCK, SAND, WATER, WOOD } from '../terrain.js';
import { part, rollAt } from './dice.js';
import { PROPS } from './props.js';

const SALT = 0x7ee5;
const CLEAR_OF_PATH = 36;                 // 1/16 tile from a path's middle, where no tree stands
const CLEARING = PLAZA_WITHIN + 3;        // tiles from the origin without trees

const PLAZA_PROPS = new Map([['0,0', 'waymark']]);
for (let i = 0; i < 8; i++) {
  const turn = (i + 0.5) * Math.PI / 4, x = Math.cos(turn), y = Math.sin(turn);
  PLAZA_PROPS.set(Math.round(x * 6.3) + ',' + Math.round(y * 6.3), 'lamp');
}
for (const [x, y] of [[1, 1], [1, -1], [-1, 1], [-1, -1]]) {
  PLAZA_PROPS.set(5 * x + ',' + 5 * y, 'planter');
}

/** The number of each prop by its name: its index into PROPS plus 1. */
const NUMBERS = Object.fromEntries(PROPS.map(({ name }, i) => [name, i + 1]));
const numbersOf = (...names) => names.map((name) => NUMBERS[name]);
// The lists that a tile picks from. Read the beginning of this file before you make one longer or
// shorter.
const LEAFY = numbersOf('round0', 'round1', 'round2', 'round0', 'round1', 'tall0', 'tall1',
  'small0', 'small1', 'small2', 'tall2');
const PINES = numbersOf('pine0', 'pine1', 'pine0', 'pine1', 'small2', 'tall2');
const UNDERGROWTH = numbersOf('bush0', 'bush1', 'fern', 'fern', 'mushrooms', 'stump', 'berries');
const MEADOW = numbersOf('round1', 'bush0', 'bush1', 'blossom', 'small1', 'berries', 'fern',
  'stone');
const BOULDERS = numbersOf('boulder0', 'boulder1', 'boulder2', 'stone', 'boulder1', 'stone',
  'pine1', 'fern');

/** Return the number of the prop on a tile of the window's piece (its index into PROPS plus 1, or 0
 * for nothing), and write the position of its feet into `place`: x and y in tiles from the tile's
 * corner. */
export function standingOn(window, x, y, place) {
  const kind = window.kind(x, y);
  const wx = window.x0 + x, wy = window.y0 + y;
  place.x = place.y = 0.5;
  if (wx * wx + wy * wy < CLEARING * CLEARING) {
    const prop = PLAZA_PROPS.get(wx + ',' + wy);
    return prop === undefined ? 0 : NUMBERS[prop];
  }
  if (kind !== WOOD && kind !== GRASS && kind !== ROCK && kind !== WATER && kind !== SAND) return 0;
  const roll = rollAt(wx, wy, SALT), chance = part(roll, 0);
  place.x = 0.15 + 0.7 * part(roll, 8);
  place.y = 0.2 + 0.7 * part(roll, 16);
  const pick = (numbers) => numbers[(roll >>> 24) % numbers.length];
  if (kind === ROCK) return boulder(window, x, y, chance, pick);
  if (kind === WATER) return reeds(window, x, y, chance, place);
  if (window.path(x, y) < CLEAR_OF_PATH) return 0;
  if (kind === SAND) return chance < 0.02 ? NUMBERS.stone : 0;
  if (kind === WOOD) {
    if (chance < 0.5) return pick(piny(wx, wy) ? PINES : LEAFY);
    return chance < 0.62 ? pick(UNDERGROWTH) : 0;
  }
  return chance < 0.022 ? pick(MEADOW) : 0;
}

/** Say whether pines grow here: they grow in one of four areas of 24 x 24 tiles. */
function piny(x, y) {
  return (rollAt(Math.floor(x / 24), Math.floor(y / 24), SALT + 1) & 3) === 0;
}

/** Return the boulder on a tile, or 0. Boulders lie well inside a plateau, on its top. */
function boulder(window, x, y, chance, pick) {
  if (chance > 0.1) return 0;
  for (let dy = -1; dy <= 2; dy++) {
    if (window.kind(x, y + dy) !== ROCK) return 0;
  }
  return window.kind(x - 1, y) === ROCK && window.kind(x + 1, y) === ROCK ? pick(BOULDERS) : 0;
}

/** Return the reeds on a tile, or 0. They grow in water, south of sand or grass. */
function reeds(window, x, y, chance, place) {
  if (chance > 0.3) return 0;
  place.y = 0.5;
  const land = window.kind(x, y - 1);
  return land === SAND || land === GRASS ? NUMBERS.reeds : 0;
}
