// Draws the things that lie in the world, from the farthest to the nearest, between the walkers: one
// that is behind a thing is covered by it. What stands in front of a thing covers it too, and it shows
// through faintly.

import { CAIRN, GEM } from '../lying.js';
import { XRAY } from './body.js';
import { CAIRN_TOP, Cairns } from './cairns.js';
import { GEM_TOP, Gems } from './gems.js';

const MARGIN = 1;                         // tiles beyond the screen in which things are drawn
const HALF_GEM = 0.4, HALF_CAIRN = 1;     // tiles

/** @typedef {{ lying: import('../state.js').Lying, px: number, py: number }} Placed  A thing, and where
 * it touches the ground, in device px. */

export class LyingThings {
  /** `tile` is device px per tile. */
  constructor(tile) {
    /** @type {Placed[]} The first `count` are in view. The objects are used again. */
    this.order = [];
    this.count = 0;
    this.next = 0;                        // index of the first that is not drawn yet in this frame
    this.tile = tile;
    this.gems = new Gems(tile);
    this.cairns = new Cairns(tile);
  }

  resize(tile) {
    this.tile = tile;
    this.gems = new Gems(tile);
    this.cairns = new Cairns(tile);
  }

  /** Find out for this frame what is in view and where on the screen, and sort it by y. */
  follow(state, screen) {
    const margin = MARGIN * this.tile;
    this.count = this.next = 0;
    for (const lying of state.lying.values()) {
      const px = screen.x(lying.x), py = screen.y(lying.y);
      if (px < -margin || py < -margin || px > screen.width + margin
        || py > screen.height + margin || lying.own) continue;
      this.#insert(lying, px, py);
    }
  }

  #insert(lying, px, py) {
    const { order } = this;
    let i = this.count++;
    if (i === order.length) order.push({ lying, px, py });
    const placed = order[i];
    for (; i > 0 && order[i - 1].py > py; i--) order[i] = order[i - 1];
    order[i] = placed;
    placed.lying = lying;
    placed.px = px;
    placed.py = py;
  }

  /** Draw the next things, up to those at y = `feet`, in device px. `ground` draws again what stands in
   * front of them. */
  drawUpTo(feet, ctx, state, screen, ground) {
    const { order } = this;
    for (; this.next < this.count && order[this.next].py <= feet; this.next++) {
      const { lying, px, py } = order[this.next];
      if (lying.alpha > 0) this.#draw(lying, px, py, ctx, state, screen, ground);
      if (lying.taken && !state.still && lying.thing.type === GEM) {
        this.gems.drawBurst(ctx, lying.thing.id, px, py, state.now - (lying.goneAt ?? state.now));
      }
    }
  }

  #draw({ thing, alpha }, px, py, ctx, state, screen, ground) {
    const { tile } = this, isGem = thing.type === GEM;
    const half = Math.ceil((isGem ? HALF_GEM : HALF_CAIRN) * tile);
    const top = py - Math.ceil((isGem ? GEM_TOP : CAIRN_TOP) * tile);
    ctx.globalAlpha = alpha;
    this.#drawPicture(thing, px, py, ctx, state);
    if (ground.cover(ctx, screen, px - half, top, px + half, py + Math.ceil(0.2 * tile), py)) {
      ctx.globalAlpha = alpha * XRAY;
      this.#drawPicture(thing, px, py, ctx, state);
    }
    ctx.globalAlpha = 1;
  }

  #drawPicture(thing, px, py, ctx, state) {
    if (thing.type === GEM) this.gems.draw(ctx, state, thing.id, px, py);
    else this.cairns.draw(ctx, thing, px, py);
  }

  /** Let the gems in view gleam in the dark; the canvas adds what is drawn. `lit` is 0 to 1. */
  drawGleam(ctx, lit) {
    for (let i = 0; i < this.count; i++) {
      const { lying, px, py } = this.order[i];
      if (lying.thing.type !== GEM || lying.alpha === 0 || lying.goneAt !== null) continue;
      ctx.globalAlpha = lit * lying.alpha;
      this.gems.drawGleam(ctx, lying.thing.id, px, py);
    }
    ctx.globalAlpha = lit;
  }

  /** Return the cairn nearest to a device px and at most `reach` px away, or null.
   * @returns {import('../state.js').Lying | null} */
  cairnAt(px, py, reach) {
    let best = null, least = Infinity;
    for (let i = 0; i < this.count; i++) {
      const { lying, px: x, py: y } = this.order[i];
      if (lying.thing.type !== CAIRN || lying.alpha === 0) continue;
      const dx = Math.max(0, Math.abs(px - x) - 0.4 * this.tile);
      const dy = Math.max(0, Math.abs(py - y + 0.4 * this.tile) - 0.4 * this.tile);
      const away = Math.hypot(dx, dy);
      if (away <= reach && away < least) {
        least = away;
        best = lying;
      }
    }
    return best;
  }
}
