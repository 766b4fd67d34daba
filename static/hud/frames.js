// Measures how long frames take. It never touches the page.

const FRAMES = 150, FOR = 5000;           // so many frames are a sample, or those of so many ms
const LONGEST = 250;                      // ms that one frame counts for at most

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
