// The light around ghosts, which are drawn with the walkers.

import { discOf } from './sprite.js';

const HALO = 1.3;                         // tiles
const PALE = '150, 205, 255';

/** The pale light around a ghost, at `tile` device px per tile. */
export class GhostLight {
  constructor(tile) {
    this.tile = tile;
    this.halo = discOf(tile, HALO, HALO * 0.8, PALE, 0.26);
  }

  /** Draw it over the ground in the dark, around feet at the device px (px, py); the canvas adds what is drawn. */
  draw(ctx, px, py) {
    ctx.drawImage(this.halo.canvas, px - this.halo.ax, py - Math.round(0.5 * this.tile) - this.halo.ay);
  }
}
