// The landmarks that the player finds: their names, how many they are, and how many others found them
// before. What was found is kept in the browser. It never touches the page itself.

import { forBrowser } from '../keep.js';
import { PART } from '../landmarks.js';
import { landmarkAt } from '../notes.js';
import { ordinalOf } from '../places.js';

/** @typedef {import('../landmarks.js').Landmark} Landmark */

const FOUND_KEY = 'flatlands.found', FOUND_KEPT = 500;  // landmarks
// The parts of the world around one, the nearest first.
const PARTS_AROUND = [-2, -1, 0, 1, 2].flatMap((i) => [-2, -1, 0, 1, 2].map((j) => [i, j]))
  .sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
// A server that does not see the player there yet, or whose store is away, says nothing of finders.
const ASKED_EVERY = 3000, ASKS = 5;       // ms, times

/** What the book says of a landmark that was found. @type {import('../notes.js').Note} */
export const NOTE = {
  kind: 'landmark',
  sign: 'flag',
  sum: ['landmark', 'landmarks'],
  say: ([, , , n, i, j], landmarks) => {
    const place = landmarkAt(i, j, landmarks), { name } = place;
    return [n === 1 ? `You were the first to find ${name}: your name is carved there.`
      : `You were the ${ordinalOf(n)} to find ${name}.`, place];
  },
};

/** Return the tiles of the landmarks that this browser's player has found, the latest one last.
 * @returns {{ x: number, y: number }[]} */
export function tilesFound() {
  return known().map((tile) => {
    const [x, y] = tile.split(':').map(Number);
    return { x, y };
  });
}

/** Return the nearest landmark within two parts of the world that this browser's player has not found, as far as it is known which
 * there are; a call finds out about one more part, which takes a few ms.
 * @param {import('../state.js').State} state @param {Set<string>} but  tiles of landmarks to leave out
 * @returns {Landmark | null} */
export function nearestUnfound({ landmarks, here }, but) {
  const column = Math.floor(here.x / PART), row = Math.floor(here.y / PART), found = new Set(known());
  let nearest = null, least = Infinity, looked = false;
  for (const [i, j] of PARTS_AROUND) {
    if (!landmarks.knows(column + i, row + j)) {
      if (looked) continue;
      looked = true;
    }
    const mark = landmarks.of(column + i, row + j);
    if (mark === null || found.has(`${mark.x}:${mark.y}`) || but.has(`${mark.x}:${mark.y}`)) continue;
    const away = Math.hypot(mark.x - here.x, mark.y - here.y);
    if (away < least) [nearest, least] = [mark, away];
  }
  return nearest;
}

/** Forget them: whoever plays next in this browser is somebody else. */
export function forgetFound() {
  forBrowser.forget(FOUND_KEY);
}

function known() {
  return (forBrowser.get(FOUND_KEY) ?? '').split(' ').filter((each) => each !== '');
}

export class Discoveries {
  /** @param {import('../session.js').Session} session @param {import('../hud/hud.js').Hud} hud
   * @param {import('../sound.js').Sound} sound */
  constructor(session, hud, sound) {
    this.session = session;
    this.hud = hud;
    this.sound = sound;
    /** @type {Landmark | null} The landmark whose name was shown last. */
    this.announced = null;
    this.onFound = () => {};
    this.found = 0;                       // number of landmarks that this browser's player has found
    this.asks = 0;                        // how often the server may still be asked about the last one
    /** @type {Set<string>} The tiles of the landmarks about which it has answered. */
    this.confirmed = new Set();
    this.quietly = false;                 // true if the answer about the last one is no news
    this.askedAt = -Infinity;             // performance.now() in ms
  }

  /** Show the name of a landmark that the player comes to, and how many it has found if this one is new.
   * @param {import('../state.js').State} state @param {number} now performance.now() in ms */
  look({ found }, now) {
    if (found !== this.announced) this.#announce(found);
    // A server that keeps what lasts is asked who else has found it.
    if (this.asks === 0 || found === null || !this.hud.lasts) return;
    if (now < this.askedAt + ASKED_EVERY) return;
    this.asks -= 1;
    this.askedAt = now;
    const part = [Math.floor(found.x / PART), Math.floor(found.y / PART)];
    this.session.client.do.find(...part);
  }

  /** Show the player's place among the finders of a landmark, 0 after all that are counted, and who was the
   * first, if that is known.
   * @param {Landmark | null} mark */
  showFinders(mark, place, of, first = '') {
    if (mark === null) return;
    if (mark === this.announced) {
      this.asks = 0;
      this.confirmed.add(`${mark.x}:${mark.y}`);
      if (this.quietly) return;
    }
    if (place === 1) return this.hud.toast(`You are the first to find ${mark.name}: your name is carved there.`);
    const how = place === 0 ? `More than ${of} have found ${mark.name} before you`
      : `You are the ${ordinalOf(place)} to find ${mark.name}`;
    this.hud.toast(`${how}${first === '' ? '' : `. ${first} was the first`}. ${this.#count()}`);
  }

  /** @param {Landmark | null} mark */
  #announce(mark) {
    this.announced = mark;
    this.asks = 0;
    if (mark === null) return;
    const tile = `${mark.x}:${mark.y}`, all = known();
    this.quietly = all.includes(tile);
    if (this.quietly) {
      this.hud.toast(mark.name);
      // The server may have forgotten it, or its store was away then.
      if (this.confirmed.has(tile)) return;
    } else {
      all.push(tile);
      forBrowser.set(FOUND_KEY, all.slice(-FOUND_KEPT).join(' '));
      this.found = all.length;
      this.hud.toast(`You found ${mark.name}. ${this.#count()}`);
      this.sound.chime();
      this.onFound();
    }
    this.asks = ASKS;
    this.askedAt = -Infinity;
  }

  #count() {
    return `Landmarks found: ${this.found}.`;
  }
}
