// The ember: a flame over the head of the player that carries it, which shrinks as it burns down, and its light by
// night; and flames on maps.

import { discOf } from '../view/sprite.js';
import { flameAt, flamesOf } from './fire.js';

const UP = 1.55;                          // tiles from the feet to the flame's foot
const LARGE = 0.8, LEAST = 0.4;           // of a fire's flame: its size in the beginning, and the share of that in the end
const POOL = 4, HALO = 1.2;               // tiles
const FINE = 3;                           // flames on maps are painted this many times as large as they are drawn
const WARM = '255, 150, 60';

/** @type {Map<number, import('../view/sprite.js').Sprite>} Flames on maps, by their heights. */
const small = new Map();

/** Draw a flame on a map, with its foot at (x, y), about `height` px high. */
export function drawFlame(ctx, x, y, height) {
  let sprite = small.get(height);
  if (sprite === undefined) small.set(height, sprite = flamesOf(FINE * height, 1)[0]);
  ctx.drawImage(sprite.canvas, x - sprite.ax / FINE, y - sprite.ay / FINE, sprite.w / FINE, sprite.h / FINE);
}

export class EmberPicture {
  /** `tile` is device px per tile, and `ember` the one that it shows.
   * @param {number} tile @param {import('./ember.js').Ember} ember */
  constructor(tile, ember) {
    this.ember = ember;
    this.tile = tile;
    this.flames = flamesOf(Math.round(tile * LARGE));
    this.halo = discOf(tile, HALO, HALO, WARM, 0.5);
    this.pool = discOf(tile, POOL, POOL * 0.72, WARM, 0.3);
  }

  /** Draw it over the walker whose feet are at the device px (px, py). */
  draw(ctx, state, px, py) {
    const left = this.ember.held?.left ?? 0, { canvas, ax, ay } = flameAt(this.flames, state), size = LEAST + (1 - LEAST) * left;
    ctx.drawImage(canvas, px - ax * size, py - UP * this.tile - ay * size, canvas.width * size, canvas.height * size);
  }

  /** Let it light the ground around in the dark; the canvas adds what is drawn. */
  drawLight(ctx, px, py) {
    const { pool, halo } = this;
    ctx.drawImage(pool.canvas, px - pool.ax, py - pool.ay);
    ctx.drawImage(halo.canvas, px - halo.ax, py - Math.round((UP + 0.4) * this.tile) - halo.ay);
  }
}
