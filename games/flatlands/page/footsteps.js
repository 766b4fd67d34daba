// When the feet of this page's player touch the ground, and which kind. It never touches the page.

/** @typedef {import('./state.js').State} State */

const STEP = 0.75;                        // tiles: half of the double step that walkers are drawn with
const LEAP = 2;                           // tiles: a longer way in one frame is a jump

export class Footsteps {
  /** `onStep(kind)` is called with the kind of the ground (terrain.js).
   * @param {(kind: number) => void} onStep */
  constructor(onStep) {
    this.onStep = onStep;
    this.x = this.y = NaN;
    this.walked = 0;                      // tiles since the last step
  }

  /** Take where this page's player is in this frame.
   * @param {State} state */
  follow({ here, terrain, walk }) {
    const way = Math.hypot(here.x - this.x, here.y - this.y);
    this.x = here.x;
    this.y = here.y;
    if (walk.arrived || !(way < LEAP)) {
      this.walked = STEP / 2;
      return;
    }
    this.walked += way;
    if (this.walked < STEP) return;
    this.walked %= STEP;
    this.onStep(terrain.kind(Math.floor(here.x), Math.floor(here.y)));
  }
}
