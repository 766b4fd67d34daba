// Wind: gusts that run over the land, are seen as streaks of air, and bend the tufts of grass. Its strength at a
// place is a function of time. Tufts under the crown of a tree, on paving, or at the border of a piece lie still: details.js paints them
// with the ground.

import { DESERT, REGIONS, SNOW } from '../regions.js';
import { GRASS, PLAZA_WITHIN } from '../terrain.js';
import { CLEAR_OF_PATH, rollOfDetail, tuft } from './details.js';
import { part, rollAt } from './dice.js';
import { GROUND_REACH } from './grounds.js';
import { TONES } from './palette.js';
import { PROPS } from './props.js';
import { line } from './shapes.js';
import { spriteOf } from './sprite.js';

const LOOSE = 11;                         // bits of a tile's roll that are 0 if the wind bends its tuft: half of all
const LEAST_TILE = 16;                    // device px per tile: on smaller tiles tufts are not seen to bend
const BENDS = 4;                          // pictures of a bending tuft, in addition to the upright one
const LEAN = 0.14;                        // tiles by which the strongest gust bends it
const SIZES = 3;
const GUST = 34, GUST_MS = 7000;          // tiles between two gusts, and ms
const LULL_MS = 41_000, LULL = 60;        // ms and tiles between two times without any
const TREMBLE_MS = 340;
const AIR = 9, AIR_FROM = 0.3;           // tiles each way that have one streak of air; the least wind that shows it
const AIR_ALPHA = 0.6, DRIFT = 5;         // of the strongest; tiles that a streak drifts
const SALT = 0x3a1d;
const TAU = Math.PI * 2;

/** Return how strong the wind is at a place in tiles at time `now`, ms: from 0 to 1. Gusts run to the east and a
 * little to the south. */
export function windAt(x, y, now) {
  const front = Math.sin(frontAt(x, y, now));
  if (front <= 0) return 0;
  const lull = 0.62 + 0.38 * Math.sin((y / LULL + now / LULL_MS) * TAU);
  return front * front * lull * (0.86 + 0.14 * Math.sin(now / TREMBLE_MS + x));
}

/** Return where a place lies between two gusts, in radians, less than a whole turn. */
function frontAt(x, y, now) {
  return ((x + 0.35 * y) / GUST - now / GUST_MS) % 1 * TAU;
}

/** Paint a streak of air, which ends in a curl. */
function paintAir(ctx) {
  line(ctx, 'rgba(255, 255, 255, 0.55)', 0.06, 'M-1.8 .14C-.9-.14 .2-.08 .9 .02C1.5 .1 1.84-.1 1.76-.32C1.68-.5 1.34-.48 1.34-.28C1.34-.16 1.5-.14 1.56-.24');
  line(ctx, 'rgba(255, 255, 255, 0.35)', 0.05, 'M-1.1 .24C-.5 .06 .2 .1 .8 .2');
}

/** Return the tufts of the window's piece that the wind bends: x, y (px of their feet) and number of the picture
 * of each; and their tiles, as row times side plus column. `near` are the props whose pictures are in the piece. */
export function tuftsOf(window, tile, near) {
  const { tiles, x0, y0 } = window, tufts = [], loose = new Set();
  for (let y = 1; y < tiles - 1 && tile >= LEAST_TILE; y++) {
    for (let x = 1; x < tiles - 1; x++) {
      if (window.kind(x, y) !== GRASS || window.path(x, y) <= CLEAR_OF_PATH) continue;
      const roll = rollOfDetail(x0 + x, y0 + y), region = window.region(x, y);
      if ((roll & LOOSE) > 0 || region === SNOW || region === DESERT) continue;
      const footX = x + part(roll, 8), footY = y + part(roll, 16);
      if (isPaved(window, footX, footY) || near.some((prop) => covers(prop, footX, footY, tile))) continue;
      loose.add(y * tiles + x);
      tufts.push(Math.round(footX * tile), Math.round(footY * tile),
        (2 * region + (roll >>> 2 & 1)) * SIZES + Math.floor(part(roll, 24) * (SIZES - 0.01)));
    }
  }
  return { tufts: Int16Array.from(tufts), loose };
}

function isPaved({ x0, y0, marks }, x, y) {
  if (Math.hypot(x0 + x, y0 + y) < PLAZA_WITHIN + 3) return true;
  const { side, down } = GROUND_REACH;
  return marks.some((mark) => Math.hypot((mark.foot + 0.5 - x0 - x) / side, (mark.y + 0.5 - y0 - y) / down) < 1);
}

/** Return whether the picture of a prop may cover a tuft. */
function covers({ number, x, y }, footX, footY, tile) {
  const { left, top, right, bottom } = PROPS[number - 1].box, dx = footX - x / tile, dy = footY - y / tile;
  return dx > left - 0.2 && dx < right + 0.2 && dy > top - 0.1 && dy < bottom + 0.4;
}

export class Wind {
  /** `tile` is device px per tile. */
  constructor(tile) {
    this.tile = tile;
    this.now = 0;                         // ms; negative if nothing is to move
    /** @type {import('./sprite.js').Sprite | null} */
    this.air = null;
    /** @type {import('./sprite.js').Sprite[]} */
    this.sprites = [];
    this.visit = (piece, x, y) => this.#drawPiece(piece, x, y);
  }

  draw(ctx, state, screen, ground) {
    this.ctx = ctx;
    this.now = state.still || state.plain ? -1 : state.now;
    ground.eachPiece(screen, this.visit);
    if (this.now >= 0) this.#drawAir(screen);
  }

  /** Draw the streaks of air where the wind is strong. */
  #drawAir(screen) {
    const { ctx, tile, now } = this;
    const from = { x: Math.floor(screen.tilesX(0) / AIR) - 1, y: Math.floor(screen.tilesY(0) / AIR) };
    const to = { x: screen.tilesX(screen.width) / AIR, y: screen.tilesY(screen.height) / AIR };
    for (let row = from.y; row <= to.y; row++) {
      for (let column = from.x; column <= to.x; column++) {
        const roll = rollAt(column, row, SALT), x = (column + part(roll, 0)) * AIR, y = (row + part(roll, 8)) * AIR;
        const wind = windAt(x, y, now);
        if (wind < AIR_FROM) continue;
        this.air ??= spriteOf(tile, { left: -1.9, top: -0.5, right: 1.9, bottom: 0.3 }, paintAir);
        ctx.globalAlpha = AIR_ALPHA * (wind - AIR_FROM) / (1 - AIR_FROM);
        const on = (0.5 + frontAt(x, y, now) / TAU) * -DRIFT;
        ctx.drawImage(this.air.canvas, screen.x(x + on) - this.air.ax, screen.y(y) - this.air.ay);
      }
    }
    ctx.globalAlpha = 1;
  }

  #drawPiece({ tufts, x0, y0 }, left, top) {
    const { ctx, tile, now } = this;
    for (let i = 0; i < tufts.length; i += 3) {
      const x = tufts[i], y = tufts[i + 1];
      const wind = now < 0 ? 0 : windAt(x0 + x / tile, y0 + y / tile, now);
      const sprite = this.#sprite(tufts[i + 2], Math.round(wind * BENDS));
      ctx.drawImage(sprite.canvas, left + x - sprite.ax, top + y - sprite.ay);
    }
  }

  #sprite(variant, bend) {
    return this.sprites[variant * (BENDS + 1) + bend] ??= this.#paint(variant, bend);
  }

  #paint(variant, bend) {
    const size = variant % SIZES, tone = (variant - size) / SIZES;
    const { grass } = TONES[(tone >> 1) % REGIONS.length];
    const box = { left: -0.22, top: -0.3, right: 0.22 + LEAN, bottom: 0.06 };
    return spriteOf(this.tile, box, (ctx) => {
      const path = new Path2D();
      tuft(path, 0, 0, 0.14 + 0.1 * size / (SIZES - 1), LEAN * bend / BENDS);
      ctx.strokeStyle = tone & 1 ? grass.tuftLight : grass.tuft;
      ctx.lineWidth = 0.07;
      ctx.lineCap = 'round';
      ctx.stroke(path);
    });
  }
}
