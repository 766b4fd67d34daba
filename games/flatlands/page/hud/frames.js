// Measures how long frames take, and decides what a machine can bear. It never touches the page.

const FRAMES = 150, FOR = 5000;           // so many frames are a sample, or those of so many ms
const LONGEST = 250;                      // ms that one frame counts for at most
const SLOW = 18.5, CRAWLS = 30;           // ms per frame

/** A sample of frames in a row. A page that slept for once has one frame that took long, which alone
 * changes little. */
export class Sample {
  constructor() {
    this.frames = 0;
    this.passed = 0;                      // ms
    this.last = NaN;
  }

  /** Note a frame at a performance time, ms. Return how many ms a frame takes, or null as long as
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

/** How much is drawn. On some machines it costs too much to blur what moves behind the panels: all begin
 * `plain`, without blur, and only where frames are fast it comes. Where it makes them slow it goes for good.
 * Where frames take long even so, they get `coarse`, with fewer pixels. */
export class Effort {
  constructor() {
    this.plain = true;
    this.coarse = false;
    this.blurred = false;                 // true once the blur has come
  }

  /** Take how many ms a frame takes. */
  judge(took) {
    if (!this.plain) this.plain = took > SLOW;
    else if (took > CRAWLS) this.coarse = true;
    else if (took <= SLOW && !this.blurred) {
      this.blurred = true;
      this.plain = false;
    }
  }
}
