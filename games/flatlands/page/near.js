// Who and what is near, in words: for the list that M opens, and for screen readers. It never touches
// the page.

import { isComputer, isDeer } from './faces.js';
import { isInView } from './scene.js';
import { UNIT } from './track.js';

/** @typedef {import('./state.js').State} State */

const LISTED = 12;                        // walkers
const FOUND = 20;                         // of what is found by a few letters
const FAR = 400;                          // tiles along each axis in which landmarks are looked for
const LOOK_EVERY = 2000;                  // ms between two looks at who comes
const REACHED = 1, SHORT = 15;            // tiles that may be left to a goal, and of a way whose end was in sight
const BESIDE = 3;                         // tiles to somebody whom the player meets
const WAYS = ['east', 'south-east', 'south', 'south-west', 'west', 'north-west', 'north',
  'north-east'];
const PLAZA = { x: 0.5, y: 0.5 };         // tiles

/** Somebody or something to walk to; `walker` is null for a place, and for somebody
 * who is out of sight, with an `id`.
 * @typedef {{ x: number, y: number, name: string, way: string, walker: import('./state.js').Walker | null,
 *   id?: number | null }} Near */

/** Return in words how far away, and where, something `dx` tiles east and `dy` tiles south is. */
export function wayTo(dx, dy) {
  const tiles = Math.round(Math.hypot(dx, dy));
  if (tiles === 0) return 'here';
  const way = WAYS[(Math.round(Math.atan2(dy, dx) / (Math.PI / 4)) + WAYS.length) % WAYS.length];
  return `${tiles} ${tiles === 1 ? 'tile' : 'tiles'} ${way}`;
}

/** Return in words where a tile is. */
export function fromPlaza(x, y) {
  const way = wayTo(x, y);
  return way === 'here' ? 'on the plaza' : `${way} of the plaza`;
}

/** Return names as words: Ada, Bob and Cid.
 * @param {string[]} names */
export function listOf(names = []) {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** Return the walkers around except deer: people before clockwork, and the nearest first.
 * @param {State} state @returns {Near[]} */
export function walkersNear({ walkers, here }) {
  const away = ({ x, y }) => Math.hypot(x - here.x, y - here.y);
  return walkers.filter((walker) => !walker.own && !isDeer(walker))
    .sort((a, b) => Number(isComputer(a.id)) - Number(isComputer(b.id)) || away(a) - away(b))
    .slice(0, LISTED).map((walker) => {
      const { x, y, name } = walker;
      return { x, y, name, way: wayTo(x - here.x, y - here.y), walker };
    });
}

/** Return whether the walker `id` stands beside this page's player. One that walks is only passing.
 * @param {State} state */
export function standsBeside({ drawn, here }, id) {
  const walker = drawn.get(id);
  return walker !== undefined && !walker.walking
    && Math.hypot(walker.x - here.x, walker.y - here.y) <= BESIDE;
}

/** Return the places around that have a name, and the one that an arrow leads to.
 * @param {State} state @returns {Near[]} */
export function placesNear(state) {
  const { marks, here, aim } = state;
  const places = [...state.places.all.flatMap((some) => some(state)), { ...PLAZA, name: 'The plaza' },
    ...marks.map(({ x, y, name }) => ({ x: x + 0.5, y: y + 0.5, name }))];
  // A goal may be one of them.
  if (aim !== null && !places.some(({ name }) => name === aim.label)) places.push({ x: aim.x, y: aim.y, name: aim.label });
  return places.map(({ x, y, name }) =>
    ({ x, y, name, way: wayTo(x - here.x, y - here.y), walker: null }));
}

/** Return a text without case and accents, as the server compares it. */
export function folded(text) {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().trim();
}

/** Return those whose names contain a text: first those with a word that begins with it, and then the
 * nearest. Each walker, and each place, is in the list once.
 * @param {string} text @param {Near[]} all @param {{ x: number, y: number }} here @returns {Near[]} */
export function foundIn(text, all, here) {
  const wanted = folded(text), seen = new Set(), away = ({ x, y }) => Math.hypot(x - here.x, y - here.y);
  const rank = ({ name }) => (' ' + folded(name)).indexOf(' ' + wanted) >= 0 ? 0 : 1;
  return all.filter((near) => {
    const key = `${near.id ?? near.walker?.id ?? `${near.name} ${Math.floor(near.x)},${Math.floor(near.y)}`}`;
    if (!folded(near.name).includes(wanted) || seen.has(key)) return false;
    return seen.add(key);
  }).sort((a, b) => rank(a) - rank(b) || away(a) - away(b)).slice(0, FOUND);
}

/** Return as places the landmarks far around, and the people, cairns and landmarks that the server sent.
 * @param {State} state @param {[number, string, number, number][]} people  id, name and square
 * @param {[string, string, number, number][]} cairns  name, text and tile
 * @param {[string, number, number][]} marks  name and tile @returns {Near[]} */
export function farFrom({ landmarks, here }, side, people, cairns, marks) {
  const around = landmarks.within(here.x - FAR, here.y - FAR, here.x + FAR, here.y + FAR);
  /** @type {(x: number, y: number, name: string, id?: number | null) => Near} */
  const near = (x, y, name, id = null) => ({ x, y, name, id, way: wayTo(x - here.x, y - here.y), walker: null });
  return [...people.map(([id, name, column, row]) => near((column + 0.5) * side, (row + 0.5) * side, name, id)),
    ...[...around, ...marks.map(([name, x, y]) => ({ name, x, y }))].map(({ x, y, name }) => near(x + 0.5, y + 0.5, name)),
    ...cairns.map(([name, text, x, y]) => near(x + 0.5, y + 0.5, `${name}’s cairn: ${text}`))];
}

/** Puts into words, for screen readers, what others see happen: who comes into view, and why a walk
 * ended. Computer players come and go too often. */
export class Guide {
  constructor() {
    /** @type {Set<number>} The people in view at the last look. */
    this.inView = new Set();
    this.lookedAt = -Infinity;            // performance time, ms
    this.number = 0;                      // of the last intent
    this.from = { x: 0, y: 0 };           // where the walk began, in tiles
    /** @type {import('./track.js').Intent} */
    this.intent = null;                   // what the walk is for, while it lasts
  }

  /** Return a sentence about what has happened since the last call, or null. `goesOn`: the end of a walk
   * is not the end of the way.
   * @param {State} state @returns {string | null} */
  look(state, goesOn = false) {
    return this.#walkEnded(state, goesOn) ?? this.#whoComes(state);
  }

  /** @param {State} state */
  #walkEnded({ walk, here }, goesOn) {
    const { number, intent } = walk, begun = number !== this.number, arrived = walk.arrived && !goesOn;
    this.number = number;
    if (begun && this.intent === null) this.from = { ...here };
    if (!arrived) {
      this.intent = intent;
      return null;
    }
    const ended = begun ? intent : this.intent;
    this.intent = null;
    if (ended === null) return null;
    if ('heading' in ended) return 'Something is in the way.';
    const [x, y] = ended.goal, left = Math.hypot(x / UNIT - here.x, y / UNIT - here.y);
    if (left >= REACHED) return 'You cannot get any nearer.';
    return Math.hypot(here.x - this.from.x, here.y - this.from.y) < SHORT ? null : 'You are there.';
  }

  /** @param {State} state */
  #whoComes(state) {
    if (state.now - this.lookedAt < LOOK_EVERY) return null;
    this.lookedAt = state.now;
    const people = state.walkers.filter((walker) => !walker.own && !walker.muted && walker.alpha > 0
      && !isComputer(walker.id) && isInView(state, walker));
    const come = people.filter(({ id }) => !this.inView.has(id));
    this.inView = new Set(people.map(({ id }) => id));
    if (come.length === 0) return null;
    const [{ name, x, y }] = come, others = come.length - 1, { here } = state;
    return others === 0 ? `${name} is ${wayTo(x - here.x, y - here.y)}.`
      : `${name} and ${others} ${others === 1 ? 'other' : 'others'} come into view.`;
  }
}
