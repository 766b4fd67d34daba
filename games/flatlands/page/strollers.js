// Who strolls about the plaza behind the title: as many as are out in the world, but nobody in particular, and the
// player as it will look. Where they are is a function of time. It never touches the page, and nobody hears of it.

import { EMOTE_SHOWN, WAVE } from './emotes.js';
import { walkerOf } from './scene.js';
import { hash32 } from './terrain.js';

const MOST = 5;                           // people, and as many clockwork walkers
const PEOPLE_FROM = 2 ** 40, OWN = 2 ** 41;     // ids that nobody has
const STEP = 8600, GOES = 0.55;           // ms from one place to the next, and the share of it that is walked
const NEAREST = 3.3, FARTHEST = 5.6;      // tiles from the middle of the plaza
const TURNS = [0.35, 0.75];               // radians from one place to the next,
const APART = 2.4;                        // and from one stroller to the next at the beginning
const OWN_AT = { x: 0.5, y: 3.1 };        // tiles
const PLAZA = 0.5;

/** Return a share 0 .. 1 that is random, but always the same for a stroller `id`, its step `i`, and `what`. */
const share = (id, i, what) => hash32(id * 97 + i * 131 + what * 7919) / 2 ** 32;

/** Move those who stroll; the player's own has the look `ownLook`, and `now` is performance time, ms.
 * @param {import('./state.js').State} state @param {number} ownLook */
export function stroll(state, ownLook, now) {
  const { still, atlas: { totals } } = state;
  for (const { wavedAt, ...stroller } of strollersAt(still ? 0 : now, totals, ownLook)) {
    const walker = Object.assign(walkerOf(state, stroller.id), stroller, { seenAt: now });
    if (wavedAt !== null && !still) walker.saying ??= waving(wavedAt);
  }
}

const waving = (at) => ({ text: '', emote: WAVE, at, until: at + EMOTE_SHOWN, toOwn: false, shown: false });

/** Return who strolls at performance time `now`, ms: their ids, looks, places and directions, and when each began to wave.
 * @param {{ people: number, computers: number } | null} totals  how many are out, if that is known
 * @param {number} ownLook */
export function strollersAt(now, totals, ownLook) {
  const { people, computers } = totals ?? { people: 0, computers: 0 }, strollers = [];
  for (let i = 0; i < Math.min(people, MOST); i++) strollers.push(strollerAt(now, PEOPLE_FROM + i, i));
  for (let i = 1; i <= Math.min(computers, MOST); i++) strollers.push(strollerAt(now, i, MOST + i));
  strollers.push({ ...OWN_AT, id: OWN, look: ownLook, own: true, dx: 0, dy: 1, walking: false, wavedAt: null });
  return strollers;
}

/** @param {number} id @param {number} seed */
function strollerAt(now, id, seed) {
  const late = now / STEP + share(seed, 0, 1), step = Math.floor(late), part = Math.min((late - step) / GOES, 1);
  const from = placeOf(seed, step), to = placeOf(seed, step + 1);
  const x = to.x - from.x, y = to.y - from.y, far = Math.hypot(x, y), walking = part < 1;
  // One stop in four begins with a wave.
  const arrived = (step + GOES - share(seed, 0, 1)) * STEP;
  return { id, look: 0, own: false, x: from.x + x * part, y: from.y + y * part, walking,
    dx: walking ? Math.round(x / far) : 0, dy: walking ? Math.round(y / far) : 1,
    wavedAt: !walking && now < arrived + EMOTE_SHOWN && share(seed, step, 2) < 0.25 ? arrived : null };
}

/** Return where a stroller is between two walks: they go round the plaza, each its own way. */
function placeOf(seed, step) {
  const way = seed % 2 ? 1 : -1, [least, most] = TURNS;
  const turn = seed * APART + way * (step % 1000) * (least + most) / 2 + (share(seed, step, 4) - 0.5) * (most - least);
  const far = NEAREST + share(seed, step, 5) * (FARTHEST - NEAREST);
  return { x: PLAZA + Math.cos(turn) * far, y: PLAZA + Math.sin(turn) * far * 0.92 };
}
