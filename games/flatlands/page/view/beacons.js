// The light by night of landmarks that are out of sight: it is seen over the horizon, at the screen's edge.

import { LANDMARKS } from './landmarks.js';
import { discOf } from './sprite.js';

const FAR = 64;                           // tiles beyond the edge of the screen from which a light is seen
const HIGH = 5;                           // tiles from a landmark's feet to its light, about
const REACH = 6;                          // tiles of light at the edge
const PULSE_MS = 4500;                    // of a lighthouse
const FIRE = '255, 150, 60', WARM = '255, 204, 122';

/** @type {Map<string, import('./sprite.js').Sprite>} By colour, for one size of a tile. */
const discs = new Map();
let discsOf = 0;

/** Return the colour of a kind of landmark by night: that of its largest light. */
export function colourOf(kind) {
  const glows = LANDMARKS[kind].flatMap(({ light }) => light?.glows ?? []);
  return glows.reduce((most, glow) => glow.size > most.size ? glow : most).colour ?? WARM;
}

/** Return where at the edge of the screen the light of a place is seen, in device px, and how bright, 0 to 1; null if
 * the place is in view, or too far away.
 * @returns {{ x: number, y: number, bright: number } | null} */
export function beaconAt({ width, height, tile }, px, py) {
  const dx = px - width / 2, dy = py - height / 2;
  const share = Math.min(width / 2 / Math.max(Math.abs(dx), 1), height / 2 / Math.max(Math.abs(dy), 1));
  if (share >= 1) return null;
  const beyond = Math.hypot(dx, dy) * (1 - share) / tile;
  if (beyond > FAR) return null;
  // A light just out of view lights the screen by itself.
  const bright = Math.min(beyond / HIGH, 1) * (1 - beyond / FAR);
  return { x: Math.round(width / 2 + dx * share), y: Math.round(height / 2 + dy * share), bright };
}

/** Draw them; the canvas adds what is drawn. `lit` is how brightly lamps burn, 0 to 1.
 * @param {import('../state.js').State} state */
export function drawBeacons(ctx, state, screen, lit) {
  for (const mark of state.marks) {
    const at = beaconAt(screen, screen.x(mark.foot + 0.5), screen.y(mark.y + 0.5 - HIGH));
    if (at === null) continue;
    const burns = state.burns(mark), disc = discFor(screen.tile, burns ? FIRE : colourOf(mark.kind));
    const pulse = mark.kind === 'lighthouse' && !state.still ? 0.6 + 0.4 * Math.sin(state.now / PULSE_MS * 2 * Math.PI) : 0.8;
    ctx.globalAlpha = lit * at.bright * pulse;
    ctx.drawImage(disc.canvas, at.x - disc.ax, at.y - disc.ay);
  }
  ctx.globalAlpha = lit;
}

function discFor(tile, colour) {
  if (discsOf !== tile) discs.clear();
  discsOf = tile;
  let disc = discs.get(colour);
  if (disc === undefined) discs.set(colour, disc = discOf(tile, REACH, REACH, colour, 0.5));
  return disc;
}
