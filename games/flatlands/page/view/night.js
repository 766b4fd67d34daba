// Dusk and night: a colour over everything that stands and lies, and then the light of lamps, lit
// windows, gems and fireflies. All of it is a function of time. It is drawn under all words.

import { PROPS } from './props.js';
import { discOf } from './sprite.js';

const REACH = 9;                          // tiles from the feet of a prop to the end of its light
const OWN_POOL = 2;                       // tiles that the player's own walker lights
const FLY_MS = 13000, PULSE_MS = 2600;
const FLY_RANGE = 1.5, FLY_HEIGHT = 0.8;  // tiles
const WARM = '255, 204, 122', FLY = '206, 255, 128';

export class Night {
  /** `tile` is in device px. */
  constructor(tile) {
    this.tile = tile;
    this.lit = this.now = 0;              // of the frame that is drawn
    /** @type {Map<string, import('./sprite.js').Sprite>} */
    this.sprites = new Map();
    this.pools = (piece, x, y) => this.#drawPools(piece, x, y);
    this.glows = (piece, x, y) => this.#drawGlows(piece, x, y);
    this.flies = (piece, x, y) => this.#drawFlies(piece, x, y);
  }

  /** Draw the light of state.sky. `share` is 1, or less to weaken it. `others` draws what gleams by
   * itself. */
  draw(ctx, state, screen, ground, share, others) {
    const { style, dark, lit } = state.sky;
    if (dark * share < 0.005) return;
    ctx.globalAlpha = dark * share;
    ctx.fillStyle = style;
    ctx.fillRect(0, 0, screen.width, screen.height);
    this.ctx = ctx;
    this.lit = lit * share;
    this.now = state.now;
    if (this.lit > 0.01) this.#drawLights(state, screen, ground, others);
    ctx.globalAlpha = 1;
    ctx.globalCompositeOperation = 'source-over';
  }

  #drawLights(state, screen, ground, others) {
    const { ctx, tile } = this;
    if (!state.plain) {
      ctx.globalAlpha = this.lit;
      ctx.globalCompositeOperation = 'color-dodge';
      ground.eachPiece(screen, this.pools, REACH * tile);
      if (state.ownId !== null) {
        this.#stamp(this.#pool(OWN_POOL), screen.x(state.here.x), screen.y(state.here.y));
      }
    }
    ctx.globalCompositeOperation = 'lighter';
    ctx.globalAlpha = this.lit;
    ground.eachPiece(screen, this.glows, REACH * tile);
    others(this.lit);
    if (!state.plain && !state.still) ground.eachPiece(screen, this.flies, FLY_RANGE * tile);
  }

  #drawPools({ lights }, left, top) {
    for (let i = 0; i < lights.length; i += 3) {
      const pool = PROPS[lights[i + 2] - 1].light?.pool;
      if (pool !== undefined) this.#stamp(this.#pool(pool), left + lights[i], top + lights[i + 1]);
    }
  }

  #drawGlows({ lights }, left, top) {
    for (let i = 0; i < lights.length; i += 3) {
      for (const { x, y, size, colour } of PROPS[lights[i + 2] - 1].light?.glows ?? []) {
        this.#stamp(this.#glow(size, colour), left + lights[i] + Math.round(x * this.tile),
          top + lights[i + 1] + Math.round(y * this.tile));
      }
    }
  }

  #drawFlies({ fireflies }, left, top) {
    const { ctx, tile, now } = this, sprite = this.#fly();
    for (let i = 0; i < fireflies.length; i += 3) {
      const phase = fireflies[i + 2] / 1024;
      const shown = Math.sin((now / PULSE_MS + phase * 7) * Math.PI * 2);
      if (shown <= 0.05) continue;
      const turn = (now / FLY_MS + phase) * Math.PI * 2;
      const x = fireflies[i] + (Math.sin(turn) + 0.4 * Math.sin(3 * turn)) * FLY_RANGE * tile;
      const y = fireflies[i + 1] + (Math.cos(2 * turn) * 0.5 - FLY_HEIGHT) * tile;
      ctx.globalAlpha = this.lit * shown;
      this.#stamp(sprite, left + Math.round(x), top + Math.round(y));
    }
  }

  #stamp(sprite, x, y) {
    this.ctx.drawImage(sprite.canvas, x - sprite.ax, y - sprite.ay);
  }

  #pool(radius) {
    return this.#sprite('pool ' + radius, radius, radius * 0.72, '168, 126, 84', 0.8);
  }

  #glow(radius, colour = WARM) {
    return this.#sprite('glow ' + radius + colour, radius, radius, colour, 0.85);
  }

  #fly() {
    return this.#sprite('fly', 0.2, 0.2, FLY, 1);
  }

  #sprite(name, rx, ry, colour, most) {
    const known = this.sprites.get(name);
    if (known !== undefined) return known;
    const made = discOf(this.tile, rx, ry, colour, most);
    this.sprites.set(name, made);
    return made;
  }
}
