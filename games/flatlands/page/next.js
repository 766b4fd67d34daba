// The next step: one line that always says what there is to do, and a click on it goes there or does it. Parts of the
// game add steps to a list of the state; the first one that fits is shown.

import { WAVE } from './emotes.js';
import { isComputer } from './faces.js';
import { walkersNear, wayTo } from './near.js';

const LOOK_EVERY = 500;                   // ms
const NEARER = 2, WITHIN = 30_000;        // tiles by which whoever goes there comes nearer within so many ms
const BARRED_FOR = 180_000;               // ms for which a step is left out to which no way was found
const CALLS = 14;                         // tiles to somebody to whom the player may wave

/** @typedef {import('./state.js').State} State */
/** A step: what is to be done, and the place, in tiles, to which a click walks; or what a click does. Steps that are the same have
 * the same `key`. @typedef {{ key: string, text: string, place?: { x: number, y: number, name: string }, act?: () => void }} Step */

export class Next {
  constructor() {
    /** @type {Step | null} */
    this.step = null;
    /** @type {string | null} The key of the step that the player has closed. */
    this.closed = null;
    /** @type {Map<string, number>} Keys of steps to which no way was found, and until when these are left out: performance time, ms. */
    this.barred = new Map();
    this.lookedAt = -Infinity;            // performance time, ms
    /** How near the player has come to the place of the step to which it goes, and when: tiles; performance time, ms. */
    this.nearest = { key: '', away: Infinity, at: 0 };
    this.stuck = false;                   // whether the player comes no nearer to it
  }

  /** Look for the next step; return whether it was time to.
   * @param {State} state */
  look(state, now) {
    if (now < this.lookedAt + LOOK_EVERY) return false;
    this.lookedAt = now;
    for (const [key, until] of this.barred) if (until < now) this.barred.delete(key);
    this.step = state.next.first((each) => {
      const step = each(state);
      return step === null || this.barred.has(step.key) ? null : step;
    });
    if (this.step?.key !== this.closed) this.closed = null;
    this.stuck = this.#comesNoNearer(state, now);
    return true;
  }

  /** Note that the player goes elsewhere. */
  rest() {
    this.nearest.key = '';
  }

  /** Note that the player goes to the place of the step. */
  go(now) {
    const key = this.step?.key ?? '';
    if (key !== this.nearest.key) this.nearest = { key, away: Infinity, at: now };
  }

  /** Return whether the player has gone to the place of the step for long without coming nearer.
   * @param {State} state */
  #comesNoNearer({ here }, now) {
    const { step, nearest } = this;
    if (step?.place === undefined || step.key !== nearest.key) return false;
    const away = Math.hypot(step.place.x - here.x, step.place.y - here.y);
    if (away < nearest.away - NEARER) Object.assign(nearest, { away, at: now });
    return now > nearest.at + WITHIN;
  }

  /** Return what is shown: a text; the direction of the place from here in words, and in radians from the east, clockwise. null if
   * nothing is. @param {State} state @returns {import('./hud/line.js').Shown | null} */
  shown({ here }) {
    const { step } = this;
    if (step === null || this.closed !== null) return null;
    if (step.place === undefined) return { text: step.text, way: '', turn: null };
    const dx = step.place.x - here.x, dy = step.place.y - here.y;
    const [tiles, word, way = ''] = wayTo(dx, dy).split(' ');
    return { text: `${step.text}, ${tiles} ${word ?? ''}`.trim(), way, turn: Math.atan2(dy, dx) };
  }

  /** Leave the step out for a while if the player goes to its place, since no way leads there, or none that was found. */
  bar(now) {
    const { nearest: { key } } = this;
    if (key === '') return;
    this.barred.set(key, now + BARRED_FOR);
    this.rest();
    this.lookedAt = -Infinity;
  }
}

/** @param {import('./main.js').Game} game */
export function install({ state, hud, events, client }) {
  const next = new Next(), { line } = hud;
  let goes = false;                       // whether it is the step that lets the player go

  function go() {
    const { step } = next;
    if (step === null || !client.net.playing) return;
    if (step.place === undefined) return step.act?.();
    goes = true;
    events.emit('go', step.place.x, step.place.y, step.place.name);
    goes = false;
    next.go(performance.now());
    // What there is to do there says that the player has come.
    if (state.aim !== null) state.aim.quiet = true;
  }

  state.next.add(30, () => waveStep(state, events.emitter('emote')));
  line.onGo = go;
  line.onClose = () => {
    next.closed = next.step?.key ?? null;
    line.show(null);
  };
  events.on('emote', (emote) => {
    if (emote === WAVE) events.emit('did', 'wave');
  });
  events.on('did', (word) => state.did.add(word));
  events.on('barred', () => next.bar(performance.now()));
  for (const elsewhere of /** @type {const} */ (['go', 'steer', 'put', 'followed'])) events.on(elsewhere, () => {
    if (!goes) next.rest();
  });
  events.on('anew', () => state.did.clear());
  events.on('frame', () => {
    if (!next.look(state, performance.now())) return;
    if (next.stuck) events.emit('barred');
    line.show(next.shown(state));
  });
  return next;
}

/** Return the step to wave: to somebody near whom the player has not waved to yet, or else, for the first time, to anybody.
 * @param {State} state @param {(emote: number) => void} emote @returns {Step | null} */
export function waveStep(state, emote) {
  const near = walkersNear(state).find(({ walker, x, y }) => walker !== null && walker.alpha === 1 && !walker.muted
    && Math.hypot(x - state.here.x, y - state.here.y) < CALLS
    && (isComputer(walker.id) ? !state.did.has('wave') : !walker.friend && !state.greeted.has(walker.id)));
  if (near === undefined || near.walker === null) return null;
  const { id } = near.walker;
  return { key: `wave ${id}`, text: `Wave at ${near.name}`, act: () => {
    state.greeted.add(id);
    emote(WAVE);
  } };
}
