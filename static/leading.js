// Walking for as long as the mouse or a finger is held: where to go next. It never touches the page and
// sends nothing.

const FAR = 24, AGAIN = 10;               // tiles to a goal that is set, and that are left of the way to
                                          // it when the next one is
const NEAR = 0.7;                         // tiles: a pointer this near means to stand
const TURN = 0.1;                         // radians by which the direction must differ
const TURN_EVERY = 120, TRY_EVERY = 1000; // ms between goals, and between tries where there is no way

/** @typedef {import('./state.js').Place} Place */

export class Leading {
  constructor() {
    /** @type {Place | null} Where it led last. */
    this.goal = null;
    this.angle = 0;                       // the direction of that, in radians
    this.at = -Infinity;                  // when, in ms
  }

  /** Return the goal of the next intent, in tiles, or null if the walk shall go on as it does.
   * @param {Place} here  the own player @param {Place} pointer  both in tiles
   * @param {boolean} arrived  whether the walk leads no further @param {number} now  in ms
   * @returns {Place | null} */
  next(here, pointer, arrived, now) {
    const dx = pointer.x - here.x, dy = pointer.y - here.y, away = Math.hypot(dx, dy), { goal } = this;
    const passed = now - this.at;
    if (passed < TURN_EVERY || (away < NEAR && arrived)) return null;
    if (away < NEAR) return this.#lead({ ...here }, now);
    const angle = Math.atan2(dy, dx);
    const left = goal === null ? 0 : Math.hypot(goal.x - here.x, goal.y - here.y);
    const goesOn = arrived ? passed < TRY_EVERY : left > AGAIN;
    if (goesOn && !isTurned(angle, this.angle)) return null;
    this.angle = angle;
    return this.#lead({ x: here.x + dx / away * FAR, y: here.y + dy / away * FAR }, now);
  }

  /** @param {Place} goal */
  #lead(goal, now) {
    this.at = now;
    return this.goal = goal;
  }
}

function isTurned(angle, before) {
  const by = Math.abs(angle - before);
  return Math.min(by, 2 * Math.PI - by) > TURN;
}
