// What is drawn of a race on the ground: the rings around the two signposts, and the footprints of echoes. The
// echoes themselves are ghosts, which are drawn with the walkers.

import { RING } from '../landmarks.js';
import { placeAt } from './echoes.js';

const GOLD = '255, 209, 102';
const DASHES = 24;                        // of a ring
const TURN_MS = 60000, PULSE_MS = 1400;
const PRINTS = 12, STEP_MS = 170;         // footprints of an echo, and ms between them
const ASIDE = 0.13;                       // tiles from its path to a footprint
const TAU = Math.PI * 2;

/** Draw the rings of the player's race, and the footprints of all echoes.
 * @param {import('./echoes.js').Echoes} echoes */
export function drawCourses(ctx, echoes, screen) {
  drawRings(ctx, echoes, screen, 1);
  for (const each of echoes.races.values()) drawPrints(ctx, echoes.state, screen, each);
}

/** Draw the rings of the player's race, with an opacity.
 * @param {import('./echoes.js').Echoes} echoes */
export function drawRings(ctx, echoes, screen, alpha) {
  const race = echoes.own(), { state } = echoes;
  if (race === null) return;
  const begun = !Number.isNaN(race.begunAt);
  drawRing(ctx, state, screen, race.course.from, alpha * (begun ? 0.3 : 1));
  drawRing(ctx, state, screen, race.course.to, alpha * (begun ? 1 : 0.5));
}

/** Draw the ring around a signpost, which turns slowly. */
function drawRing(ctx, state, screen, post, alpha) {
  const { tile } = screen, x = screen.x(post.x + 0.5), y = screen.y(post.y + 0.5), radius = RING * tile;
  if (x + radius < 0 || y + radius < 0 || x - radius > screen.width || y - radius > screen.height) return;
  const turn = state.still ? 0 : state.now / TURN_MS * TAU;
  const pulse = state.still ? 0.5 : 0.5 + 0.5 * Math.sin(state.now / PULSE_MS * TAU);
  ctx.save();
  ctx.globalAlpha = alpha;
  ctx.fillStyle = `rgba(${GOLD}, ${0.07 + 0.06 * pulse})`;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, TAU);
  ctx.fill();
  ctx.lineCap = 'round';
  ctx.setLineDash([radius * TAU / DASHES * 0.55, radius * TAU / DASHES * 0.45]);
  ctx.lineDashOffset = -turn * radius;
  for (const { style, width } of [{ style: 'rgba(60, 40, 10, 0.55)', width: 0.24 },
    { style: `rgba(${GOLD}, 0.95)`, width: 0.13 }]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width * tile;
    ctx.stroke();
  }
  ctx.restore();
}

/** Draw the latest footprints of an echo, left and right in turn. */
function drawPrints(ctx, state, screen, { echo, way, begunAt, ms }) {
  const passed = state.now - begunAt;
  if (echo === null || !(passed > 0) || state.still) return;
  const { tile } = screen, last = Math.floor(passed / STEP_MS);
  ctx.fillStyle = '#fff';
  for (let step = Math.max(last - PRINTS + 1, 0); step <= last && step * STEP_MS < ms; step++) {
    const { x, y, dx, dy } = placeAt(way, step * STEP_MS), far = Math.hypot(dx, dy);
    if (far === 0) continue;
    const side = (step % 2 === 0 ? ASIDE : -ASIDE) / far;
    ctx.globalAlpha = 0.75 * echo.alpha * (1 - (passed / STEP_MS - step) / PRINTS);
    ctx.beginPath();
    ctx.ellipse(screen.x(x - dy * side), screen.y(y + dx * side), 0.13 * tile, 0.075 * tile, Math.atan2(dy, dx), 0, TAU);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}
