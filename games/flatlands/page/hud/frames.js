// Measures how long frames take, and decides how much a machine can draw. It never touches the page.

const FRAMES = 150, FOR = 5000;           // a sample has this many frames, or lasts this many ms
const LONGEST = 250;                      // ms that one frame counts for at most
const SLOW = 18.5, CRAWLS = 30;           // ms per frame

/** A sample of frames in a row. If the page slept once, one frame took long, which alone changes
 * little. */
export class Sample {
  constructor() {
    this.frames = 0;
    this.passed = 0;                      // ms
    this.last = NaN;
  }

  /** Note a frame at performance time `at`, ms. Return how many ms a frame takes, or null as long as
   * that is not known.
   * @returns {number | null} */
  frame(at) {
    const took = at - this.last;
    this.last = at;
    if (Number.isNaN(took)) return null;
    this.frames++;
    this.passed += Math.min(took, LONGEST);
    if (this.frames < FRAMES && this.passed < FOR) return null;
    return this.passed / this.frames;
  }
}

/** How much is drawn. For some machines it is too much to blur what moves behind the panels. So all begin
 * `plain`, without blur, and blur only if frames are fast; if that makes them slow, the blur goes for good.
 * If frames take long even without it, they become `coarse`, with fewer pixels. */
export class Effort {
  constructor() {
    this.plain = true;
    this.coarse = false;
    this.blurred = false;                 // true once the blur has come
  }

  /** Decide by how many ms a frame takes. */
  judge(took) {
    if (!this.plain) this.plain = took > SLOW;
    else if (took > CRAWLS) this.coarse = true;
    else if (took <= SLOW && !this.blurred) {
      this.blurred = true;
      this.plain = false;
    }
  }
}
