// The picture of a wreath of flowers, which lies where people have danced until their square bloomed. The flowers of
// the square are painted with the ground: see view/details.js.

import { oval, spriteOf } from '../view/sprite.js';

const WIDE = 0.62, HIGH = 0.4;            // tiles from its middle to its ring
const FLOWERS = 14;
const PETALS = ['#ff7fa8', '#ffffff', '#ffd24a', '#b795f5'];

function paintWreath(ctx) {
  ctx.lineWidth = 0.14;
  for (const { y, style } of [{ y: 0.05, style: 'rgba(30, 50, 30, 0.4)' }, { y: 0, style: '#3f8a4a' }]) {
    ctx.strokeStyle = style;
    ctx.beginPath();
    ctx.ellipse(0, y, WIDE, HIGH, 0, 0, Math.PI * 2);
    ctx.stroke();
  }
  for (let i = 0; i < FLOWERS; i++) {
    const turn = i / FLOWERS * Math.PI * 2, x = Math.cos(turn) * WIDE, y = Math.sin(turn) * HIGH;
    oval(ctx, x * 1.16, y * 1.2, 0.13, 0.06, i % 2 ? '#57a552' : '#357a42', turn);
    for (let petal = 0; petal < 5; petal++) {
      const at = petal * Math.PI * 0.4 + i;
      oval(ctx, x + 0.075 * Math.cos(at), y + 0.065 * Math.sin(at), 0.062, 0.055, PETALS[i % PETALS.length]);
    }
    oval(ctx, x, y, 0.045, 0.04, '#f0b429');
  }
}

/** The pictures of wreaths at `tile` device px per tile: they lie on the ground, under everybody. */
export class Wreaths {
  constructor(tile) {
    this.half = this.top = 0.8;
    this.wreath = spriteOf(tile, { left: -0.9, top: -0.65, right: 0.9, bottom: 0.7 }, paintWreath);
  }

  drawGround(ctx, _state, _thing, px, py) {
    ctx.drawImage(this.wreath.canvas, px - this.wreath.ax, py - this.wreath.ay);
  }

  draw() {}
}
