// Races and their echoes: the best run of a course walks along with whoever races there, as a function of
// time. The server announces a race once, and its end; all between is computed. It never touches the page
// and sends nothing.

import { isInRing } from '../landmarks.js';
import { placeAt as placeOn } from '../notes.js';

/** @typedef {import('../landmarks.js').Post} Post */
/** @typedef {import('../landmarks.js').Course} Course */
/** @typedef {import('../state.js').Place} Place */
/** @typedef {import('../state.js').State} State */
/** @typedef {import('../state.js').Walker} Walker */

const FINE = 128;                         // parts of a tile in which a run is sent
const POINT = 6;                          // bytes of each of its points
const LONGEST = 60000;                    // ms of a race that counts
const LINGERS = 2500, FADE = 400;         // ms for which an echo stays at its end, and in which it fades
const IDS = 2 ** 52;                      // the ids of echoes begin here: players have lower ones

/**
 * A race of a player, and the echo that walks along.
 * @typedef {object} Race
 * @property {number} runner       id of the player
 * @property {Course} course
 * @property {number} ms           of the echo's run; 0 if there is no echo
 * @property {string} name         of the player whose echo it is
 * @property {Point[]} way
 * @property {Walker | null} echo
 * @property {number} begunAt      performance time, ms, when the runner left the ring; NaN until it does
 * @property {number} endedAt      and when it came into the other one
 * @property {boolean} waits       true if this page's player does not yet know how it has ended
 * @property {boolean} over        true if nothing more is to come of it
 */

/** A point of a run: ms since it began, and the place in tiles. @typedef {[ms: number, x: number, y: number]}
 * Point */

/** Return the points of a run, as it is sent in base64: see games/flatlands/protocol.md.
 * @param {string} text @param {Post} from @returns {Point[]} */
export function wayOf(text, { x, y }) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0)), view = new DataView(bytes.buffer);
  return Array.from({ length: Math.floor(bytes.length / POINT) }, (_, i) => [view.getUint16(i * POINT, true),
    x + 0.5 + view.getInt16(i * POINT + 2, true) / FINE, y + 0.5 + view.getInt16(i * POINT + 4, true) / FINE]);
}

/** Return where a run is after some ms, and where it goes from there. Before its first point it is
 * at the first, and after its last one at the last.
 * @param {Point[]} way @returns {Place & { dx: number, dy: number }} */
export function placeAt(way, ms) {
  const next = way.findIndex(([t]) => t > ms);
  if (next <= 0) {
    const [, x, y] = way[next === 0 ? 0 : way.length - 1];
    return { x, y, dx: 0, dy: 0 };
  }
  const [t, x, y] = way[next - 1], [then, toX, toY] = way[next], part = (ms - t) / (then - t);
  return { x: x + (toX - x) * part, y: y + (toY - y) * part, dx: toX - x, dy: toY - y };
}

/** Return whether two courses are the same. */
export function isOne(course, other) {
  return course.from.i === other.from.i && course.from.j === other.from.j && course.side === other.side;
}

export class Echoes {
  /** @param {State} state  whose ghosts the echoes are */
  constructor(state) {
    this.state = state;
    /** @type {Map<number, Race>} The races of players in view, by the players' ids. */
    this.races = new Map();
  }

  /** Take what the server sends of a race of a player that is in view.
   * @param {number} runner @param {Course} course
   * @param {{ ms: number, player: number, look: number, name: string, way: string }} echo */
  take(runner, course, { ms, player, look, name, way }) {
    const { state } = this;
    this.races.set(runner, {
      runner, course, ms, name, way: ms === 0 ? [] : wayOf(way, course.from),
      echo: ms === 0 ? null : {
        id: IDS + runner, type: '', ghostOf: player, look, name: state.muted.has(player) ? 'an echo' : `${name}’s echo`,
        x: NaN, y: NaN, dx: 0, dy: 1, walking: false, alpha: 0, own: false, dimmed: false, friend: false, muted: false, saying: null,
        wavedAt: -Infinity, dancedAt: -Infinity, sparkAt: -Infinity, seenAt: 0, fadedAt: state.now, sketches: 0, awayX: 0, awayY: 0,
      },
      begunAt: NaN, endedAt: NaN, waits: runner === state.ownId, over: false,
    });
  }

  /** Forget the races of others. */
  clear() {
    for (const id of this.races.keys()) if (id !== this.state.ownId) this.races.delete(id);
  }

  /** Return the race that this page's player is in, until it learns how that has ended; or null.
   * @returns {Race | null} */
  own() {
    const { ownId } = this.state, race = ownId === null ? undefined : this.races.get(ownId);
    return race === undefined || race.over || !race.waits ? null : race;
  }

  /** Bring all races and echoes up to where the runners are in this frame. */
  advance() {
    const { state, races } = this;
    for (const [id, race] of races) {
      const runner = id === state.ownId ? state.here : state.drawn.get(id);
      if (runner === undefined) race.over = true;
      else follow(race, runner, state.now);
      const shown = !race.over && (id === state.ownId || !Number.isNaN(race.begunAt));
      if (race.echo === null || !fade(race.echo, shown, state.now)) {
        if (race.over) races.delete(id);
        continue;
      }
      moveEcho(race, race.echo, state.now);
      state.ghosts.push(race.echo);
    }
  }
}

/** Follow a runner from ring to ring.
 * @param {Race} race @param {Place} runner */
function follow(race, runner, now) {
  const { from, to } = race.course;
  if (Number.isNaN(race.endedAt)) {
    // A runner that comes back to the signpost begins again.
    if (isInRing(runner, from)) race.begunAt = NaN;
    else if (Number.isNaN(race.begunAt)) race.begunAt = now;
    if (isInRing(runner, to)) race.endedAt = now;
  }
  const passed = now - race.begunAt, lasts = Math.max(race.ms, race.endedAt - race.begunAt) + LINGERS;
  race.over ||= Number.isNaN(race.endedAt) ? passed > LONGEST : passed > lasts && !race.waits;
}

/** @param {Race} race @param {Walker} echo */
function moveEcho({ way, begunAt, ms }, echo, now) {
  const passed = now - begunAt || 0, { x, y, dx, dy } = placeAt(way, passed);
  Object.assign(echo, { x, y, walking: passed > 0 && passed < ms && (dx !== 0 || dy !== 0) });
  if (!echo.walking) return;
  echo.dx = Math.abs(dx) * 2 > Math.abs(dy) ? Math.sign(dx) : 0;
  echo.dy = Math.abs(dy) * 2 > Math.abs(dx) ? Math.sign(dy) : 0;
}

/** Fade an echo in or out; return whether anything of it can be seen.
 * @param {Walker} echo */
function fade(echo, shown, now) {
  const step = (now - echo.fadedAt) / FADE;
  echo.alpha = Math.min(Math.max(echo.alpha + (shown ? step : -step), 0), 1);
  echo.fadedAt = now;
  return shown || echo.alpha > 0;
}

/** Return a time in words: 12.34 s. */
export function secondsOf(ms) {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Return in words how a race to `name` has ended, after `ms`. A runner that `won` now holds the course. The other run
 * was the best one before, or still is: of `otherMs`, 0 if there was none, and by `otherName`, or the player's `own`.
 * @param {string} name @param {{ ms: number, won: boolean, otherMs: number, otherName: string, own: boolean }}
 *   result */
export function resultOf(name, { ms, won, otherMs, otherName, own }) {
  const by = secondsOf(Math.abs(otherMs - ms));
  if (!won && ms === otherMs && own) return 'As fast as your own echo.';
  if (!won && own) return `${by} slower than your own echo, which took ${secondsOf(otherMs)}.`;
  if (!won && ms === otherMs) return `As fast as ${otherName}, who was there first: the way to ${name} is theirs.`;
  if (!won) return `${by} slower than ${otherName}, who holds the record to ${name}: ${secondsOf(otherMs)}.`;
  if (otherMs === 0) return `Nobody was here before you: the way to ${name} is yours.`;
  return own ? `${by} faster than your own echo.`
    : `${by} faster than ${otherName}: the way to ${name} is yours.`;
}

/** Return where the course of a line of the book begins, where it leads, and in what time it was run.
 * @param {import('../notes.js').Row} row @param {import('../landmarks.js').Landmarks} landmarks */
function courseOf([, , , n, i, j], landmarks) {
  const post = landmarks.post(i, j), course = post && landmarks.courses(post).find(({ side }) => side === n % 4);
  const from = post && placeOn(post.x, post.y, 'the signpost where it begins');
  return { from, name: course?.name ?? 'a signpost', time: secondsOf(Math.floor(n / 4)) };
}

/** What the book says of races. @type {import('../notes.js').Note[]} */
export const NOTES = [{
  kind: 'echo',
  sign: 'race',
  sum: ['race won', 'races won'],
  say: (row, landmarks) => {
    const { from, name, time } = courseOf(row, landmarks), [, , who] = row;
    return [`${who === '' ? 'You were the first' : `You beat ${who}`} on the way to ${name}: ${time}.`, from];
  },
}, {
  kind: 'beaten',
  sign: 'race',
  sum: ['race lost', 'races lost'],
  others: true,
  say: (row, landmarks) => {
    const { from, name, time } = courseOf(row, landmarks);
    return [`${row[2]} was faster than you on the way to ${name}: ${time}.`, from];
  },
}];
