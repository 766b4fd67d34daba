// The pictures of twin stones: two standing stones with carved marks, a round slab before each for a player to
// stand on, and a gem of two colours that floats between them in a cage of light. The left stone glows in one of
// the colours, the right one in the other. They are drawn in tiles, with the origin under the gem.

import { UNIT } from '../track.js';
import { part, rollAt, rollOf } from '../view/dice.js';
import { channelsOf, Gems, paintGem } from '../view/gems.js';
import { FIELDSTONE_TONES, SHADOW } from '../view/palette.js';
import { canvasOf, contextOf, discOf, oval, spriteOf } from '../view/sprite.js';
import { ASIDE, ON, standing } from './twins.js';

const TAU = Math.PI * 2;
/** The facets of the two colours, as in GEMS (view/palette.js): the left stone's, and the right one's. */
const TWINS = [
  { glint: '#e6fff6', light: '#7af0d0', colour: '#22cfa6', shade: '#149c7d', dark: '#0b6d58' },
  { glint: '#f6e6ff', light: '#d6a6ff', colour: '#a45cf0', shade: '#7a3ac6', dark: '#552394' },
];
const FLAT = 0.72;                        // height by width of what lies flat on the ground
const SIZE = 1.3;                         // factor of a stone
const BEHIND = 0.78;                      // tiles from the middle of a slab to the foot of its stone
const FLOAT = 1.02;                       // tiles from the ground to the middle of the gem
const CAGE = { rx: 0.44, ry: 0.6 };
const DARK = { left: 0, right: 0 };
const REMEMBERED = 60;                    // gems whose light is kept
const VARIANTS = 4, SALT = 0x7712;
const LIGHTS = 350, HUM = 1900, TURNS = 5200;   // ms
const BEAM = 260, RISE = 950, SINK = 1500;      // ms from the opening on
/** The outline of the right stone, from its foot on. */
const STONE = [[-0.4, 0.04], [-0.46, -0.5], [-0.36, -1.2], [-0.22, -1.66], [0.02, -1.84], [0.26, -1.62],
  [0.38, -1.02], [0.43, -0.42], [0.38, 0.05]];
/** Marks, as lines within 0.16 tiles of their middle: both stones of a pair have the same three. */
const MARKS = [
  (ctx) => { line(ctx, -0.07, -0.13, -0.07, 0.13); line(ctx, 0.07, -0.13, 0.07, 0.13); },
  (ctx) => { ctx.moveTo(0.13, 0); ctx.arc(0, 0, 0.13, 0, TAU); line(ctx, -0.01, 0, 0.01, 0); },
  (ctx) => { line(ctx, -0.14, 0.07, -0.05, -0.08); ctx.lineTo(0.05, 0.07); ctx.lineTo(0.14, -0.08); },
  (ctx) => { ctx.moveTo(0.1, -0.1); ctx.arc(0, 0, 0.14, -0.8, 3.9); },
  (ctx) => { line(ctx, -0.13, 0.11, 0, -0.12); ctx.lineTo(0.13, 0.11); ctx.closePath(); },
  (ctx) => { line(ctx, 0, -0.14, 0, 0.14); line(ctx, -0.12, -0.02, 0, -0.14); ctx.lineTo(0.12, -0.02); },
];
const HEIGHTS = [-1.36, -0.98, -0.6];     // tiles: where the marks of a stone are

function line(ctx, x0, y0, x1, y1) {
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
}

function outline(ctx, side) {
  ctx.beginPath();
  STONE.forEach(([x, y], i) => {
    const [nextX, nextY] = STONE[(i + 1) % STONE.length];
    // The outline is curved between the middles of its edges.
    if (i === 0) ctx.moveTo(x * side, y);
    ctx.quadraticCurveTo(x * side, y, (x + nextX) / 2 * side, (y + nextY) / 2);
  });
  ctx.closePath();
}

/** Draw the marks of a stone as lines. */
function marks(ctx, variant, width, style) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.lineCap = ctx.lineJoin = 'round';
  HEIGHTS.forEach((y, i) => {
    ctx.save();
    ctx.translate(0, y);
    ctx.beginPath();
    MARKS[(variant * 3 + i) % MARKS.length](ctx);
    ctx.stroke();
    ctx.restore();
  });
}

/** Paint the stone of a side, -1 or 1, with the light from the upper left. */
function paintStone(ctx, side, variant) {
  const { light, top, face } = FIELDSTONE_TONES[(variant + (side > 0 ? 2 : 0)) % FIELDSTONE_TONES.length];
  oval(ctx, 0.14, 0.03, 0.58, 0.2, SHADOW);
  ctx.save();
  outline(ctx, side);
  ctx.fillStyle = top;
  ctx.fill();
  ctx.clip();
  ctx.fillStyle = face;
  ctx.beginPath();
  for (const [x, y] of [[0.2, -2], [0.12, -1.5], [0.24, -0.9], [0.14, 0.1], [0.6, 0.1], [0.6, -2]]) ctx.lineTo(x, y);
  ctx.fill();
  ctx.strokeStyle = light;
  ctx.lineWidth = 0.14;
  ctx.translate(0.035, 0.04);
  outline(ctx, side);
  ctx.beginPath();
  for (const [x, y] of [[-0.44, -0.1], [-0.44, -0.55], [-0.36, -1.2], [-0.2, -1.66], [0.02, -1.84]]) ctx.lineTo(x, y);
  ctx.stroke();
  ctx.restore();
  for (let i = 0; i < 5; i++) {
    const roll = rollAt(i, variant + side, SALT);
    oval(ctx, (part(roll, 0) - 0.5) * 0.7, -0.05 - part(roll, 8) * 0.22, 0.09, 0.05, 'rgba(120, 150, 96, 0.75)');
  }
  ctx.save();
  ctx.translate(0.02, 0.025);
  marks(ctx, variant, 0.06, 'rgba(255, 255, 255, 0.35)');
  ctx.restore();
  marks(ctx, variant, 0.055, '#5b5a56');
}

function paintSlab(ctx) {
  const [{ light, top, face }] = FIELDSTONE_TONES;
  ctx.scale(1, FLAT);
  oval(ctx, 0.04, 0.13, ON + 0.04, ON, SHADOW);
  oval(ctx, 0, 0.07, ON, ON, face);
  oval(ctx, 0, 0, ON, ON - 0.02, light);
  oval(ctx, 0.02, 0.02, ON - 0.05, ON - 0.07, top);
  ring(ctx, 0.6, 0.07, 'rgba(70, 70, 66, 0.55)');
}

function ring(ctx, radius, width, style) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.arc(0, 0, radius, 0, TAU);
  ctx.stroke();
}

/** Paint the gem, around its middle: one colour on each side. */
function paintTwin(ctx) {
  for (const [i, x] of [[0, -1], [1, 0]]) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, -1, 1, 2);
    ctx.clip();
    ctx.translate(0, 0.28);
    ctx.scale(1.25, 1.25);
    paintGem(ctx, TWINS[i]);
    ctx.restore();
  }
}

/** The pictures of twin stones at `tile` device px per tile. */
export class Stones {
  constructor(tile) {
    this.tile = tile;
    this.half = 3.1;
    this.top = 3.4;
    this.back = BEHIND + 0.05;
    this.gems = new Gems(tile);
    this.gem = spriteOf(tile, { left: -0.4, top: -0.32, right: 0.4, bottom: 0.32 }, paintTwin);
    this.halves = TWINS.map((tones) => spriteOf(tile, { left: -0.4, top: -0.5, right: 0.4, bottom: 0.2 },
      (ctx) => paintGem(ctx, tones)));
    this.slab = spriteOf(tile, { left: -1.1, top: -0.8, right: 1.1, bottom: 0.95 }, paintSlab);
    /** @type {import('../view/sprite.js').Sprite[]} */
    this.stones = [];
    /** @type {import('../view/sprite.js').Sprite[]} */
    this.carved = [];
    this.glows = TWINS.map(({ light }) => discOf(tile, 1, 1, channelsOf(light), 0.75));
    /** @type {Map<string, { left: number, right: number, at: number }>} How brightly stones are lit, 0 .. 1. */
    this.lit = new Map();
  }

  /** Draw what lies on the ground: the slabs, and the lit part of the way to the gem. */
  drawGround(ctx, state, thing, px, py) {
    const { tile } = this, { now } = state, lit = this.#light(state, thing);
    [lit.left, lit.right].forEach((bright, i) => {
      const side = 2 * i - 1, x = px + Math.round(side * ASIDE * tile), { light, colour } = TWINS[i];
      ctx.drawImage(this.slab.canvas, x - this.slab.ax, py - this.slab.ay);
      ctx.save();
      ctx.translate(x, py);
      ctx.scale(tile, tile * FLAT);
      const alpha = ctx.globalAlpha;
      ctx.globalAlpha = alpha * (0.5 + 0.5 * bright);
      ring(ctx, 0.6, 0.06, light);
      if (bright > 0.02 && !state.still) {
        const phase = now % HUM / HUM;
        ctx.globalAlpha = alpha * bright * (1 - phase) * 0.9;
        ring(ctx, 0.6 + 0.75 * phase, 0.09 * (1 - phase) + 0.02, colour);
      }
      ctx.globalAlpha = alpha;
      ctx.restore();
    });
  }

  /** Draw the stones and the gem at a device px. */
  draw(ctx, state, thing, px, py) {
    const { tile } = this, lit = this.lit.get(thing.id) ?? DARK, alpha = ctx.globalAlpha;
    this.#drawStones(ctx, thing.id, px, py, lit, alpha, 0);
    const { x, y } = this.#middle(state, thing.id, px, py);
    const size = 0.2 - 0.03 * Math.sin(state.now / 700);
    oval(ctx, px, py - 0.02 * tile, 0.26 * tile, size * 0.5 * tile, SHADOW);
    this.#drawRays(ctx, px, py, x, y, lit, alpha, state);
    ctx.drawImage(this.gem.canvas, x - this.gem.ax, y - this.gem.ay);
    this.#drawCage(ctx, x, y, lit, alpha, state);
    ctx.globalAlpha = alpha;
  }

  /** Return the device px of the middle of the gem, which floats. */
  #middle({ now, still }, id, px, py) {
    const bob = still ? 0 : Math.sin(now / 620 + rollOf(id) % 7) * 0.06;
    return { x: px, y: Math.round(py - (FLOAT + bob) * this.tile) };
  }

  #drawStones(ctx, id, px, py, { left, right }, alpha, sunk) {
    const variant = rollOf(id) % VARIANTS, foot = py - Math.round(BEHIND * this.tile);
    [left, right].forEach((bright, i) => {
      const x = px + Math.round((2 * i - 1) * ASIDE * this.tile), sprite = this.#stone(i, variant, this.stones, false);
      const down = Math.round(sunk * sprite.ay), shown = sprite.h - down;
      if (shown <= 0) return;
      ctx.globalAlpha = alpha;
      ctx.drawImage(sprite.canvas, 0, 0, sprite.w, shown, x - sprite.ax, foot - sprite.ay + down, sprite.w, shown);
      ctx.globalAlpha = alpha * (0.4 + 0.6 * bright) * (1 - sunk);
      const light = this.#stone(i, variant, this.carved, true);
      ctx.drawImage(light.canvas, x - light.ax, foot - light.ay + down);
    });
    ctx.globalAlpha = alpha;
  }

  #stone(i, variant, kept, carved) {
    const side = 2 * i - 1, { light, glint } = TWINS[i];
    return kept[2 * variant + i] ??= spriteOf(this.tile * SIZE, { left: -0.6, top: -2, right: 0.8, bottom: 0.3 }, (ctx) => {
      if (!carved) return paintStone(ctx, side, variant);
      ctx.globalAlpha = 0.45;
      marks(ctx, variant, 0.15, light);
      ctx.globalAlpha = 1;
      marks(ctx, variant, 0.07, glint);
    });
  }

  /** Draw the light that goes from a stone on which somebody stands to the gem. */
  #drawRays(ctx, px, py, x, y, { left, right }, alpha, { now, still }) {
    const { tile } = this, top = py - (BEHIND - SIZE * HEIGHTS[0]) * tile;
    const pulse = still ? 0.8 : 0.7 + 0.3 * Math.sin(now / HUM * TAU);
    [left, right].forEach((bright, i) => {
      if (bright < 0.02) return;
      const from = px + (2 * i - 1) * ASIDE * tile, to = x + (2 * i - 1) * CAGE.rx * tile;
      for (const { width, style, share } of [{ width: 0.16, style: TWINS[i].light, share: 0.35 },
        { width: 0.045, style: TWINS[i].glint, share: 0.9 }]) {
        ctx.globalAlpha = alpha * bright * pulse * share;
        ctx.strokeStyle = style;
        ctx.lineWidth = width * tile;
        ctx.lineCap = 'round';
        ctx.beginPath();
        ctx.moveTo(from, top);
        ctx.lineTo(from + (to - from) * bright, top + (y - top) * bright);
        ctx.stroke();
      }
    });
  }

  /** Draw the cage: a bow of light for each stone, which opens while somebody stands there. */
  #drawCage(ctx, x, y, { left, right }, alpha, { now, still }) {
    const { tile } = this, turn = still ? 0 : now / TURNS * TAU;
    ctx.lineCap = 'round';
    [left, right].forEach((bright, i) => {
      const side = 2 * i - 1, middle = x + side * 0.2 * bright * tile, gap = 0.2 + 0.55 * bright;
      const begin = (i === 0 ? Math.PI / 2 : -Math.PI / 2) + gap, end = begin + Math.PI - 2 * gap;
      for (const { width, style, share } of [{ width: 0.13, style: TWINS[i].colour, share: 0.35 },
        { width: 0.05, style: TWINS[i].light, share: 1 }]) {
        ctx.globalAlpha = alpha * share * (1 - 0.35 * bright);
        ctx.strokeStyle = style;
        ctx.lineWidth = width * tile;
        ctx.beginPath();
        ctx.ellipse(middle, y, CAGE.rx * tile, CAGE.ry * tile, 0, begin, end);
        ctx.stroke();
      }
      // Sparks go around, before the gem and behind it.
      const at = turn + i * Math.PI;
      if (Math.sin(at) < -0.2) return;
      ctx.globalAlpha = alpha;
      oval(ctx, x + Math.cos(at) * CAGE.rx * 1.15 * tile, y + Math.sin(at) * 0.16 * tile, 0.055 * tile, 0.055 * tile,
        TWINS[i].glint);
    });
  }

  /** Return how brightly the stones of a thing are lit, which changes gradually.
   * @param {import('../state.js').State} state @param {import('../replica.js').Thing} thing */
  #light(state, { id, x, y }) {
    const { lit } = this, { now } = state;
    if (lit.size > REMEMBERED) lit.clear();
    const known = lit.get(id) ?? { left: 0, right: 0, at: now };
    const [left, right] = standing(state, { x: x / UNIT, y: y / UNIT });
    const step = state.still ? 1 : (now - known.at) / LIGHTS;
    const goes = (from, to) => from + Math.min(Math.max((to > 0 ? 1 : 0) - from, -step), step);
    const light = { left: goes(known.left, left), right: goes(known.right, right), at: now };
    lit.set(id, light);
    return light;
  }

  /** Draw a gem that opened `age` ms ago: light from both stones and up into the sky, a half that flies to each
   * slab, and stones that sink into the ground. */
  drawBurst(ctx, id, px, py, age) {
    if (age >= SINK) return;
    const { tile } = this, y = py - FLOAT * tile, full = { left: 1, right: 1 };
    const sunk = Math.max((age - RISE / 2) / (SINK - RISE / 2), 0) ** 2, shares = 1 - age / SINK;
    ctx.globalAlpha = shares;
    for (const side of [-1, 1]) {
      ctx.drawImage(this.slab.canvas, px + Math.round(side * ASIDE * tile) - this.slab.ax, py - this.slab.ay);
    }
    this.#drawStones(ctx, id, px, py, full, 1, sunk);
    this.#drawRays(ctx, px, py, px, y, full, Math.max(1 - age / RISE, 0), { now: 0, still: true });
    this.drawFlash(ctx, px, py, age);
    ctx.save();
    ctx.translate(px, py);
    ctx.scale(tile, tile * FLAT);
    TWINS.forEach(({ light }, i) => {
      ctx.globalAlpha = shares;
      ring(ctx, 0.3 + (3 + i) * (1 - shares ** 2), 0.14 * shares, light);
    });
    ctx.restore();
    ctx.globalAlpha = 1;
    const way = Math.min(age / RISE, 1), ease = way * way * (3 - 2 * way);
    if (way < 1) {
      this.halves.forEach(({ canvas, ax, ay }, i) => ctx.drawImage(canvas,
        Math.round(px + (2 * i - 1) * ASIDE * ease * tile) - ax,
        Math.round(y - Math.sin(way * Math.PI) * 0.9 * tile + ease * 0.35 * tile) - ay));
    }
    this.gems.drawBurst(ctx, id, px, Math.round(y + 0.2 * tile), age);
  }

  /** Draw the light that goes up from a gem that opened `age` ms ago. */
  drawFlash(ctx, px, py, age) {
    if (age >= RISE) return;
    const { tile } = this, high = Math.min(age / BEAM, 1) * 7 * tile, wide = (0.12 + 0.5 * age / RISE) * tile;
    const low = py - (FLOAT - 0.9) * tile, beam = ctx.createLinearGradient(0, low, 0, low - high);
    for (const [at, alpha] of [[0, 0], [0.12, 0.9], [0.45, 0.55], [1, 0]]) beam.addColorStop(at, `rgba(255, 250, 240, ${alpha})`);
    ctx.globalAlpha = 1 - age / RISE;
    ctx.fillStyle = beam;
    ctx.fillRect(px - wide / 2, low - high, wide, high);
    this.glows.forEach(({ canvas }, i) => {
      const reach = (1 + 2.5 * age / RISE) * tile, x = px + (i - 0.5) * tile;
      ctx.drawImage(canvas, x - reach, py - FLOAT * tile - reach, 2 * reach, 2 * reach);
    });
  }

  /** Let the marks, the slabs and the gem shine in the dark. */
  drawGleam(ctx, id, px, py) {
    const { tile } = this, { left, right } = this.lit.get(id) ?? DARK, alpha = ctx.globalAlpha;
    const glow = (i, x, y, wide, high, share) => {
      ctx.globalAlpha = alpha * share;
      ctx.drawImage(this.glows[i].canvas, x - wide * tile, y - high * tile, 2 * wide * tile, 2 * high * tile);
    };
    [left, right].forEach((bright, i) => {
      const x = px + (2 * i - 1) * ASIDE * tile;
      glow(i, x, py - (BEHIND - SIZE * HEIGHTS[1]) * tile, 0.9, 1.4, 0.4 + 0.6 * bright);
      const carved = this.#stone(i, rollOf(id) % VARIANTS, this.carved, true);
      ctx.globalAlpha = alpha * (0.5 + 0.5 * bright);
      ctx.drawImage(carved.canvas, x - carved.ax, py - Math.round(BEHIND * tile) - carved.ay);
      glow(i, x, py, 1.25, 1.25 * FLAT, 0.3 + 0.6 * bright);
      glow(i, px + (2 * i - 1) * 0.12 * tile, py - FLOAT * tile, 0.8, 0.8, 0.7);
    });
  }

  /** Return a new picture of the gem, for the page. */
  picture() {
    return pictureOf(this.tile);
  }
}

/** The pictures of halves: a small gem, which is faint for players whom it does not wait for. */
export class Halves {
  constructor(tile) {
    this.tile = tile;
    this.half = 0.5;
    this.top = 1.2;
    this.gem = spriteOf(tile * 0.8, { left: -0.4, top: -0.32, right: 0.4, bottom: 0.32 }, paintTwin);
  }

  draw(ctx, state, thing, px, py) {
    const bob = state.still ? 0 : Math.sin(state.now / 500) * 0.05;
    if (thing.values.player !== state.ownId) ctx.globalAlpha *= 0.4;
    oval(ctx, px, py, 0.2 * this.tile, 0.08 * this.tile, SHADOW);
    ctx.drawImage(this.gem.canvas, px - this.gem.ax, py - Math.round((0.5 + bob) * this.tile) - this.gem.ay);
  }

  picture() {
    return pictureOf(this.tile);
  }
}

function pictureOf(tile) {
  const canvas = canvasOf(0.8 * tile, 0.8 * tile), ctx = contextOf(canvas);
  ctx.translate(0.4 * tile, 0.4 * tile);
  ctx.scale(tile, tile);
  paintTwin(ctx);
  return canvas;
}

/** Draw the sign of twin stones on a map, around a px: two stones, 10 * `size` px high. */
export function drawTwins(ctx, x, y, size) {
  TWINS.forEach(({ light }, i) => {
    const left = x + (i === 0 ? -4.6 : 1.2) * size;
    for (const { style, more } of [{ style: 'rgba(20, 26, 36, 0.85)', more: 1.2 }, { style: light, more: 0 }]) {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.roundRect(left - more * size, y - (5 + more) * size, (3.4 + 2 * more) * size, (10 + 2 * more) * size,
        [2 * size, 2 * size, 0.6 * size, 0.6 * size]);
      ctx.fill();
    }
  });
}
