// Draws with the outlines that contour.js makes: a path, 'all' for everywhere, or null for nowhere.

import { PAD } from './window.js';

/** @typedef {import('./contour.js').Outline} Outline */

/** Fill what an outline encloses, in a piece that is `tiles` tiles wide and high.
 * @param {Outline} outline */
export function fillOutline(ctx, outline, style, tiles) {
  if (outline === null) return;
  ctx.fillStyle = style;
  if (outline === 'all') ctx.fillRect(-PAD, -PAD, tiles + 2 * PAD, tiles + 2 * PAD);
  else ctx.fill(outline);
}

/** Clip to an outline that is not null.
 * @param {Path2D | 'all'} outline */
export function clipOutline(ctx, outline) {
  if (outline !== 'all') ctx.clip(outline);
}

/** Draw a line along an outline, `width` tiles wide.
 * @param {Outline} outline */
export function strokeOutline(ctx, outline, style, width) {
  if (outline === null || outline === 'all') return;
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.stroke(outline);
}
