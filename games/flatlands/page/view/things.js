// Draws the things that lie in the world, from the farthest to the nearest, between the walkers: a
// walker behind a thing is covered by it. Props in front of a thing cover it too, and it shows through
// faintly.

import { Ordered } from '../ordered.js';
import { XRAY } from './body.js';

const MARGIN = 5;                         // tiles beyond the screen in which things are drawn, and their light

/** @typedef {{ shown: import('../state.js').ShownThing, px: number, py: number, foot: number }} Placed  A thing, and
 * where it touches the ground, in device px; it is drawn before those who stand below y = `foot`. */

/**
 * The pictures of a kind. `half` and `top` are tiles: half the width of the largest, and its height above the
 * ground; `back` is how many tiles farther away it counts as standing when it is drawn. (px, py) is where it touches the ground, in device px. What gleams does so in the
 * dark, and a burst is that of a thing taken `age` ms ago.
 * @typedef {object} Pictures
 * @property {number} half
 * @property {number} top
 * @property {number} [back]
 * @property {(ctx: any, state: any, thing: import('../replica.js').Thing, px: number, py: number) => void} draw
 * @property {(ctx: any, state: any, thing: import('../replica.js').Thing, px: number, py: number) => void} [drawGround]
 *   its part that lies on the ground, under everybody
 * @property {(ctx: any, id: string, px: number, py: number) => void} [drawGleam]
 * @property {(ctx: any, id: string, px: number, py: number, age: number) => void} [drawBurst]
 * @property {(ctx: any, px: number, py: number, age: number) => void} [drawFlash]  the light of the burst, also in
 *   the dark
 * @property {(id: string) => HTMLCanvasElement} [picture]
 */

/**
 * A kind of thing. `type` is the name of its class at the server. One of its `Pictures` is made for each size
 * of a tile in device px. `unseen`: this page's player may get one before it learns that it lies there.
 * @typedef {{ type: string, Pictures: new (tile: number) => Pictures, unseen?: boolean }} Kind
 */

export class ThingsView {
  /** `tile` is device px per tile. */
  constructor(tile) {
    /** @type {Kind[]} What may lie in the world. */
    this.kinds = [];
    /** @type {Ordered<(state: any) => import('../state.js').ShownThing[]>} What stands among the things, and is none. */
    this.others = new Ordered();
    /** @type {Placed[]} The first `count` are in view. The objects are used again. */
    this.order = [];
    this.count = 0;
    this.next = 0;                        // index of the first that is not drawn yet in this frame
    /** @type {Map<string, Pictures>} By the name of their kind. */
    this.pictures = new Map();
    this.resize(tile);
  }

  resize(tile) {
    this.tile = tile;
    this.pictures = new Map(this.kinds.map(({ type, Pictures }) => [type, new Pictures(tile)]));
  }

  /** Draw a kind of thing, too.
   * @param {Kind} kind */
  add(kind) {
    this.kinds.push(kind);
    this.pictures.set(kind.type, new kind.Pictures(this.tile));
  }

  /** Return whether this page's player may get the thing with this id before it learns of it. */
  isUnseen(id) {
    return this.kinds.some(({ type, unseen }) => unseen === true && id.startsWith(`${type}:`));
  }

  /** Find out what is in view in this frame and where on the screen, and sort it by y. */
  follow(state, screen) {
    const margin = MARGIN * this.tile;
    this.count = this.next = 0;
    for (const shown of [...state.things.values(), ...this.others.all.flatMap((some) => some(state))]) {
      const px = screen.x(shown.x), py = screen.y(shown.y);
      if (px < -margin || py < -margin || px > screen.width + margin
        || py > screen.height + margin || shown.own || !this.pictures.has(shown.thing.type)) continue;
      this.#insert(shown, px, py);
    }
  }

  #insert(shown, px, py) {
    const { order } = this;
    let i = this.count++;
    const foot = py - (this.#of(shown.thing).back ?? 0) * this.tile;
    if (i === order.length) order.push({ shown, px, py, foot });
    const placed = order[i];
    for (; i > 0 && order[i - 1].foot > foot; i--) order[i] = order[i - 1];
    order[i] = Object.assign(placed, { shown, px, py, foot });
  }

  /** Draw the parts that lie on the ground, under everybody. */
  drawGround(ctx, state) {
    for (let i = 0; i < this.count; i++) {
      const { shown, px, py } = this.order[i];
      if (shown.alpha === 0) continue;
      ctx.globalAlpha = shown.alpha;
      this.#of(shown.thing).drawGround?.(ctx, state, shown.thing, px, py);
    }
    ctx.globalAlpha = 1;
  }

  /** Draw the next things, up to those at y = `feet`, in device px. `ground` draws again the props that
   * stand in front of them. */
  drawUpTo(feet, ctx, state, screen, ground) {
    const { order } = this;
    for (; this.next < this.count && order[this.next].foot <= feet; this.next++) {
      const { shown, px, py } = order[this.next];
      if (shown.alpha > 0) this.#draw(shown, px, py, ctx, state, screen, ground);
      if (shown.taken && !state.still) {
        this.#of(shown.thing).drawBurst?.(ctx, shown.thing.id, px, py,
          state.now - (shown.goneAt ?? state.now));
      }
    }
  }

  #draw({ thing, alpha }, px, py, ctx, state, screen, ground) {
    const { tile } = this, pictures = this.#of(thing);
    const half = Math.ceil(pictures.half * tile), top = py - Math.ceil(pictures.top * tile);
    ctx.globalAlpha = alpha;
    pictures.draw(ctx, state, thing, px, py);
    if (ground.cover(ctx, screen, px - half, top, px + half, py + Math.ceil(0.2 * tile), py)) {
      ctx.globalAlpha = alpha * XRAY;
      pictures.draw(ctx, state, thing, px, py);
    }
    ctx.globalAlpha = 1;
  }

  /** @returns {Pictures} */
  #of({ type }) {
    return /** @type {Pictures} */ (this.pictures.get(type));
  }

  /** Let what is in view gleam in the dark; the canvas adds what is drawn. `lit` is 0 to 1. */
  drawGleam(ctx, state, lit) {
    for (let i = 0; i < this.count; i++) {
      const { shown, px, py } = this.order[i];
      const pictures = this.#of(shown.thing), { id } = shown.thing;
      if (shown.taken && !state.still) pictures.drawFlash?.(ctx, px, py, state.now - (shown.goneAt ?? state.now));
      if (shown.alpha === 0 || shown.goneAt !== null) continue;
      ctx.globalAlpha = lit * shown.alpha;
      pictures.drawGleam?.(ctx, id, px, py);
    }
    ctx.globalAlpha = lit;
  }

  /** Return the thing of a kind nearest to a device px and at most `reach` px away, or null.
   * @returns {import('../state.js').ShownThing | null} */
  at(type, px, py, reach) {
    let best = null, least = Infinity;
    for (let i = 0; i < this.count; i++) {
      const { shown, px: x, py: y } = this.order[i];
      if (shown.thing.type !== type || shown.alpha === 0) continue;
      const dx = Math.max(0, Math.abs(px - x) - 0.4 * this.tile);
      const dy = Math.max(0, Math.abs(py - y + 0.4 * this.tile) - 0.4 * this.tile);
      const away = Math.hypot(dx, dy);
      if (away <= reach && away < least) {
        least = away;
        best = shown;
      }
    }
    return best;
  }
}
