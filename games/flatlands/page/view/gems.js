// The pictures of gems, of the star that sparkles on them, and of the stars that fly apart when one is
// taken. They are drawn in tiles, with the origin where the gem touches the ground.

import { part, rollOf } from './dice.js';
import { GEMS, SHADOW } from './palette.js';
import { canvasOf, contextOf, discOf, oval, spriteOf } from './sprite.js';

const TOP = 0.52;                         // tiles from the ground to the top of a gem
const STAR_SIZES = 6;                     // number of pictures of a star that grows
const STAR = 0.2;                         // tiles from the middle to the points of the largest one
const SPARKLE_EVERY = 3600, SPARKLE_MS = 900;
const BURST = 6;                          // stars that fly apart
const BURST_MS = 600;
const TILTS = [-0.26, 0.18, -0.12, 0.3];  // radians: gems do not lie straight

// The corners of a cut stone, and of its table, in tiles from its lower tip.
const CROWN = { left: [-0.28, -0.29], right: [0.28, -0.29], topLeft: [-0.16, -0.44],
  topRight: [0.16, -0.44], innerLeft: [-0.1, -0.29], innerRight: [0.1, -0.29], tip: [0, 0] };

/** The names of the looks of GEMS. */
export const GEM_NAMES = ['red', 'blue', 'violet', 'golden'];

/** Return the look of the gem with this id, as an index into GEMS. */
export function gemOf(id) {
  return rollOf(id) % GEMS.length;
}

function facet(ctx, style, ...names) {
  ctx.fillStyle = style;
  ctx.beginPath();
  for (const name of names) ctx.lineTo(...CROWN[name]);
  ctx.fill();
}

/** Paint a gem, with the light from the upper left. */
export function paintGem(ctx, { glint, light, colour, shade, dark }) {
  // One shape below the facets, or the ground would shine through between them.
  facet(ctx, colour, 'left', 'topLeft', 'topRight', 'right', 'tip');
  facet(ctx, light, 'left', 'topLeft', 'innerLeft');
  facet(ctx, glint, 'topLeft', 'topRight', 'innerLeft');
  facet(ctx, light, 'topRight', 'innerRight', 'innerLeft');
  facet(ctx, colour, 'topRight', 'right', 'innerRight');
  facet(ctx, colour, 'left', 'innerLeft', 'tip');
  facet(ctx, shade, 'innerLeft', 'innerRight', 'tip');
  facet(ctx, dark, 'innerRight', 'right', 'tip');
}

function paintStar(ctx, size) {
  ctx.fillStyle = '#ffffff';
  ctx.beginPath();
  for (let i = 0; i < 4; i++) {
    const turn = i * Math.PI / 2, waist = size * 0.14;
    ctx.lineTo(Math.cos(turn) * size, Math.sin(turn) * size);
    ctx.lineTo(Math.cos(turn + Math.PI / 4) * waist, Math.sin(turn + Math.PI / 4) * waist);
  }
  ctx.fill();
}

/** Return a colour '#rrggbb' as 'red, green, blue'. */
export function channelsOf(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).join(', ');
}

/** Draw the gem with this id on a map, as a diamond around (px, py). */
export function drawDiamond(ctx, px, py, id, dpr) {
  for (const { reach, style } of [{ reach: 3.6, style: 'rgba(20, 26, 36, 0.75)' }, { reach: 2.4, style: GEMS[gemOf(id)].light }]) {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.moveTo(px - reach * dpr, py);
    ctx.lineTo(px, py - reach * dpr);
    ctx.lineTo(px + reach * dpr, py);
    ctx.lineTo(px, py + reach * dpr);
    ctx.fill();
  }
}

/** The pictures of gems at `tile` device px per tile. */
export class Gems {
  constructor(tile) {
    this.tile = tile;
    this.half = 0.4;
    this.top = TOP;
    const box = { left: -0.42, top: -TOP, right: 0.46, bottom: 0.16 };
    this.sprites = GEMS.map((tones, i) => spriteOf(tile, box, (ctx) => {
      oval(ctx, 0.04, 0.02, 0.3, 0.11, SHADOW);
      ctx.rotate(TILTS[i]);
      paintGem(ctx, tones);
    }));
    this.gleams = GEMS.map(({ light }) => discOf(tile, 0.75, 0.75, channelsOf(light), 0.6));
    const star = { left: -STAR, top: -STAR, right: STAR, bottom: STAR };
    this.stars = Array.from({ length: STAR_SIZES }, (_, i) =>
      spriteOf(tile, star, (ctx) => paintStar(ctx, STAR * (i + 1) / STAR_SIZES)));
  }

  /** Draw a gem at a device px, and its sparkle, which slowly comes and goes. */
  draw(ctx, state, { id }, px, py) {
    const roll = rollOf(id), sprite = this.sprites[roll % GEMS.length];
    ctx.drawImage(sprite.canvas, px - sprite.ax, py - sprite.ay);
    const phase = (state.now + roll % SPARKLE_EVERY) % SPARKLE_EVERY / SPARKLE_MS;
    if (state.still || phase >= 1) return;
    this.#drawStar(ctx, px - Math.round(0.14 * this.tile), py - Math.round(0.38 * this.tile),
      Math.sin(phase * Math.PI));
  }

  /** Draw the stars of a gem that was taken `age` ms ago. */
  drawBurst(ctx, id, px, py, age) {
    const share = age / BURST_MS, roll = rollOf(id);
    if (share >= 1) return;
    const reach = (0.18 + 0.62 * (1 - (1 - share) ** 2)) * this.tile;
    const middle = py - 0.22 * this.tile;
    for (let i = 0; i < BURST; i++) {
      const turn = (i + part(roll, 8)) * Math.PI * 2 / BURST;
      this.#drawStar(ctx, Math.round(px + Math.cos(turn) * reach),
        Math.round(middle + Math.sin(turn) * reach * 0.7), 1 - share);
    }
  }

  #drawStar(ctx, px, py, size) {
    const i = Math.ceil(size * STAR_SIZES) - 1;
    if (i < 0) return;
    const { canvas, ax, ay } = this.stars[i];
    ctx.drawImage(canvas, px - ax, py - ay);
  }

  /** Draw the light of the gem `id` in the dark. */
  drawGleam(ctx, id, px, py) {
    const { canvas, ax, ay } = this.gleams[gemOf(id)];
    ctx.drawImage(canvas, px - ax, py - ay - Math.round(0.26 * this.tile));
  }

  /** Return a new picture of a gem without its shadow, for the page. */
  picture(id) {
    const side = Math.ceil(0.7 * this.tile), canvas = canvasOf(side, side);
    const ctx = contextOf(canvas), i = gemOf(id);
    ctx.translate(side / 2, side * 0.82);
    ctx.scale(this.tile, this.tile);
    ctx.rotate(TILTS[i]);
    paintGem(ctx, GEMS[i]);
    return canvas;
  }
}
