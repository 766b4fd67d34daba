// Butterflies over the flowers, and the places of fireflies at night. Each stays in its own patch, and
// its path is a function of time alone.

import { GRASS, WOOD } from '../terrain.js';
import { part, rollAt } from './dice.js';
import { TONES } from './palette.js';
import { oval, spriteOf } from './sprite.js';

const COLOURS = TONES.flatMap(({ butterflies }) => butterflies);
const PATCH = 8;                          // tiles at each side of a patch, which has at most one
                                          // butterfly
const SALT = 0xb77e, SALT_FLY = 0xf1ef1;
const MOST_DARK = 0.3;                    // butterflies sleep when it is darker
const FLAP_MS = 90, LOOP_MS = 9000;
const RANGE = 2.2, HEIGHT = 0.7;          // tiles

/** Return the butterflies of the window's piece: x, y (px), phase and colour of each. Each region has
 * four colours. */
export function butterfliesOf(window, tile) {
  const { x0, y0, tiles } = window, found = [];
  for (let y = 0; y < tiles; y += PATCH) {
    for (let x = 0; x < tiles; x += PATCH) {
      const roll = rollAt(x0 + x, y0 + y, SALT), at = 2 + (roll >>> 28 & 3);
      if ((roll & 3) > 0 || window.kind(x + at, y + at) !== GRASS) continue;
      found.push((x + at) * tile, (y + at) * tile, roll >>> 4 & 1023,
        4 * window.region(x + at, y + at) + (roll >>> 16 & 3));
    }
  }
  return Int16Array.from(found);
}

/** Return the fireflies of the window's piece: x, y (px) and phase of each. Some patches have three. */
export function firefliesOf(window, tile) {
  const { x0, y0, tiles } = window, found = [];
  for (let y = 0; y < tiles; y += PATCH) {
    for (let x = 0; x < tiles; x += PATCH) {
      const kind = window.kind(x + 4, y + 4);
      if ((rollAt(x0 + x, y0 + y, SALT_FLY) & 1) > 0 || (kind !== GRASS && kind !== WOOD)) continue;
      for (let i = 1; i <= 3; i++) {
        const roll = rollAt(x0 + x, y0 + y, SALT_FLY + i);
        found.push(Math.round((x + PATCH * part(roll, 0)) * tile),
          Math.round((y + PATCH * part(roll, 8)) * tile), roll >>> 16 & 1023);
      }
    }
  }
  return Int16Array.from(found);
}

export class Butterflies {
  /** `tile` is in device px. */
  constructor(tile) {
    const box = { left: -0.25, top: -0.2, right: 0.25, bottom: 0.2 };
    this.wings = COLOURS.map((colour) => [1, 0.55, 0.2].map((open) => spriteOf(tile, box, (ctx) => {
      for (const side of [-1, 1]) {
        oval(ctx, side * 0.085 * open, -0.05, 0.1 * open, 0.085, colour, side * 0.5);
        oval(ctx, side * 0.07 * open, 0.06, 0.07 * open, 0.06, colour, -side * 0.4);
      }
      oval(ctx, 0, 0, 0.018, 0.1, '#3c4654');
    })));
    this.shade = spriteOf(tile, box, (ctx) => oval(ctx, 0, 0, 0.1, 0.04, 'rgba(32, 46, 38, 0.22)'));
    this.visit = (piece, x, y) => this.#drawPiece(piece, x, y);
  }

  draw(ctx, state, screen, ground) {
    if (state.still || state.sky.dark > MOST_DARK) return;
    this.ctx = ctx;
    this.now = state.now;
    this.tile = screen.tile;
    ground.eachPiece(screen, this.visit);
  }

  #drawPiece({ butterflies }, left, top) {
    const { ctx, now, tile, shade } = this;
    for (let i = 0; i < butterflies.length; i += 4) {
      const turn = (now / LOOP_MS + butterflies[i + 2] / 1024) * Math.PI * 2;
      const x = left + butterflies[i] + Math.sin(turn) * RANGE * tile;
      const y = top + butterflies[i + 1] + Math.sin(2 * turn + 1) * RANGE * 0.5 * tile;
      const up = (HEIGHT + 0.25 * Math.sin(5 * turn)) * tile;
      const flap = Math.floor(now / FLAP_MS + butterflies[i + 2]) % 4;
      const wings = this.wings[butterflies[i + 3]][flap === 3 ? 1 : flap];
      ctx.drawImage(shade.canvas, Math.round(x) - shade.ax, Math.round(y) - shade.ay);
      ctx.drawImage(wings.canvas, Math.round(x) - wings.ax, Math.round(y - up) - wings.ay);
    }
  }
}
