// The pictures of cairns: heaps of flat stones, which grow when somebody adds one. They are drawn in
// tiles, with the origin in the middle of the lowest row's foot.

import { part, rollAt, rollOf } from '../view/dice.js';
import { FIELDSTONE_TONES, SHADOW } from '../view/palette.js';
import { oval, spriteOf } from '../view/sprite.js';

const LEAST = 3, MOST = 9;                // stones that are drawn
const VARIANTS = 4;                       // heaps with the same number of stones that look different
const SALT = 0xca12;
/** How many stones lie in each row, from the lowest one on, by the number of all. */
const ROWS = [[2, 1], [2, 1, 1], [3, 1, 1], [3, 2, 1], [3, 2, 1, 1], [4, 2, 1, 1], [4, 3, 1, 1]];
const WIDTHS = [0, 0.4, 0.74, 1, 1.2];    // tiles: how wide a row is, by its number of stones
const FLAT = 0.135;                       // tiles: half the height of a stone in the lowest row
const SMALLER = 0.9;                      // factor from one row to the next
const SIZE = 1.35;                        // factor of the whole heap: it must not look like pebbles
const TOP = 1.05;                         // tiles before that, from the ground to the top of the highest one

/** Paint a stone around (x, y), with the light from the upper left. */
function stone(ctx, x, y, rx, ry, { light, top, face }, turn) {
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(turn);
  ctx.beginPath();
  ctx.roundRect(-rx, -ry, 2 * rx, 2 * ry, [ry * 0.95, ry * 0.8, ry * 0.9, ry * 0.7]);
  ctx.fillStyle = face;
  ctx.fill();
  ctx.clip();
  oval(ctx, -0.04, -ry * 0.42, rx * 0.98, ry * 0.95, top);
  oval(ctx, -rx * 0.28, -ry * 0.62, rx * 0.42, ry * 0.24, light);
  ctx.restore();
}

/** Paint a heap of `count` stones. */
function paintCairn(ctx, count, variant) {
  const rows = ROWS[count - LEAST], wide = WIDTHS[rows[0]];
  oval(ctx, 0.06, 0.02, wide * 0.58, 0.2, SHADOW);
  let foot = 0.06, flat = FLAT;
  rows.forEach((stones, row) => {
    const width = WIDTHS[stones] * SMALLER ** row;
    for (let i = 0; i < stones; i++) {
      const roll = rollAt(8 * row + i, variant, SALT), rx = width / stones / 2 * 1.08;
      const jitter = (part(roll, 0) - 0.5) * 0.06;
      const x = (i + 0.5) * width / stones - width / 2 + jitter;
      stone(ctx, x, foot - flat, rx * (0.96 + 0.1 * part(roll, 8)), flat,
        FIELDSTONE_TONES[(roll >>> 16) % FIELDSTONE_TONES.length], jitter * 3);
    }
    foot -= 1.72 * flat;
    flat *= SMALLER;
  });
}

/** The pictures of cairns at `tile` device px per tile. */
export class Heaps {
  constructor(tile) {
    this.tile = tile;
    this.half = 1;
    this.top = TOP * SIZE;
    /** @type {import('../view/sprite.js').Sprite[]} */
    this.sprites = [];
  }

  /** @param {import('../replica.js').Thing} thing */
  draw(ctx, _state, thing, px, py) {
    const { id, values: { stones } } = thing;
    const sprite = this.#sprite(Math.min(Math.max(stones + 2, LEAST), MOST), rollOf(id) % VARIANTS);
    ctx.drawImage(sprite.canvas, px - sprite.ax, py - sprite.ay);
  }

  #sprite(count, variant) {
    const number = (count - LEAST) * VARIANTS + variant;
    return this.sprites[number] ??= spriteOf(this.tile * SIZE,
      { left: -0.75, top: -TOP, right: 0.8, bottom: 0.25 },
      (ctx) => paintCairn(ctx, count, variant));
  }
}
