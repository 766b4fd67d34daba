// The squares sing: each square has a tone of one pentatonic scale, so any squares together are a chord, and
// neighbours are a step apart. It sounds when a square is delivered while another player walks in it.

import { isDeer } from './faces.js';

/** @typedef {import('./state.js').State} State */

const LOWEST = 196;                       // Hz
const SCALE = [0, 2, 4, 7, 9];            // semitones
const STEPS = 10;                         // from the lowest tone to the highest
const EVERY = 100;                        // ms between two times at which squares sound
const MOST = 3;                           // squares that sound at once
const FAR = 24;                           // tiles, beyond which nothing is heard

/** Return the frequency of a square's tone, in Hz: along a row or column it rises and falls step by step. */
export function toneOf(col, row) {
  const round = 2 * STEPS, at = ((col + row) % round + round) % round, step = Math.min(at, round - at);
  return LOWEST * 2 ** ((SCALE[step % 5] + 12 * Math.floor(step / 5)) / 12);
}

export class Singing {
  constructor() {
    this.at = -Infinity;                  // performance time, ms, of the last look, and
    this.heard = Infinity;                // node time of it: what was delivered before was heard
  }

  /** Return the tones of the squares that sound now, the nearest first: for each the frequency in Hz, and
   * how loud it is, 1 at most for all together.
   * @param {State} state @returns {[number, number][]} */
  listen({ replica, walkers, here, now, clock }) {
    if (now < this.at + EVERY) return [];
    const { heard } = this, { side, squares } = replica;
    /** @type {Map<string, [number, number]>} */
    const tones = new Map();
    this.at = now;
    this.heard = clock.now();
    for (const walker of walkers) {
      const { own, muted, walking, x, y } = walker;
      const col = Math.floor(x / side), row = Math.floor(y / side), key = `${col}:${row}`;
      const near = 1 - Math.hypot(x - here.x, y - here.y) / FAR;
      if (own || muted || !walking || near <= 0 || isDeer(walker)) continue;
      const square = squares.get(key);
      if (square === undefined || square.last <= heard || near <= (tones.get(key)?.[1] ?? 0)) continue;
      tones.set(key, [toneOf(col, row), near]);
    }
    const nearest = [...tones.values()].sort((a, b) => b[1] - a[1]).slice(0, MOST);
    return nearest.map(([tone, near]) => [tone, near / Math.sqrt(nearest.length)]);
  }
}
