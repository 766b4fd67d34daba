// Fires that burn in hearths: on the plaza, and before landmarks. They are drawn among the things of the world,
// so that walkers stand before and behind them, and they give light by night.

import { hearthOf, PLAZA_HEARTH } from '../landmarks.js';
import { fill } from '../view/shapes.js';
import { discOf, oval, spriteOf } from '../view/sprite.js';
import { keyOf, PLAZA_KEY } from './ember.js';

/** The kind of these pictures among the things. */
export const FIRE = 'Fire';

const UP = 0.5;                           // tiles from the hearth's foot to the fire
const FRAMES = 6, FRAME_MS = 110;
const SPARKS = 5, SPARK_MS = 1500, RISE = 1.5;        // tiles
const POOL = 4.6, HALO = 1.5;             // tiles
const WARM = '255, 150, 60';
const TONES = ['#e2502a', '#ff8a2b', '#ffd166'];
const TAU = Math.PI * 2;

/** Return the fires that burn near, in the form of things.
 * @param {import('./ember.js').Ember} ember @param {import('../state.js').State} state @returns {any[]} */
export function firesOf({ fires }, { marks }) {
  const places = marks.filter((mark) => fires.has(keyOf(mark))).map(hearthOf);
  if (fires.has(PLAZA_KEY)) places.push(PLAZA_HEARTH);
  return places.map(({ x, y }) => ({ thing: { type: FIRE, id: x + ',' + y, x, y, values: {} }, x: x + 0.5, y: y + 0.52,
    alpha: 1, own: false, taken: false, goneAt: null }));
}

/** Paint one of the pictures of a flame that flickers. */
function paintFlame(ctx, frame) {
  const sway = (i, by) => by * Math.sin((frame / FRAMES + i / 3) * TAU);
  TONES.forEach((style, i) => {
    const wide = 0.46 - 0.14 * i, high = 1.1 - 0.32 * i + sway(i, 0.09), lean = sway(i + 1, 0.12);
    fill(ctx, style, `M${-wide} 0C${-wide * 1.2} ${-high * 0.5} ${lean - 0.2} ${-high * 0.5} ${lean} ${-high}`
      + `C${lean + 0.16} ${-high * 0.6} ${wide * 1.25} ${-high * 0.4} ${wide} 0Q0 .2 ${-wide} 0Z`);
    if (i < 2) fill(ctx, style, `M${-wide} 0Q${-wide * 1.5} ${-high * 0.3} ${-wide * 0.9 - lean} ${-high * 0.62}Q${-wide * 0.4} ${-high * 0.3} 0 0Z`);
  });
}

/** Return the pictures of a flame that flickers, at `tile` px per tile.
 * @returns {import('../view/sprite.js').Sprite[]} */
export function flamesOf(tile, frames = FRAMES) {
  const box = { left: -0.8, top: -1.3, right: 0.8, bottom: 0.2 };
  return Array.from({ length: frames }, (_, frame) => spriteOf(tile, box, (ctx) => paintFlame(ctx, frame)));
}

/** Return the picture of a flame that is shown now.
 * @param {import('../view/sprite.js').Sprite[]} flames */
export function flameAt(flames, { now, still }) {
  return flames[still ? 0 : Math.floor(now / FRAME_MS) % flames.length];
}

/** The pictures of fires at `tile` device px per tile. */
export class Fires {
  constructor(tile) {
    this.tile = tile;
    this.half = 0.8;
    this.top = 2.2;
    this.now = 0;                         // of the frame that is drawn; 0 if nothing is to move
    this.flames = flamesOf(tile);
    this.halo = discOf(tile, HALO, HALO, WARM, 0.7);
    /** @type {import('../view/sprite.js').Sprite | null} */
    this.pool = null;
  }

  draw(ctx, state, _, px, py) {
    const { now, still } = state, { canvas, ax, ay } = flameAt(this.flames, state), { tile } = this;
    this.now = still ? 0 : now;
    const y = py - Math.round(UP * tile), { globalAlpha } = ctx;
    ctx.drawImage(canvas, px - ax, y - ay);
    for (let i = 0; i < (still ? 0 : SPARKS); i++) {
      const turns = now / SPARK_MS + i / SPARKS, part = turns % 1, seed = Math.floor(turns) * 7 + i * 3;
      ctx.globalAlpha = globalAlpha * (1 - part);
      const size = 0.06 * (1 - part * 0.5) * tile;
      oval(ctx, px + (Math.sin(seed * 12.9) * 0.3 + Math.sin(part * 5 + seed) * 0.12) * tile,
        y - (0.5 + part * RISE) * tile, size, size, TONES[1 + seed % 2]);
    }
    ctx.globalAlpha = globalAlpha;
  }

  drawGleam(ctx, _, px, py) {
    this.pool ??= discOf(this.tile, POOL, POOL * 0.72, WARM, 0.5);
    const { globalAlpha } = ctx;
    ctx.globalAlpha = globalAlpha * (0.88 + 0.12 * Math.sin(this.now / 170) * Math.sin(this.now / 77));
    ctx.drawImage(this.pool.canvas, px - this.pool.ax, py - this.pool.ay);
    ctx.drawImage(this.halo.canvas, px - this.halo.ax, py - Math.round((UP + 0.4) * this.tile) - this.halo.ay);
    ctx.globalAlpha = globalAlpha;
  }
}
