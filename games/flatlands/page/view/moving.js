// What moves at landmarks: sails, balloons, flags, and the beams of lighthouses. All of it is a function of
// time.

import { spriteOf } from './sprite.js';

const BEAM_MS = 9000, BEAM = 13, WIDE = 2.2;          // of a lighthouse's light, to turn once; tiles
const TAU = Math.PI * 2;

/** @typedef {import('./ground.js').Mark} Mark */

/** Return how far something is turned, in radians, and by how many tiles it is raised above its rest.
 * @param {import('./props.js').Moving} moving */
export function motionAt({ turnMs, rest = 0, swingMs, swing = 0, bobMs, bob = 0 }, now) {
  return { turn: rest + (turnMs ? now / turnMs * TAU : 0) + (swingMs ? swing * Math.sin(now / swingMs * TAU) : 0),
    up: bobMs ? bob * Math.sin(now / bobMs * TAU) : 0 };
}

/** What moves at landmarks, at `tile` device px per tile. */
export class MovingParts {
  constructor(tile) {
    this.tile = tile;
    this.now = 0;                         // of the frame that is drawn; 0 if nothing is to move
    /** @type {Map<string, import('./sprite.js').Sprite>} By the names of their props. */
    this.sprites = new Map();
    /** @type {import('./sprite.js').Sprite | null} */
    this.beam = null;
  }

  /** Return the moving part of a prop whose feet are at (footX, footY), as a mark.
   * @returns {Mark} */
  at(prop, footX, footY) {
    const { name, moving } = prop;
    let sprite = this.sprites.get(name);
    if (sprite === undefined) this.sprites.set(name, sprite = spriteOf(this.tile, moving.box, moving.paint));
    return { prop, footX, footY, sprite, moves: true, x: footX + Math.round(moving.x * this.tile) - sprite.ax,
      y: footY + Math.round(moving.y * this.tile) - sprite.ay };
  }

  /** Draw what moves at landmarks: see Ground.marks.
   * @param {Mark[]} marks */
  draw(ctx, state, marks) {
    this.now = state.still ? 0 : state.now;
    for (const mark of marks) if (mark.moves) this.#draw(ctx, mark);
  }

  /** Draw a moving part again, within a rectangle only.
   * @param {Mark} mark */
  drawWithin(ctx, mark, left, top, right, bottom) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, bottom - top);
    ctx.clip();
    this.#draw(ctx, mark);
    ctx.restore();
  }

  /** @param {Mark} mark */
  #draw(ctx, mark) {
    const { prop, sprite, x, y } = mark;
    const { turn, up } = motionAt(/** @type {import('./props.js').Moving} */ (prop.moving), this.now), rise = Math.round(up * this.tile);
    if (turn === 0) return ctx.drawImage(sprite.canvas, x, y - rise);
    ctx.save();
    ctx.translate(x + sprite.ax, y + sprite.ay - rise);
    ctx.rotate(turn);
    ctx.drawImage(sprite.canvas, -sprite.ax, -sprite.ay);
    ctx.restore();
  }

  /** Draw the beams of lighthouses in the dark; the canvas adds what is drawn. They are seen from above, at
   * a slant. */
  drawBeams(ctx, state, marks) {
    for (const { prop: { light }, moves, footX, footY } of marks) {
      if (light?.beam === undefined || moves) continue;
      this.beam ??= this.#paintBeam();
      ctx.save();
      ctx.translate(footX, footY + Math.round(light.beam * this.tile));
      ctx.scale(1, 0.7);
      ctx.rotate(state.still ? 0.5 : state.now / BEAM_MS * TAU);
      for (const side of [1, -1]) {
        ctx.scale(side, 1);
        ctx.drawImage(this.beam.canvas, 0, -this.beam.ay);
      }
      ctx.restore();
    }
  }

  /** A cone of light to the right of its origin. */
  #paintBeam() {
    const box = { left: 0, top: -WIDE, right: BEAM, bottom: WIDE };
    return spriteOf(this.tile, box, (ctx) => {
      const spread = ctx.createConicGradient(-Math.PI, 0, 0), half = Math.atan(WIDE / BEAM) / (2 * Math.PI);
      for (const [at, alpha] of [[-half, 0], [-half / 3, 0.5], [0, 0.8], [half / 3, 0.5], [half, 0]]) {
        spread.addColorStop(0.5 + at, `rgba(255, 236, 170, ${alpha})`);
      }
      ctx.fillStyle = spread;
      ctx.fillRect(0, -WIDE, BEAM, 2 * WIDE);
      const fade = ctx.createRadialGradient(0, 0, 0, 0, 0, BEAM);
      for (const [at, alpha] of [[0, 1], [0.4, 0.5], [1, 0]]) fade.addColorStop(at, `rgba(0, 0, 0, ${alpha})`);
      ctx.globalCompositeOperation = 'destination-in';
      ctx.fillStyle = fade;
      ctx.fillRect(0, -WIDE, BEAM, 2 * WIDE);
    });
  }
}
