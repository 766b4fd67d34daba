// The key in the back of a clockwork walker, which turns slowly. A walker's face is always seen, so the key
// stands out at its side, behind it.

import { oval, spriteOf } from './sprite.js';

const TURN_MS = 450;                      // from one picture to the next
const UP = 0.5;                           // tiles from the feet to the key
const ASIDE = 0.33;                       // tiles from the middle of the body to the beginning of its shaft
const BOX = { left: -0.32, top: -0.34, right: 0.32, bottom: 0.34 };
const WIDTHS = [1, 0.7, 0.25, 0.7];       // of the bow, as it turns
const BRASS = '#dba842', DARK = '#6d4a12', GLEAM = '#ffe9b3';

/** Paint a key whose shaft leads to the right from the origin, and whose bow is as wide as `width` says. */
function paint(ctx, width) {
  const from = 0.15 * width, ry = 0.03 + 0.1 * width;
  for (const { grow, style } of [{ grow: 0.035, style: DARK }, { grow: 0, style: BRASS }]) {
    ctx.fillStyle = style;
    ctx.fillRect(-0.06, -0.045 - grow, 0.2 + grow, 0.09 + 2 * grow);
    for (const side of [-1, 1]) oval(ctx, 0.17, side * from, 0.1 + grow, ry + grow, style);
  }
  for (const side of [-1, 1]) oval(ctx, 0.17, side * from, 0.042, ry * 0.42, DARK);
  oval(ctx, 0.12, -0.02, 0.03, 0.02, GLEAM);
}

export class Keys {
  /** `tile` is device px per tile. */
  constructor(tile) {
    this.tile = tile;
    const pictures = (way) => WIDTHS.map((width) => spriteOf(tile, BOX, (ctx) => {
      ctx.scale(way, 1);
      paint(ctx, width);
    }));
    this.left = pictures(-1);
    this.right = pictures(1);
  }

  /** Draw the key of a walker whose feet are at the device px (px, py), before its body is drawn. It does not
   * turn where motion is reduced, nor on a walker whose connection is lost. */
  draw(ctx, { now, still }, { walker, lookX, face }, px, py) {
    const step = still || walker.dimmed ? 0 : Math.floor((now + face.roll % 4096) / TURN_MS);
    const way = lookX > 0.2 ? -1 : 1;
    const { canvas, ax, ay } = (way < 0 ? this.left : this.right)[step % WIDTHS.length];
    ctx.drawImage(canvas, px + Math.round(way * ASIDE * this.tile) - ax,
      py - Math.round(UP * this.tile) - ay);
  }
}
