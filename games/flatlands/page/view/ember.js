// The ember over the head of the player that carries it: a glowing coal with sparks, and its light by night.

import { discOf, oval, spriteOf } from './sprite.js';

const UP = 1.78;                          // tiles from the feet to the coal
const BOB = 0.05, BOB_MS = 1700;          // tiles
const FLICKER_MS = 530;
const SPARKS = 4, SPARK_MS = 1300, RISE = 0.75;       // tiles
const LARGE = 1.65;                       // the coal is drawn so much larger than it is painted
const POOL = 3.6, HALO = 1.05;            // tiles
const WARM = '255, 150, 60';
const TAU = Math.PI * 2;

function paintCoal(ctx) {
  ctx.scale(LARGE, LARGE);
  const lumps = [[-0.08, 0.05, 0.13, 0.1], [0.1, 0.05, 0.12, 0.1], [0, -0.06, 0.15, 0.12]];
  for (const [x, y, rx, ry] of lumps) oval(ctx, x, y, rx + 0.035, ry + 0.035, '#4a1408');
  for (const [x, y, rx, ry] of lumps) oval(ctx, x, y, rx, ry, '#d8381a');
  for (const [x, y, rx, ry] of lumps) oval(ctx, x, y - 0.02, rx * 0.66, ry * 0.6, '#ff8a2b');
  oval(ctx, 0, -0.07, 0.06, 0.045, '#ffe08a');
}

export class EmberPicture {
  /** `tile` is device px per tile. */
  constructor(tile) {
    this.tile = tile;
    this.coal = spriteOf(tile, { left: -0.46, top: -0.42, right: 0.46, bottom: 0.38 }, paintCoal);
    this.halo = discOf(tile, HALO, HALO, WARM, 0.9);
    /** @type {import('./sprite.js').Sprite | null} */
    this.pool = null;
  }

  /** Draw it over the walker whose feet are at the device px (px, py). */
  draw(ctx, { now, still }, px, py) {
    const { tile } = this, y = py - Math.round(tile * this.#up(now, still));
    const flicker = still ? 1 : 0.85 + 0.15 * Math.sin(now / FLICKER_MS * TAU);
    const { globalAlpha } = ctx;
    ctx.globalAlpha = globalAlpha * flicker;
    this.#stamp(ctx, this.halo, px, y);
    ctx.globalAlpha = globalAlpha;
    this.#stamp(ctx, this.coal, px, y);
    if (!still) this.#drawSparks(ctx, now, px, y, globalAlpha);
    ctx.globalAlpha = globalAlpha;
  }

  /** Let it light the ground around in the dark; the canvas adds what is drawn. */
  drawLight(ctx, { now, still }, px, py) {
    this.pool ??= discOf(this.tile, POOL, POOL * 0.72, WARM, 0.5);
    this.#stamp(ctx, this.pool, px, py);
    this.#stamp(ctx, this.halo, px, py - Math.round(this.tile * this.#up(now, still)));
  }

  #up(now, still) {
    return UP + (still ? 0 : BOB * Math.sin(now / BOB_MS * TAU));
  }

  #drawSparks(ctx, now, px, py, alpha) {
    const { tile } = this;
    for (let i = 0; i < SPARKS; i++) {
      const turns = now / SPARK_MS + i / SPARKS, part = turns % 1, seed = Math.floor(turns) * 7 + i * 3;
      const x = px + (Math.sin(seed * 12.9) * 0.24 + Math.sin(part * 5 + seed) * 0.05) * tile;
      const size = 0.06 * (1 - part * 0.6) * tile;
      ctx.globalAlpha = alpha * (1 - part);
      oval(ctx, x, py - part * RISE * tile, size, size, part < 0.4 ? '#ffd27a' : '#ff8a3a');
    }
  }

  #stamp(ctx, { canvas, ax, ay }, x, y) {
    ctx.drawImage(canvas, x - ax, y - ay);
  }
}
