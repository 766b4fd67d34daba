// Who carries the ember, and which fires burn, as the server sends it: games/flatlands/ember/ember.py decides. It
// never touches the page and sends nothing.

import { hearthOf, PART, PLAZA_HEARTH } from '../landmarks.js';
import { landmarkAt } from '../notes.js';

/** @typedef {import('../landmarks.js').Landmark} Landmark */
/** A fire: the tile of its landmark, until when it burns (node time, ms), and the names of the hands that brought it.
 * @typedef {{ x: number, y: number, until: number, hands: string[] }} Fire */

/** ms for which the ember burns in one hand. */
export const BURNS = 30000;
const AHEAD = 2 * BURNS;                  // ms: nobody has it for longer, whatever was sent
const FRONT = 16;                         // fires around which a goal is looked for

/** The key of the plaza among the fires; that of a landmark is its tile. */
export const PLAZA_KEY = '0,0';

/** Return the key of a landmark among the fires. */
export function keyOf({ x, y }) {
  return x + ',' + y;
}

/** Return the place of a landmark's hearth, or of that on the plaza (null), in tiles.
 * @param {Landmark | null} mark */
export function placeOf(mark) {
  const { x, y } = mark === null ? PLAZA_HEARTH : hearthOf(mark);
  return { x: x + 0.5, y: y + 0.5 };
}

/** What the book says of a landmark that was lit. @type {import('../notes.js').Note} */
export const NOTE = {
  kind: 'hand',
  sign: 'flame',
  sum: ['landmark lit', 'landmarks lit'],
  say: ([, , who, n, i, j], landmarks) => {
    const hands = ['You', `You and ${who}`, `You, ${who} and another`][n - 1] ?? `You, ${who} and ${n - 2} others`;
    const place = landmarkAt(i, j, landmarks);
    return [`${hands} brought the ember to ${place.name}.`, place];
  },
};

export class Ember {
  constructor() {
    this.id = 0;                          // the player that had it last
    this.name = '';
    this.until = 0;                       // node time, ms
    /** @type {Map<string, Fire>} Those that burn; none as long as the server has sent none. */
    this.fires = new Map();
    /** @type {{ mark: Landmark, from: string } | null} The dark landmark that all want to light next, and the key of
     * the fire nearest to it. */
    this.goal = null;
    this.looked = false;                  // whether it was looked for since the fires changed
    /** @type {{ id: number, name: string, left: number } | null} Who carries it in this frame, and how much of it is left
     * (1 .. 0). */
    this.held = null;
  }

  /** Return who carries it at a node time, and how much of it is left (1 .. 0); null if nobody does.
   * @returns {{ id: number, name: string, left: number } | null} */
  carried(now) {
    const { id, name, until } = this, left = until - now;
    return id === 0 || left <= 0 || left > AHEAD ? null : { id, name, left: Math.min(left / BURNS, 1) };
  }

  /** Take what was sent of it, at a node time: of two carriers, the one that has it for longer counts. */
  take(id, until, name, now) {
    if (until < this.until && this.until <= now + AHEAD) return;
    Object.assign(this, { id, until, name });
  }

  /** Take which landmarks burn: the tile of each, until when, and the names of the hands.
   * @param {[number, number, number, string[]][]} rows */
  light(rows) {
    this.looked = false;
    this.fires.set(PLAZA_KEY, { x: 0, y: 0, until: Infinity, hands: [] });
    for (const [x, y, until, hands] of rows) this.fires.set(keyOf({ x, y }), { x, y, until, hands });
    if (this.goal !== null && this.fires.has(keyOf(this.goal.mark))) this.goal = null;
  }

  /** Forget the fires that have burnt out by a node time, and go on looking for the goal: the dark landmark that is
   * nearest to one of the newest fires, or to the plaza. Each part of the world that is looked at for the first
   * time takes some ms.
   * @param {import('../landmarks.js').Landmarks} landmarks */
  advance(landmarks, now) {
    for (const [key, { until }] of this.fires) {
      if (until > now) continue;
      this.fires.delete(key);
      this.looked = false;
    }
    if (this.fires.size === 0 || this.looked) return;
    let least = Infinity, goal = null;
    for (const fire of [...this.fires.values()].sort((a, b) => b.until - a.until).slice(0, FRONT)) {
      const column = Math.floor(fire.x / PART), row = Math.floor(fire.y / PART);
      for (let j = row - 1; j <= row + 1; j++) {
        for (let i = column - 1; i <= column + 1; i++) {
          if (!landmarks.knows(i, j)) return void landmarks.of(i, j);
          const mark = landmarks.of(i, j);
          if (mark === null || this.fires.has(keyOf(mark))) continue;
          const far = Math.hypot(mark.x - fire.x, mark.y - fire.y);
          if (far >= least) continue;
          least = far;
          goal = { mark, from: keyOf(fire) };
        }
      }
    }
    this.goal = goal;
    this.looked = true;
  }

  /** Return what the place of a fire is called, by its key.
   * @param {import('../landmarks.js').Landmarks} landmarks */
  nameOf(landmarks, key) {
    const { x, y } = this.fires.get(key) ?? { x: 0, y: 0 };
    return key === PLAZA_KEY ? 'the plaza' : landmarks.of(Math.floor(x / PART), Math.floor(y / PART))?.name ?? 'a landmark';
  }

  /** Forget everything: the connection is a new one. */
  clear() {
    Object.assign(this, { id: 0, name: '', until: 0, goal: null, looked: false });
    this.fires.clear();
  }
}
