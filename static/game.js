// Where the page of any game begins: `join` lets its player play, draws the game on a canvas, and steers the
// player there. It knows no game.

import { Client } from './client.js';
import { Draw } from './draw.js';
import { NAME_LIMIT } from './protocol.js';
import { Steer } from './steer.js';
import { sayable } from './texts.js';

/** @typedef {import('./client.js').Player} Player */
/** @typedef {import('./client.js').Thing} Thing */

export const HINT = 'Walk with the arrow keys, or touch where you want to go.';

/**
 * Let this window's player play, and return the game. With a `canvas` it is drawn there, with tiles of `tile`
 * css px, and the player walks by keys, mouse and touch. `keys` says what other keys do, by their codes, such
 * as { Space: () => game.do.jump() }; `tap(x, y)` is called for a click or touch at a place, in tiles, and
 * returns true if the player is not to walk there. With `turns`, keys and touches turn the player along rows
 * and columns, and it keeps walking when they are released. `bounds`, the left, top, right and bottom edge of a
 * field, in tiles, keep the camera within it. Players are drawn so that a body with this radius, 0.5 tiles at
 * most, is not in walls; 0 draws them where they are. Without a canvas, call
 * `game.open({}, width, height)` and, for each frame, `game.advance()`.
 * @param {import('./client.js').Guest & { canvas?: HTMLCanvasElement, tile?: number, keys?: Record<string, () => void>,
 * tap?: (x: number, y: number) => boolean | void, turns?: boolean,
 * bounds?: [number, number, number, number] | null, body?: number }} how
 */
export function join(how = {}) {
  const { canvas, tile = 28, keys = {}, tap = () => false, turns = false, bounds = null, body = 0.4, ...guest } = how;
  const game = new Client(), { on, listeners } = game;
  game.guest = { ...guest, name: sayable(guest.name ?? '', NAME_LIMIT) };
  const line = (text, stays) => listeners.emit('line', text, stays);
  on.begun(() => line(game.walking === 'none' ? '' : HINT, false));
  on.error((code, sentence) => line(sentence, false));
  on.lost((why) => line(why ?? `${game.net.welcomed ? 'The connection is lost' : 'The server does not answer'}: trying again …`, true));
  on.ended((sentence) => line(sentence ?? 'You are playing in another window.', true));
  let draw = /** @type {Draw} */ (/** @type {unknown} */ (null));
  if (canvas !== undefined) {
    draw = new Draw(game, canvas, tile, bounds, body);
    new Steer(game, draw, canvas, { keys, tap, turns });
    game.open({}, ...draw.fit());
    draw.begin();
  }
  return Object.assign(game, { draw });
}
