// Darkens the corners a little. It does so on the canvas: an element of the page would be blended over
// every pixel in every frame, while this leaves out the middle and the bright parts of the corners.

import { canvasOf, contextOf } from './sprite.js';

const FROM = 0.72;                        // part of the way from the middle to a corner at
                                          // which it begins to darken
const DARKEST = 0.24;
const CORNER = 0.43;                      // part of the screen's sides that a corner's picture
                                          // covers
const SLICES = 6;                         // pieces in which each picture is copied
const RADIUS = Math.SQRT2;                // from the middle to a corner, if half of each side is 1

export class Vignette {
  /** Take the size of the screen in device px. */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {{ canvas: HTMLCanvasElement, from: number, top: number, w: number, h: number, x: number, y: number }[]} What
     * is copied from a corner's picture, and to where. */
    this.slices = [];
    this.w = Math.ceil(width * CORNER);
    this.h = Math.ceil(height * CORNER);
    for (const x of [0, width - this.w]) {
      for (const y of [0, height - this.h]) this.#slice(this.#paint(x, y), x, y);
    }
  }

  /** Cut the picture of a corner into upright slices that have only its dark part. */
  #slice(canvas, x, y) {
    for (let i = 0; i < SLICES; i++) {
      const from = Math.floor(i * this.w / SLICES), w = Math.floor((i + 1) * this.w / SLICES) - from;
      const far = Math.max(...[from, from + w].map((px) => Math.abs(2 * (x + px) / this.width - 1)));
      const bright = Math.sqrt(Math.max((RADIUS * FROM) ** 2 - far ** 2, 0)) * this.height / 2;
      const h = Math.min(Math.ceil(this.height / 2 - bright), this.h), top = y === 0 ? 0 : this.h - h;
      if (h > 0) this.slices.push({ canvas, from, top, w, h, x: x + from, y: y + top });
    }
  }

  #paint(x, y) {
    const canvas = canvasOf(this.w, this.h), ctx = contextOf(canvas);
    const middleX = this.width / 2, middleY = this.height / 2;
    ctx.translate(middleX - x, middleY - y);
    ctx.scale(middleX, middleY);
    const shade = ctx.createRadialGradient(0, 0, RADIUS * FROM, 0, 0, RADIUS);
    shade.addColorStop(0, 'rgba(16, 24, 34, 0)');
    shade.addColorStop(0.5, `rgba(16, 24, 34, ${DARKEST * 0.36})`);
    shade.addColorStop(1, `rgba(16, 24, 34, ${DARKEST})`);
    ctx.fillStyle = shade;
    ctx.fillRect(-1, -1, 2, 2);
    return canvas;
  }

  draw(ctx) {
    for (const { canvas, from, top, w, h, x, y } of this.slices) ctx.drawImage(canvas, from, top, w, h, x, y, w, h);
  }
}
