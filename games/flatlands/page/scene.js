// The scene: computes for each frame, from what is known, where the walkers and the camera are, and
// the arrows to players out of sight. It never touches the page.

import { skyAt } from './day.js';
import { isComputer } from './faces.js';
import { advanceThings } from './things.js';
import { isAddressed, tellApart } from './names.js';
import { advancePlaces } from './places.js';
import { drawnAt } from './track.js';

/** @typedef {import('./replica.js').Player} Player */
/** @typedef {import('./state.js').State} State */
/** @typedef {import('./state.js').Walker} Walker */

const FADE = 300;                         // ms to fade in or out
const SAID_FOR = [4000, 6000];            // ms that a bubble is shown: short and long texts
const DELAY = [50, 400];                  // least and most ms of State.delay
const DELAY_SLEW = 0.05;                  // ms by which the delay changes per ms
const LATE_FADES = 0.9995;                // share of a lateness that is left after 1 ms
const BLENDS = 300;                       // ms in which a walker glides two thirds of what a sketch corrects
const LEADS_IN = 400;                     // ms of a walk that are drawn before the place where a sketch found it
const CAMERA_LAG = 90;                    // ms in which the camera goes two thirds of its way
const CAMERA_JUMP = 12;                   // tiles: over a longer way it jumps
const ARROWS = 3, ARROWS_SMALL = 2;       // number of players that get an arrow, and on a small screen
const SMALL = 20;                         // tiles: a screen less wide or high is small
const BODY = 0.4, HEIGHT = 1.1;           // tiles: half the width of a walker, and its height
const CLOCKWORK_SPEAK = 2;                // clockwork walkers whose bubbles are shown at once
const GOAL_SHOWN = 4000;                  // ms
const PLAZA = { x: 0.5, y: 0.5 };         // tiles

/** Forget which walkers and things were drawn, for example after the connection was lost.
 * @param {State} state */
export function clearScene(state) {
  state.drawn.clear();
  state.things.clear();
  state.followed = null;
  state.thingsOf = -1;
  state.namesOf = -1;
}

/** Note that an event arrived `late` ms after what it describes began.
 * @param {State} state */
export function noteLateness(state, late) {
  if (late > state.late) state.late = late;
}

/** Show what a player said in a bubble; `at` is performance time, ms. Returns whether it is for this
 * page's player: people speak to all who hear them, clockwork walkers to those whom they call by name.
 * @param {State} state */
export function showSaying(state, id, text, at) {
  const toOwn = state.own !== undefined && isAddressed(text, state.own.name);
  const walker = walkerInSight(state, id), length = Math.min(text.length / 60, 1);
  if (walker !== undefined) {
    walker.saying = { text, emote: 0, at, until: at + SAID_FOR[0] + (SAID_FOR[1] - SAID_FOR[0]) * length,
      toOwn, shown: !isComputer(id) };
  }
  return toOwn || !isComputer(id);
}

/** Choose whose bubbles are shown: of clockwork walkers only a few, first those who call this page's player
 * by name, and then the nearest.
 * @param {State} state */
function chooseBubbles(state) {
  const { walkers, here } = state;
  const speaking = walkers.flatMap((walker) => walker.saying === null || !isComputer(walker.id)
    || !isInView(state, walker) ? []
    // A walker whose bubble is shown keeps it.
    : [{ saying: walker.saying, rank: (walker.saying.toOwn ? 0 : 2e3) + (walker.saying.shown ? 0 : 1e3)
      + Math.hypot(walker.x - here.x, walker.y - here.y) }]);
  speaking.sort((a, b) => a.rank - b.rank).forEach(({ saying }, i) => {
    saying.shown = i < CLOCKWORK_SPEAK;
  });
}

/** Let the camera jump to this page's player.
 * @param {State} state */
export function cutCamera(state) {
  state.cameraAt = 0;
}

/** Bring everything that is drawn up to performance time `at`, ms.
 * @param {State} state */
export function advanceScene(state, at) {
  const { replica, walk, ownId } = state, now = state.clock.now(at);
  state.now = at;
  // Before the first welcome nothing has said what time it is.
  state.sky = skyAt((state.clock.offset === null ? Date.now() : now) + state.dayShift);
  slewDelay(state, at);
  if (state.namesOf !== replica.nameChanges) {
    state.namesOf = replica.nameChanges;
    state.names = tellApart(replica.players.values());
  }
  [state.here.x, state.here.y] = ownId === null ? [PLAZA.x, PLAZA.y] : walk.drawn(now);
  for (const player of replica.players.values()) moveWalker(state, player, now);
  fadeWalkers(state);
  chooseBubbles(state);
  advanceThings(state);
  if (ownId !== null) advancePlaces(state);
  state.ghosts.length = 0;
  for (const step of state.steps.all) step(state);
  moveCamera(state);
  const { goal } = state;
  if (goal !== null && (walk.arrived || at - goal.at > GOAL_SHOWN)) state.goal = null;
  state.overlay = state.gridShown && ownId !== null ? overlayOf(state, now) : null;
  state.arrows = ownId === null ? [] : arrowsOf(state);
}

/** @param {State} state @param {Player} player */
function moveWalker(state, player, now) {
  const own = player.id === state.ownId, { walk } = state;
  const walker = walkerOf(state, player.id);
  const track = own ? walk.track : player.track;
  const time = own ? walk.time(now) : now - state.delay;
  const before = player.rough && !own ? LEADS_IN : 0, begun = time >= track.start - before;
  if (own) {
    walker.x = state.here.x;
    walker.y = state.here.y;
  } else {
    const [x, y] = drawnAt(track, time, before);
    // A walker that is suddenly elsewhere fades in there, and does not fly through the air.
    if (Math.hypot(walker.x - x, walker.y - y) > CAMERA_JUMP) {
      walker.alpha = 0;
      walker.awayX = walker.awayY = 0;
    } else if (walker.sketches !== player.sketches) {
      // It was drawn elsewhere until now, and goes on from there to where it is.
      walker.awayX = walker.x - x || 0;
      walker.awayY = walker.y - y || 0;
    }
    const left = Math.exp((walker.seenAt - state.now) / BLENDS);
    walker.x = x + (walker.awayX *= left);
    walker.y = y + (walker.awayY *= left);
  }
  walker.walking = begun && time < track.start + track.duration;
  if (track.duration > 0 && begun) {
    const ax = Math.abs(track.dx), ay = Math.abs(track.dy);
    walker.dx = ax * 2 > ay ? Math.sign(track.dx) : 0;
    walker.dy = ay * 2 > ax ? Math.sign(track.dy) : 0;
  }
  walker.sketches = player.sketches;
  walker.name = state.names.get(player.id) ?? player.name;
  walker.dimmed = player.dimmed;
  walker.look = player.look;
  walker.type = player.type;
  walker.muted = state.muted.has(player.id);
  walker.friend = state.friends.has(player.id);
  walker.own = own;
  walker.seenAt = state.now;
}

/** Return the walker of a player, even if it has come since the last frame: many greet as they come.
 * @param {State} state @returns {Walker | undefined} */
export function walkerInSight(state, id) {
  const player = state.replica.players.get(id);
  if (player !== undefined && !state.drawn.has(id)) moveWalker(state, player, state.clock.now());
  return state.drawn.get(id);
}

/** Return the walker of an id. A new one has no position yet and is invisible.
 * @param {State} state @returns {Walker} */
export function walkerOf(state, id) {
  const known = state.drawn.get(id);
  if (known !== undefined) return known;
  const walker = {
    id, x: NaN, y: NaN, dx: 0, dy: 1, walking: false, alpha: 0, name: '', own: false,
    dimmed: false, friend: false, muted: false, look: 0, type: '', saying: null, wavedAt: -Infinity, dancedAt: -Infinity, sparkAt: -Infinity,
    seenAt: state.now, fadedAt: state.now, sketches: 0, awayX: 0, awayY: 0,
  };
  state.drawn.set(id, walker);
  return walker;
}

/** Fade in walkers that are known; fade out, and then forget, those that no longer are.
 * @param {State} state */
function fadeWalkers(state) {
  const { drawn, walkers, now } = state;
  walkers.length = 0;
  for (const [id, walker] of drawn) {
    const gone = now - walker.seenAt;
    if (gone > FADE) {
      drawn.delete(id);
      continue;
    }
    const step = (now - walker.fadedAt) / FADE;
    walker.alpha = Math.min(Math.max(walker.alpha + (gone > 0 ? -step : step), 0), 1);
    walker.fadedAt = now;
    if (walker.saying !== null && (now >= walker.saying.until || walker.muted)) {
      walker.saying = null;
    }
    walkers.push(walker);
  }
}

/** @param {State} state */
function slewDelay(state, at) {
  const passed = Math.min(at - state.lateAt, 1000);
  state.lateAt = at;
  state.late *= LATE_FADES ** passed;
  const wanted = Math.min(Math.max(state.late, DELAY[0]), DELAY[1]);
  const most = passed * DELAY_SLEW;
  state.delay += Math.min(Math.max(wanted - state.delay, -most), most);
}

/** @param {State} state */
function moveCamera(state) {
  const { camera, now, ownId, aside, viewport } = state, here = { ...state.here };
  if (ownId === null) {
    here.x -= aside.x * viewport.w;
    here.y -= aside.y * viewport.h;
  }
  const far = Math.hypot(here.x - camera.x, here.y - camera.y) > CAMERA_JUMP;
  const part = state.cameraAt === 0 || far ? 1
    : 1 - Math.exp((state.cameraAt - now) / CAMERA_LAG);
  camera.x += (here.x - camera.x) * part;
  camera.y += (here.y - camera.y) * part;
  state.cameraAt = now;
}

/** @param {State} state @returns {import('./state.js').Overlay | null} */
function overlayOf({ replica, here }, now) {
  const { side, held, dropped } = replica;
  return held === null ? null : {
    held,
    dropped: dropped.map(({ col, row, at }) => ({ col, row, age: now - at })),
    squares: replica.census(now),
    mine: { col: Math.floor(here.x / side), row: Math.floor(here.y / side) },
  };
}

/** @param {State} state @returns {import('./state.js').Arrow[]} */
function arrowsOf(state) {
  const { here, walkers, viewport } = state;
  const hidden = (place) => !isInView(state, place);
  // Nobody looks for a computer player, unless for the one that leads.
  const others = walkers.filter((walker) => !walker.own && !walker.muted
    && (!isComputer(walker.id) || walker.id === state.followed) && !isPartlyInView(state, walker));
  const away = ({ x, y }) => Math.hypot(x - here.x, y - here.y);
  others.sort((a, b) => Number(b.friend) - Number(a.friend) || away(a) - away(b));
  const most = Math.min(viewport.w, viewport.h) < SMALL ? ARROWS_SMALL : ARROWS;
  /** @type {import('./state.js').Arrow[]} */
  const arrows = others.slice(0, most).map(({ x, y, name, id, look }) =>
    ({ x, y, label: name, id, look }));
  const { aim } = state;
  arrows.unshift(...state.pointers.all.flatMap((pointer) => pointer(state)).filter(hidden));
  // In view it is drawn only if a panel covers the place.
  if (aim !== null) {
    arrows.unshift({ x: aim.x, y: aim.y, label: aim.label, id: null, look: 0, aim: true });
  }
  for (const { foot, y, kind, name } of state.marks) {
    const mark = { x: foot + 0.5, y: y + 0.5, label: name, id: null, look: 0, kind };
    if (!hidden(mark) && name !== aim?.label) arrows.push(mark);
  }
  return hidden(PLAZA) ? [{ ...PLAZA, label: 'plaza', id: null, look: 0 }, ...arrows] : arrows;
}

/** Return whether anything of a walker is on the screen; `place` is where its feet are.
 * @param {State} state @param {import('./state.js').Place} place */
function isPartlyInView({ camera, viewport }, { x, y }) {
  const up = y - camera.y + viewport.h / 2;
  return Math.abs(x - camera.x) <= viewport.w / 2 + BODY && up >= 0 && up <= viewport.h + HEIGHT;
}

/** Return whether a place is on the screen.
 * @param {State} state @param {import('./state.js').Place} place */
export function isInView({ camera, viewport }, { x, y }) {
  return Math.abs(x - camera.x) <= viewport.w / 2 && Math.abs(y - camera.y) <= viewport.h / 2;
}
