// Darkens the corners a little. It does so on the canvas: an element of the page would be blended over
// every pixel in every frame, while this leaves out the middle.

import { canvasOf, contextOf } from './sprite.js';

const FROM = 0.72;                        // part of the way from the middle to a corner, from
                                          // which on it is darker
const DARKEST = 0.24;
const CORNER = 0.43;                      // part of the screen's sides that a corner's picture
                                          // covers

export class Vignette {
  /** Take the size of the screen in device px. */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.corners = [];
    this.w = Math.ceil(width * CORNER);
    this.h = Math.ceil(height * CORNER);
    for (const x of [0, width - this.w]) {
      for (const y of [0, height - this.h]) this.corners.push({ x, y, canvas: this.#paint(x, y) });
    }
  }

  #paint(x, y) {
    const canvas = canvasOf(this.w, this.h), ctx = contextOf(canvas);
    const middleX = this.width / 2, middleY = this.height / 2, radius = Math.SQRT2;
    ctx.translate(middleX - x, middleY - y);
    ctx.scale(middleX, middleY);
    const shade = ctx.createRadialGradient(0, 0, radius * FROM, 0, 0, radius);
    shade.addColorStop(0, 'rgba(16, 24, 34, 0)');
    shade.addColorStop(0.5, `rgba(16, 24, 34, ${DARKEST * 0.36})`);
    shade.addColorStop(1, `rgba(16, 24, 34, ${DARKEST})`);
    ctx.fillStyle = shade;
    ctx.fillRect(-1, -1, 2, 2);
    return canvas;
  }

  draw(ctx) {
    for (const { canvas, x, y } of this.corners) ctx.drawImage(canvas, x, y);
  }
}
