// The pictures of lost things: as they lie, and as they are worn. They are drawn in tiles, with the origin where they
// touch the ground, or over the head of who wears them.

import { fill, line } from '../view/shapes.js';
import { oval, spriteOf } from '../view/sprite.js';
import { SHADOW } from '../view/palette.js';

const UP = 1.25;                          // tiles from the feet of who wears one to its foot
const SWAYS = 900;                        // ms

/** How each is painted, with its foot at the origin. @type {((ctx: CanvasRenderingContext2D) => void)[]} */
const PAINT = [
  (ctx) => {
    line(ctx, '#f3e2bd', 0.04, 'M0 0Q.16-.2 .04-.42');
    fill(ctx, '#ef476f', 'M.04-.36L-.26-.72L.04-1.16L.34-.72Z');
    fill(ctx, '#ffd166', 'M.04-.36L.04-1.16L.34-.72Z');
    fill(ctx, '#5aa9e6', 'M-.26-.72L.04-1.16L.04-.72Z');
  },
  (ctx) => {
    line(ctx, '#f3e2bd', 0.04, 'M0 0Q-.1-.16 0-.34');
    oval(ctx, 0, -0.7, 0.28, 0.36, '#e05780');
    oval(ctx, -0.09, -0.82, 0.08, 0.12, '#ff9ebb');
    fill(ctx, '#e05780', 'M-.05-.3L.05-.3L0-.37Z');
  },
  (ctx) => {
    fill(ctx, '#ffd166', 'M-.34 0L-.4-.42L-.18-.22L0-.52L.18-.22L.4-.42L.34 0Q0 .1-.34 0');
    fill(ctx, '#e0a52e', 'M-.34 0L-.36-.12Q0-.02 .36-.12L.34 0Q0 .1-.34 0');
    for (const [x, y] of [[-0.4, -0.42], [0, -0.52], [0.4, -0.42]]) oval(ctx, x, y, 0.06, 0.06, '#ef476f');
  },
];

const BOX = { left: -0.5, top: -1.25, right: 0.5, bottom: 0.2 };

/** The pictures of lost things that lie there, at `tile` device px per tile. */
export class LostPictures {
  constructor(tile) {
    this.half = 0.6;
    this.top = 1.3;
    this.sprites = PAINT.map((paint) => spriteOf(tile, BOX, (ctx) => {
      oval(ctx, 0.04, 0.02, 0.3, 0.12, SHADOW);
      paint(ctx);
    }));
  }

  draw(ctx, _state, thing, px, py) {
    const { canvas, ax, ay } = this.sprites[thing.values.what] ?? this.sprites[0];
    ctx.drawImage(canvas, px - ax, py - ay);
  }
}

/** The picture of what somebody wears. */
export class Worn {
  /** `what` returns its number. @param {number} tile @param {() => number} what */
  constructor(tile, what) {
    this.what = what;
    this.tile = tile;
    this.sprites = PAINT.map((paint) => spriteOf(tile, BOX, paint));
  }

  draw(ctx, { now, still }, px, py) {
    const { canvas, ax, ay } = this.sprites[this.what()] ?? this.sprites[0];
    ctx.save();
    ctx.translate(px, py - UP * this.tile);
    ctx.rotate(still ? 0 : 0.09 * Math.sin(now / SWAYS));
    ctx.drawImage(canvas, -ax, -ay);
    ctx.restore();
  }

  drawLight() {}
}
