// The ways up through a rim of rock: ramps, and paths where they climb. They are painted before the rock,
// whose walls stand beside them.

import { clipOutline, fillOutline, strokeOutline } from './outline.js';

const EDGE = 0.16, TREAD = 0.1, RISER = 0.07;        // tiles
const SHADE = 'rgba(70, 56, 36, 0.34)', LIGHT = 'rgba(255, 248, 226, 0.5)';

/** Paint the earth of ways up, in the tones of a region's paths.
 * @param {import('./contour.js').Outline} ramp */
export function paintRamps(ctx, ramp, tones, tiles) {
  strokeOutline(ctx, ramp, tones.edge, 2 * EDGE);
  fillOutline(ctx, ramp, tones.worn, tiles);
}

/** Paint steps across ways up: each outline of `steps` encloses all that is higher than one step.
 * @param {Path2D | 'all'} ramp */
export function paintSteps(ctx, ramp, steps) {
  ctx.save();
  clipOutline(ctx, ramp);
  for (const step of steps) {
    strokeOutline(ctx, step, SHADE, 2 * RISER);
    ctx.save();
    ctx.translate(0, -TREAD);
    strokeOutline(ctx, step, LIGHT, RISER);
    ctx.restore();
  }
  ctx.restore();
}
