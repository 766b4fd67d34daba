// Draws the things that lie in the world, from the farthest to the nearest, between the walkers: one
// that is behind a thing is covered by it. What stands in front of a thing covers it too, and it shows
// through faintly.

import { THING_GEM } from '../protocol.js';
import { XRAY } from './body.js';
import { GEM_TOP, Gems } from './gems.js';

const MARGIN = 1;                         // tiles beyond the screen in which things are drawn
const HALF_GEM = 0.4;                     // tiles

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
  }

  resize(tile) {
    this.tile = tile;
    this.gems = new Gems(tile);
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
    const { order, tile } = this;
    for (; this.next < this.count && order[this.next].py <= feet; this.next++) {
      const { lying, px, py } = order[this.next], { thing, alpha } = lying;
      if (thing.kind !== THING_GEM) continue;
      const half = Math.ceil(HALF_GEM * tile);
      if (alpha > 0) {
        ctx.globalAlpha = alpha;
        this.gems.draw(ctx, state, thing.id, px, py);
        if (ground.cover(ctx, screen, px - half, py - Math.ceil(GEM_TOP * tile), px + half,
          py + Math.ceil(0.16 * tile), py)) {
          ctx.globalAlpha = alpha * XRAY;
          this.gems.draw(ctx, state, thing.id, px, py);
        }
        ctx.globalAlpha = 1;
      }
      if (lying.taken && !state.still) {
        this.gems.drawBurst(ctx, thing.id, px, py, state.now - (lying.goneAt ?? state.now));
      }
    }
  }
}
