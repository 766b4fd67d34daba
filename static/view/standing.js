// Decides which prop of props.js stands on which tile: trees, bushes, boulders, lanterns and cottages
// beside paths, and the props on the plaza. They are only drawn: none of them blocks a walker.
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
// Blocks of so many tiles each way in which one tile may have a lantern, or a cottage, and how far from
// the middle of a path, in 1/16 tile, that tile must be.
const LANTERN_BLOCK = 5, COTTAGE_BLOCK = 9;
const LANTERN_FROM = 26, LANTERN_TO = 37, COTTAGE_FROM = 52, COTTAGE_TO = 92;

const COTTAGES_FROM = 14;                 // tiles from the origin

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
const COTTAGES = numbersOf('cottage0', 'cottage1');
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
  if (isCottage(window, x, y)) {
    place.x = place.y = 0.5;
    return pick(COTTAGES);
  }
  if (window.path(x, y) <= LANTERN_TO && isLantern(window, x, y)) {
    place.x = place.y = 0.5;
    return NUMBERS.lantern;
  }
  if (window.path(x, y) < CLEAR_OF_PATH) return 0;
  if (kind === SAND) return chance < 0.02 ? NUMBERS.stone : 0;
  if (kind === WOOD) {
    if (chance < 0.5) return pick(piny(wx, wy) ? PINES : LEAFY);
    return chance < 0.62 ? pick(UNDERGROWTH) : 0;
  }
  return chance < 0.022 && !nearCottage(window, x, y) ? pick(MEADOW) : 0;
}

/** Say whether a tile is the one of its block, `side` tiles each way, that a thing of the block has. */
function isChosen(x, y, side, salt) {
  const column = Math.floor(x / side), row = Math.floor(y / side);
  const place = rollAt(column, row, salt) % (side * side);
  return (y - row * side) * side + x - column * side === place;
}

/** Say whether a lantern stands on a tile: they stand beside paths. */
function isLantern(window, x, y) {
  const kind = window.kind(x, y), away = window.path(x, y);
  return (kind === GRASS || kind === WOOD || kind === SAND) && away >= LANTERN_FROM
    && away <= LANTERN_TO && isChosen(window.x0 + x, window.y0 + y, LANTERN_BLOCK, SALT + 2);
}

/** Say whether a cottage stands on a tile: they stand on grass, some tiles from a path. */
function isCottage(window, x, y) {
  const wx = window.x0 + x, wy = window.y0 + y, away = window.path(x, y);
  if (away < COTTAGE_FROM || away > COTTAGE_TO || !isChosen(wx, wy, COTTAGE_BLOCK, SALT + 3)) {
    return false;
  }
  return wx * wx + wy * wy > COTTAGES_FROM ** 2 && window.kind(x, y) === GRASS
    && [-1, 0, 1].every((dx) => window.kind(x + dx, y - 1) === GRASS
      && window.kind(x + dx, y) === GRASS);
}

/** Say whether a cottage stands so close to a tile that another prop would stand in it. */
function nearCottage(window, x, y) {
  for (let dy = -1; dy <= 1; dy++) {
    for (let dx = -1; dx <= 1; dx++) if (isCottage(window, x + dx, y + dy)) return true;
  }
  return false;
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
