// Off-screen pictures, which are drawn once and copied in every frame.

/** Return an off-screen canvas of whole device pixels. */
export function canvasOf(width, height) {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.ceil(width));
  canvas.height = Math.max(1, Math.ceil(height));
  return canvas;
}

/** Return the drawing context of a canvas.
 * @param {HTMLCanvasElement} canvas @param {CanvasRenderingContext2DSettings} settings */
export function contextOf(canvas, settings = {}) {
  const ctx = canvas.getContext('2d', settings);
  if (ctx === null) throw new Error('this browser has no memory left to draw with');
  return ctx;
}

/** @typedef {{ canvas: HTMLCanvasElement, ax: number, ay: number, w: number, h: number }} Sprite  A picture,
 * the position of the feet in it, and its size, in device px. */

/** Return a sprite that paint(ctx) draws in tiles, with the origin at the feet. The box is in tiles
 * around that origin; `tile` is device px per tile.
 * @returns {Sprite} */
export function spriteOf(tile, { left, top, right, bottom }, paint) {
  const ax = Math.ceil(-left * tile) + 1, ay = Math.ceil(-top * tile) + 1;
  const canvas = canvasOf(ax + Math.ceil(right * tile) + 1, ay + Math.ceil(bottom * tile) + 1);
  const ctx = contextOf(canvas);
  ctx.translate(ax, ay);
  ctx.scale(tile, tile);
  paint(ctx);
  return { canvas, ax, ay, w: canvas.width, h: canvas.height };
}

/** Fill an ellipse. */
export function oval(ctx, x, y, rx, ry, style, turn = 0) {
  ctx.fillStyle = style;
  ctx.beginPath();
  ctx.ellipse(x, y, rx, ry, turn, 0, Math.PI * 2);
  ctx.fill();
}

/** Return the picture of a light that fades outwards, with half axes of `rx` and `ry` tiles. `colour` is
 * 'red, green, blue', and `most` its strength in the middle, 0 to 1.
 * @returns {Sprite} */
export function discOf(tile, rx, ry, colour, most) {
  const box = { left: -rx, top: -ry, right: rx, bottom: ry };
  return spriteOf(tile, box, (ctx) => {
    ctx.scale(rx, ry);
    const light = ctx.createRadialGradient(0, 0, 0, 0, 0, 1);
    light.addColorStop(0, `rgba(${colour}, ${most})`);
    light.addColorStop(0.3, `rgba(${colour}, ${most * 0.62})`);
    light.addColorStop(0.65, `rgba(${colour}, ${most * 0.2})`);
    light.addColorStop(1, `rgba(${colour}, 0)`);
    ctx.fillStyle = light;
    ctx.fillRect(-1, -1, 2, 2);
  });
}

/** A map that forgets the least recently used entries when all entries together weigh more than
 * `limit`. */
export class Lru {
  /** @param {number} limit @param {((value: any) => void) | null} forget  called with what is forgotten */
  constructor(limit, forget = null) {
    this.limit = limit;
    this.weight = 0;
    this.forget = forget;
    this.entries = new Map();
  }

  get(key) {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  set(key, value, weight = 1) {
    const before = this.entries.get(key);
    if (before !== undefined) {
      this.weight -= before.weight;
      this.entries.delete(key);
    }
    this.entries.set(key, { value, weight });
    this.weight += weight;
    for (const [old, entry] of this.entries) {
      if (this.weight <= this.limit || old === key) break;
      this.entries.delete(old);
      this.weight -= entry.weight;
      if (this.forget !== null) this.forget(entry.value);
    }
    return value;
  }
}
