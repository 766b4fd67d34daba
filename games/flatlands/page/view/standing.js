// Decides which prop of props.js stands on which tile: trees, bushes, boulders, lanterns and cottages
// and signposts beside paths, and the props on the plaza. They are only drawn: none of them blocks a walker.
//
// What grows in a region is on the lists of that region.
//
// A tile picks from a list by its roll modulo the list's length. So to change a list's length replants
// all woods, meadows or rocks of every world, while to replace one prop by another changes only the
// tiles where the first one stood. tests/vectors/standing.json shows such changes; `make vectors` makes
// it again.

import { hearthOf, NOTICE_BOARD, PLAZA_HEARTH } from '../landmarks.js';
import { AUTUMN, DESERT, HEATH, MARSH, MEADOWS, SNOW } from '../regions.js';
import { GRASS, PLATEAU, PLAZA_WITHIN, ROCK, SAND, WATER, WOOD } from '../terrain.js';
import { part, rollAt } from './dice.js';
import { NUMBERS } from './props.js';

const SALT = 0x7ee5;
const CLEAR_OF_PATH = 36;                 // 1/16 tile from a path's middle, where no tree stands
const CLEARING = PLAZA_WITHIN + 3;        // tiles from the origin without trees
// The side, in tiles, of a block in which one tile may have a lantern, or a cottage, and how far from
// the middle of a path, in 1/16 tile, that tile must be.
const LANTERN_BLOCK = 5, COTTAGE_BLOCK = 9;
const LANTERN_FROM = 26, LANTERN_TO = 37, COTTAGE_FROM = 52, COTTAGE_TO = 92;

// Tiles around a landmark, to its sides and up or down, in which nothing else stands, and no cottage.
const CLEAR_ACROSS = 5, CLEAR_DOWN = 3.8, NO_COTTAGE = 8;
const CLEARED = { across: 3, along: 2 };  // tiles around a thing that lets nothing grow near it
const COTTAGES_FROM = 14;                 // tiles from the origin

/** What stands on which tile of the plaza. High props stand in the north, where they hide nobody. */
const PLAZA_PROPS = new Map([['0,0', 'waymark'], ['-4,-4', 'well'], [NOTICE_BOARD.x + ',' + NOTICE_BOARD.y, 'board'],
  [PLAZA_HEARTH.x + ',' + PLAZA_HEARTH.y, 'hearth'], ['-6,4', 'log0'], ['-2,4', 'log0'], ['-4,6', 'log1'],
  ['4,4', 'planter'], ['0,-6', 'bench0'], ['0,6', 'bench1']]);
for (let i = 0; i < 8; i++) {
  const turn = (i + 0.5) * Math.PI / 4, x = Math.cos(turn), y = Math.sin(turn);
  PLAZA_PROPS.set(Math.round(x * 6.3) + ',' + Math.round(y * 6.3), 'lamp');
}

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

const AUTUMN_TREES = numbersOf('autumnRound0', 'autumnRound1', 'autumnRound2', 'autumnTall0',
  'autumnTall1', 'autumnTall2', 'autumnSmall0', 'autumnSmall1', 'autumnSmall2', 'autumnRound0',
  'birch1');
const CACTI = numbersOf('cactus0', 'palm', 'cactus1', 'dryBush', 'palm', 'redStone');
const COTTAGES = numbersOf('cottage0', 'cottage1');

/** What grows in each region, by its number: in woods `trees`, and `under` them, with the chances `dense`
 * and `overgrown` for a tile; `pines` instead of the trees in some areas; in the `open`, with the chance
 * `scattered`; on `rocks`; and what is `strewn` on sand. */
const GROWING = [];
GROWING[MEADOWS] = { trees: LEAFY, dense: 0.5, pines: PINES, under: UNDERGROWTH, overgrown: 0.12,
  open: MEADOW, scattered: 0.022, rocks: BOULDERS, strewn: numbersOf('stone') };
GROWING[AUTUMN] = { ...GROWING[MEADOWS], trees: AUTUMN_TREES,
  pines: numbersOf('birch1', 'birch0', 'birch1', 'autumnSmall2'),
  under: numbersOf('mushrooms', 'stump', 'mushrooms', 'fern', 'berries', 'dryBush'),
  open: numbersOf('autumnRound0', 'autumnSmall1', 'autumnRound2', 'stump', 'berries', 'mushrooms',
    'birch1', 'stone') };
GROWING[HEATH] = { ...GROWING[MEADOWS], dense: 0.26,
  trees: numbersOf('birch0', 'gorse', 'birch0', 'heather0', 'birch1'),
  pines: numbersOf('pine1', 'gorse', 'birch0'),
  under: numbersOf('heather0', 'heather1', 'gorse', 'fern', 'boulder1'), overgrown: 0.3,
  open: numbersOf('heather0', 'heather1', 'gorse', 'heather0', 'stone', 'heather1', 'boulder1',
    'birch0'), scattered: 0.075 };
GROWING[MARSH] = { ...GROWING[MEADOWS], dense: 0.3,
  trees: numbersOf('willow', 'willow', 'dead', 'small2', 'cattails', 'willow', 'bush0'),
  pines: numbersOf('dead', 'willow', 'cattails'), under: numbersOf('cattails', 'fern', 'bush0'),
  overgrown: 0.2, open: numbersOf('cattails', 'cattails', 'willow', 'bush0', 'cattails', 'dead'),
  scattered: 0.06, strewn: numbersOf('cattails', 'stone') };
GROWING[DESERT] = { trees: CACTI, dense: 0.14, pines: CACTI,
  under: numbersOf('dryBush', 'redStone', 'dryBush'), overgrown: 0.06,
  open: numbersOf('cactus0', 'dryBush', 'cactus1', 'redBoulder', 'redStone', 'dryBush', 'cactus0'),
  scattered: 0.03, rocks: numbersOf('redBoulder', 'redStone', 'dryBush', 'redStone', 'cactus1'),
  strewn: numbersOf('redStone', 'dryBush', 'palm') };
GROWING[SNOW] = { trees: numbersOf('snowyPine0', 'snowyPine1', 'snowyPine0', 'snowyPine1', 'frosted',
  'bareSnowy', 'snowyPine0'), dense: 0.44,
  pines: numbersOf('snowyPine0', 'snowyPine1', 'snowyPine0'),
  under: numbersOf('snowyBush', 'snowyStone', 'bareSnowy'), overgrown: 0.1,
  open: numbersOf('snowyPine1', 'snowyBush', 'snowyStone', 'bareSnowy', 'frosted'), scattered: 0.024,
  rocks: numbersOf('snowyBoulder', 'snowyStone', 'snowyBoulder', 'snowyPine1'),
  strewn: numbersOf('snowyStone') };

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
  if (![WOOD, GRASS, ROCK, PLATEAU, WATER, SAND].includes(kind)) return 0;
  for (const { x: cx, y: cy } of window.cleared) {
    if (Math.abs(cx - wx) <= CLEARED.across && Math.abs(cy - wy) <= CLEARED.along) return 0;
  }
  for (const post of window.posts) {
    if (post.x === wx && post.y === wy) return NUMBERS.signpost;
  }
  for (const mark of window.marks) {
    const hearth = hearthOf(mark);
    if (hearth.x === wx && hearth.y === wy) return NUMBERS.hearth;
    if (Math.hypot((mark.foot - wx) / CLEAR_ACROSS, (mark.y - wy) / CLEAR_DOWN) < 1) return 0;
  }
  const plant = window.plant(x, y);
  if (plant > 0) return plant;
  const roll = rollAt(wx, wy, SALT), chance = part(roll, 0);
  place.x = 0.15 + 0.7 * part(roll, 8);
  place.y = 0.2 + 0.7 * part(roll, 16);
  const pick = (numbers) => numbers[(roll >>> 24) % numbers.length];
  const region = window.region(x, y), growing = GROWING[region];
  if (kind === ROCK || kind === PLATEAU) {
    return isBoulder(window, x, y, kind, chance) ? pick(growing.rocks) : 0;
  }
  if (kind === WATER) return region === SNOW ? 0 : reeds(window, x, y, chance, place);
  if (isCottage(window, x, y)) {
    place.x = place.y = 0.5;
    return pick(COTTAGES);
  }
  if (window.path(x, y) <= LANTERN_TO && isLantern(window, x, y)) {
    place.x = place.y = 0.5;
    return NUMBERS.lantern;
  }
  if (window.path(x, y) < CLEAR_OF_PATH) return 0;
  if (kind === SAND) return chance < 0.02 ? pick(growing.strewn) : 0;
  if (kind === WOOD) {
    if (chance < growing.dense) return pick(piny(wx, wy) ? growing.pines : growing.trees);
    return chance < growing.dense + growing.overgrown ? pick(growing.under) : 0;
  }
  return chance < growing.scattered && !nearCottage(window, x, y) ? pick(growing.open) : 0;
}

/** Return whether a tile is the one in its block, `side` tiles each way, that was chosen for a prop. */
function isChosen(x, y, side, salt) {
  const column = Math.floor(x / side), row = Math.floor(y / side);
  const place = rollAt(column, row, salt) % (side * side);
  return (y - row * side) * side + x - column * side === place;
}

/** Return whether a lantern stands on a tile: they stand beside paths. */
function isLantern(window, x, y) {
  const kind = window.kind(x, y), away = window.path(x, y);
  return (kind === GRASS || kind === WOOD || kind === SAND) && away >= LANTERN_FROM
    && away <= LANTERN_TO && isChosen(window.x0 + x, window.y0 + y, LANTERN_BLOCK, SALT + 2);
}

/** Return whether a cottage stands on a tile: they stand on grass, some tiles from a path. */
function isCottage(window, x, y) {
  const wx = window.x0 + x, wy = window.y0 + y, away = window.path(x, y);
  if (away < COTTAGE_FROM || away > COTTAGE_TO || !isChosen(wx, wy, COTTAGE_BLOCK, SALT + 3)) {
    return false;
  }
  const isClose = (mark) => Math.max(Math.abs(mark.foot - wx), Math.abs(mark.y - wy)) <= NO_COTTAGE;
  return wx * wx + wy * wy > COTTAGES_FROM ** 2 && !window.marks.some(isClose) && window.kind(x, y) === GRASS
    && [-1, 0, 1].every((dx) => window.kind(x + dx, y - 1) === GRASS
      && window.kind(x + dx, y) === GRASS);
}

/** Return whether a cottage stands so close to a tile that another prop would stand in it. */
function nearCottage(window, x, y) {
  for (let dy = -1; dy <= 1; dy++) {
    for (let dx = -1; dx <= 1; dx++) if (isCottage(window, x + dx, y + dy)) return true;
  }
  return false;
}

/** Return whether pines grow here: they grow in one in four areas of 24 x 24 tiles. */
function piny(x, y) {
  return (rollAt(Math.floor(x / 24), Math.floor(y / 24), SALT + 1) & 3) === 0;
}

/** Return whether a boulder lies on a tile: they lie well inside a plateau, or on the top of a wide rim. */
function isBoulder(window, x, y, kind, chance) {
  if (chance > 0.1) return false;
  for (let dy = -1; dy <= 2; dy++) {
    if (window.kind(x, y + dy) !== kind) return false;
  }
  return window.kind(x - 1, y) === kind && window.kind(x + 1, y) === kind;
}

/** Return the reeds on a tile, or 0. They grow in water, south of sand or grass. */
function reeds(window, x, y, chance, place) {
  if (chance > 0.3) return 0;
  place.y = 0.5;
  const land = window.kind(x, y - 1);
  return land === SAND || land === GRASS ? NUMBERS.reeds : 0;
}
