// Where to go next: while the mouse or a finger is held, and to catch up with somebody who is followed. It
// never touches the page and sends nothing.

const FAR = 24, AGAIN = 10;               // tiles to a goal when it is set, and tiles left to go when
                                          // the next one is set
const NEAR = 0.7;                         // tiles: a pointer this near means to stand
const TURN = 0.1;                         // radians by which the direction must differ
const TURN_EVERY = 120, TRY_EVERY = 1000; // ms between goals, and between tries where there is no way

export const BESIDE = 1.6;                      // tiles from somebody at which a player that goes there stops
const MOVED = 0.3;                        // tiles by which the goal of a followed player must move to count
const FOLLOW_EVERY = 200, CATCH_UP_EVERY = 3000;    // ms between goals, and between tries where one was barred

/** @typedef {import('./state.js').Place} Place */

export class Leading {
  constructor() {
    /** @type {Place | null} Where it led last. */
    this.goal = null;
    this.angle = 0;                       // the direction of the goal, in radians
    this.at = -Infinity;                  // when, in ms
  }

  /** Return the goal of the next intent, in tiles, or null if the walk is to go on unchanged.
   * @param {Place} here  this page's player @param {Place} pointer  both in tiles
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

/** Following somebody. Its track is known, so the player sets out again only when it leads elsewhere. */
export class Following {
  /** @param {number} id @param {string} name */
  constructor(id, name) {
    this.id = id;
    this.name = name;
    /** @type {Place | null} Where its walk led when the player last set out. */
    this.goal = null;
    this.at = -Infinity;                  // when that was, in ms
  }

  /** Return whether to set out, or to stop, now.
   * @param {Place} here  this page's player @param {Place} there  where the walk of the followed player
   *   ends; both in tiles
   * @param {boolean} arrived  whether the player's own walk leads no further @param {number} now  in ms */
  next(here, there, arrived, now) {
    const { goal } = this, passed = now - this.at;
    const away = Math.hypot(there.x - here.x, there.y - here.y);
    const moved = goal === null || Math.hypot(there.x - goal.x, there.y - goal.y) > MOVED;
    const due = moved ? !arrived || away > BESIDE + MOVED
      : arrived && away > 2 * BESIDE && passed >= CATCH_UP_EVERY;
    if (!due || passed < FOLLOW_EVERY) return false;
    this.at = now;
    this.goal = { ...there };
    return true;
  }
}

function isTurned(angle, before) {
  const by = Math.abs(angle - before);
  return Math.min(by, 2 * Math.PI - by) > TURN;
}
