// The kinds of lines in people's books. Each part of the game that writes some adds what is said of them to the list
// `notes` of the state; the book shows them.

import { PART } from './landmarks.js';

/** A line as the server sends it: kind, node time in ms, somebody's name or "", and three numbers.
 * @typedef {[string, number, string, number, number, number]} Row */
/** What a line is about, in tiles. @typedef {{ x: number, y: number, name: string } | null} Place */
/** What is said of a kind of line: `sum` of several, unless there is only one, `say` of one; `sign` is its picture (ICONS in hud/element.js).
 * `others`: somebody else has done it, maybe while the player was away. `stands`: what of it stands for so many ms.
 * @typedef {{ kind: string, sign: string, sum?: [string, string], others?: boolean, stands?: { what: string, ms: number },
 * say: (row: Row, landmarks: import('./landmarks.js').Landmarks) => [string, Place] }} Note */

/** Return a place in the middle of a tile. */
export function placeAt(x, y, name) {
  return { x: x + 0.5, y: y + 0.5, name };
}

/** Return where the landmark of a part of the world is, and its name.
 * @param {number} i @param {number} j @param {import('./landmarks.js').Landmarks} landmarks */
export function landmarkAt(i, j, landmarks) {
  const { x, y, name } = landmarks.of(i, j) ?? { x: i * PART, y: j * PART, name: 'a landmark' };
  return placeAt(x, y, name);
}
