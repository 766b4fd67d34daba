// Names under the walkers, the player's own on a plate. If two would overlap, only one is shown: that of a friend before
// that of somebody else, of a person before that of a computer player, and of the walker nearer to the player. A name that
// is already shown counts as nearer, so that names do not flicker.

import { isComputer } from '../faces.js';
import { textOf } from './text.js';

const SIZE = 13, WIDEST = 160;            // css px
const CELL = 6;                           // css px of the grid that finds overlaps
const PLACE_EVERY = 160;                  // ms
const FADE_IN_MS = 160, FADE_OUT_MS = 80;
const BELOW = 0.16, OWN_BELOW = 0.36;     // tiles from the feet to the name's top; the latter below the ring
const OWN = { half: 0.4, up: 1.1 };        // tiles around the player's walker, from its feet
const BUILD_MS = 3;                       // ms that one placing may spend on new pictures
const KEEPS = 0.75;                       // factor by which a shown name counts as nearer
const COLOUR = '#ffffff', OUTLINE = 'rgba(20, 26, 36, 0.92)';
const FRIEND_COLOUR = '#9ff0c8';
const RANKS = 1e6;                        // tiles², farther than anybody who is drawn: between a friend, others, and clockwork
const OWN_COLOUR = '#ffe7a8', OWN_PLATE = 'rgba(20, 26, 36, 0.8)', MUTED_COLOUR = '#c6ccd4';

export class NameTags {
  constructor() {
    this.placed = -Infinity;
    /** @type {import('./walkers.js').Memory[]} */
    this.queue = [];
    this.taken = new Uint8Array(0);
    this.until = 0;                       // performance time, ms, after which no new pictures
                                          // are made
  }

  draw(ctx, state, screen, order, dpr, elapsed) {
    if (state.now - this.placed > PLACE_EVERY || state.now < this.placed) {
      this.placed = state.now;
      this.#place(state, screen, order, dpr);
    }
    const fadeIn = state.still ? 1 : elapsed / FADE_IN_MS;
    const fadeOut = state.still ? 1 : elapsed / FADE_OUT_MS;
    for (const memory of order) {
      const { walker, name } = memory;
      const alpha = memory.nameAlpha = memory.named ? Math.min(1, memory.nameAlpha + fadeIn)
        : Math.max(0, memory.nameAlpha - fadeOut);
      if (alpha === 0 || name === null) continue;
      ctx.globalAlpha = alpha * walker.alpha * (walker.dimmed ? 0.85 : 1);
      ctx.drawImage(name.canvas, memory.px - (name.w >> 1),
        memory.py + topOf(walker, screen));
    }
    ctx.globalAlpha = 1;
  }

  #place(state, screen, order, dpr) {
    const { queue } = this, cell = CELL * dpr;
    const cols = Math.ceil(screen.width / cell) + 1, rows = Math.ceil(screen.height / cell) + 1;
    if (this.taken.length < cols * rows) this.taken = new Uint8Array(cols * rows);
    else this.taken.fill(0);
    queue.length = 0;
    this.until = performance.now() + BUILD_MS;
    for (const memory of order) {
      const { walker } = memory;
      if (memory.deer || walker.name === '') continue;
      const dx = walker.x - state.camera.x, dy = walker.y - state.camera.y;
      const before = walker.friend ? 0 : isComputer(walker.id) ? 2 : 1;
      memory.rank = walker.own ? -1 : before * RANKS + (dx * dx + dy * dy) * (memory.named ? KEEPS : 1);
      queue.push(memory);
    }
    queue.sort((a, b) => a.rank - b.rank);
    for (const memory of queue) {
      const { px, py, walker } = memory, { tile } = screen;
      // Other names do not cover the player's walker either.
      if (walker.own) this.#take(px - OWN.half * tile, py - OWN.up * tile, 2 * OWN.half * tile, OWN.up * tile, cell, cols, rows);
      const name = this.#picture(memory, dpr);
      memory.named = name !== null && this.#take(px - name.w / 2, py + topOf(walker, screen) + name.h * 0.2, name.w,
        name.h * 0.6, cell, cols, rows);
    }
  }

  /** Take the cells of a box in device px; return false if one is taken already. */
  #take(left, top, width, height, cell, cols, rows) {
    const fromX = Math.max(0, Math.floor(left / cell)), toX = Math.min(cols - 1, Math.floor((left + width) / cell));
    const fromY = Math.max(0, Math.floor(top / cell)), toY = Math.min(rows - 1, Math.floor((top + height) / cell));
    for (let y = fromY; y <= toY; y++) {
      for (let x = fromX; x <= toX; x++) if (this.taken[y * cols + x] === 1) return false;
    }
    for (let y = fromY; y <= toY; y++) {
      for (let x = fromX; x <= toX; x++) this.taken[y * cols + x] = 1;
    }
    return true;
  }

  /** Return a walker's name as a picture, or null if it has to wait because many come into view. */
  #picture(memory, dpr) {
    const { walker } = memory;
    const colour = walker.own ? OWN_COLOUR : walker.muted ? MUTED_COLOUR : walker.friend ? FRIEND_COLOUR : COLOUR;
    if (memory.name !== null && memory.nameText === walker.name && memory.nameDpr === dpr
      && memory.nameColour === colour) return memory.name;
    if (performance.now() > this.until) return null;
    memory.nameText = walker.name;
    memory.nameDpr = dpr;
    memory.nameColour = colour;
    const on = walker.own ? { plate: OWN_PLATE } : { outline: OUTLINE };
    return memory.name = textOf(walker.name, { size: SIZE, dpr, colour, widest: WIDEST, ...on });
  }
}

/** Return how many device px below its feet a walker's name begins. */
function topOf({ own }, { tile }) {
  return Math.round((own ? OWN_BELOW : BELOW) * tile);
}
