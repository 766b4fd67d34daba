// One piece of ground: first what lies flat, then the shadows of the props that stand on it, then the
// props themselves, from the farthest to the nearest.

import { DEEP, WATER } from '../terrain.js';
import { butterfliesOf, firefliesOf } from './butterflies.js';
import { part, rollAt } from './dice.js';
import { paintGround } from './paint.js';
import { SHADOW } from './palette.js';
import { contextOf, oval } from './sprite.js';
import { boatsOf, reflectionsOf, shoresOf } from './shore.js';
import { standingOn } from './standing.js';
import { LANDMARKS } from './landmarks.js';
import { NUMBERS, PROPS } from './props.js';
import { tuftsOf } from './wind.js';

const SIDE_REACH = 2, DOWN_REACH = 4;     // tiles by which props of other pieces reach into this one
const SALT_GLINT = 0x9117;
const OTHERS = -1, MARK = -2;             // instead of a tile's number: a prop of another piece,
                                          // and one of a landmark

/** Paint what `window` looks at, and return the piece: { canvas, x0, y0 (tiles), props (numbers by
 * tile), xs, ys (px of their feet), glints (x, y, phase of each, px and 0..255), butterflies,
 * fireflies, lights (x, y and number of each prop that gives light at night), marks (x, y and number of each
 * prop of the landmarks that stand in it), tufts (see wind.js), and what shore.js finds: boats, shores,
 * reflections }. */
export function paintPiece(canvas, ground, window, bridges) {
  const { tile } = ground, { tiles, x0, y0 } = window;
  const ctx = contextOf(canvas, { alpha: false });
  ctx.setTransform(tile, 0, 0, tile, 0, 0);
  const near = propsNear(window, tile), { tufts, loose } = tuftsOf(window, tile, near);
  paintGround(ctx, window, bridges, loose);
  /** @type {number[]} */
  const lights = [];
  /** @type {{ number: number, x: number, y: number }[]} */
  const marks = [];
  const piece = {
    canvas, x0, y0, props: new Uint8Array(tiles * tiles), xs: new Int16Array(tiles * tiles),
    ys: new Int16Array(tiles * tiles), glints: glintsOf(window, tile),
    butterflies: butterfliesOf(window, tile), fireflies: firefliesOf(window, tile), lights, marks, tufts,
    boats: boatsOf(window, tile), shores: shoresOf(window), reflections: reflectionsOf(window, tile, near),
  };
  for (const { number, x, y } of near) {
    const { shadow } = PROPS[number - 1];
    if (shadow > 0) oval(ctx, x / tile + 0.06, y / tile + 0.02, shadow, shadow * 0.4, SHADOW);
  }
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  for (const { number, x, y, at } of near) {
    const sprite = ground.sprite(number);
    ctx.drawImage(sprite.canvas, x - sprite.ax, y - sprite.ay);
    if (at === OTHERS) continue;
    if (PROPS[number - 1].light !== undefined) lights.push(x, y, number);
    if (at === MARK) marks.push({ number, x, y });
    else {
      piece.props[at] = number;
      piece.xs[at] = x;
      piece.ys[at] = y;
    }
  }
  return piece;
}

/** Return all props whose picture may touch the piece, sorted by the y of their feet. `at` is the
 * number of its tile, or one of the two above. */
function propsNear(window, tile) {
  const { tiles } = window, props = [], place = { x: 0, y: 0 };
  for (let y = -1; y < tiles + DOWN_REACH - 1; y++) {
    for (let x = -SIDE_REACH; x < tiles + SIDE_REACH; x++) {
      const number = standingOn(window, x, y, place);
      if (number === 0) continue;
      const own = x >= 0 && y >= 0 && x < tiles && y < tiles;
      // It is rounded within the tile, so that neighbouring pieces agree to the pixel.
      props.push({ number, at: own ? y * tiles + x : OTHERS,
        x: x * tile + Math.round(place.x * tile), y: y * tile + Math.round(place.y * tile) });
    }
  }
  for (const { foot, y: row, kind } of window.marks) {
    const left = foot - window.x0, top = row - window.y0;
    const own = left >= 0 && top >= 0 && left < tiles && top < tiles;
    for (const { name, x, y } of LANDMARKS[kind]) {
      props.push({ number: NUMBERS[name], at: own ? MARK : OTHERS, x: left * tile + Math.round((0.5 + x) * tile),
        y: top * tile + Math.round((0.5 + y) * tile) });
    }
  }
  return props.sort((a, b) => a.y - b.y || a.x - b.x);
}

/** Return where light glints on open water. */
function glintsOf(window, tile) {
  const glints = [];
  for (let y = 0; y < window.tiles; y++) {
    for (let x = 0; x < window.tiles; x++) {
      const kind = window.kind(x, y);
      if ((kind !== WATER && kind !== DEEP) || window.kind(x, y - 1) > WATER
        || window.kind(x - 1, y) > WATER || window.kind(x + 1, y) > WATER
        || window.kind(x, y + 1) > WATER) continue;
      const roll = rollAt(window.x0 + x, window.y0 + y, SALT_GLINT);
      if ((roll & 7) > 0) continue;
      glints.push(Math.round((x + part(roll, 8)) * tile), Math.round((y + part(roll, 16)) * tile),
        roll >>> 24);
    }
  }
  return Int16Array.from(glints);
}
