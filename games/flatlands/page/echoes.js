// Races and their echoes: the best run of a course walks along with whoever races there, as a function of
// time. The server tells of a race once, and of its end; all between is computed. It never touches the page
// and sends nothing.

/** @typedef {import('./landmarks.js').Post} Post */
/** @typedef {import('./landmarks.js').Course} Course */
/** @typedef {import('./state.js').Place} Place */
/** @typedef {import('./state.js').State} State */
/** @typedef {import('./state.js').Walker} Walker */

/** The radius of the ring around a signpost, in tiles: a race begins where the runner leaves the first ring, and
 * ends where it enters the second. */
export const RING = 4;
const FINE = 128;                         // parts of a tile in which a run is told
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
 * @property {boolean} waits       true if this page's player is not yet told how it has ended
 * @property {boolean} over        true if nothing more is to come of it
 */

/** A point of a run: ms since it began, and the place in tiles. @typedef {[ms: number, x: number, y: number]}
 * Point */

/** Return the points of a run, as it is told in base64: see games/flatlands/protocol.md.
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

/** Take what the server tells of a race of a player that is in view.
 * @param {State} state @param {number} runner @param {Course} course
 * @param {{ ms: number, player: number, look: number, name: string, way: string }} told  the echo */
export function takeRace(state, runner, course, { ms, player, look, name, way }) {
  state.races.set(runner, {
    runner, course, ms, name, way: ms === 0 ? [] : wayOf(way, course.from),
    echo: ms === 0 ? null : {
      id: IDS + runner, echo: player, look, name: state.muted.has(player) ? 'an echo' : `${name}’s echo`,
      x: NaN, y: NaN, dx: 0, dy: 1, walking: false, alpha: 0, own: false, dimmed: false, muted: false, saying: null,
      wavedAt: -Infinity, dancedAt: -Infinity, sparkAt: -Infinity, seenAt: 0, fadedAt: state.now, sketches: 0, awayX: 0, awayY: 0,
    },
    begunAt: NaN, endedAt: NaN, waits: runner === state.ownId, over: false,
  });
}

/** Return whether two courses are the same. */
export function isOne(course, other) {
  return course.from.i === other.from.i && course.from.j === other.from.j && course.side === other.side;
}

/** Return the race that this page's player is in, until it is told how that has ended; or null.
 * @param {State} state @returns {Race | null} */
export function ownRace({ races, ownId }) {
  const race = ownId === null ? undefined : races.get(ownId);
  return race === undefined || race.over || !race.waits ? null : race;
}

/** Bring all races and echoes up to where the runners are in this frame.
 * @param {State} state */
export function advanceEchoes(state) {
  state.echoes.length = 0;
  for (const [id, race] of state.races) {
    const runner = id === state.ownId ? state.here : state.drawn.get(id);
    if (runner === undefined) race.over = true;
    else follow(race, runner, state.now);
    const shown = !race.over && (id === state.ownId || !Number.isNaN(race.begunAt));
    if (race.echo === null || !fade(race.echo, shown, state.now)) {
      if (race.over) state.races.delete(id);
      continue;
    }
    moveEcho(race, race.echo, state.now);
    state.echoes.push(race.echo);
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

/** Return whether a place is in the ring around a signpost.
 * @param {Place} place @param {Post} post */
export function isInRing({ x, y }, post) {
  return Math.hypot(x - post.x - 0.5, y - post.y - 0.5) < RING;
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
