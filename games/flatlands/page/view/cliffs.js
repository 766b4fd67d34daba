// Cliffs, and what lies on them. The foot of a rim is drawn where its tiles end. Its top is the same
// shape, moved up the screen, so that a face is visible wherever rock faces south. The plateau on it is
// drawn where its tiles are, since players walk there.

import { ROCK } from '../terrain.js';
import { part, rollAt } from './dice.js';
import { clipOutline, fillOutline, strokeOutline } from './outline.js';
import { SHADOW } from './palette.js';

const CLIFF = 0.72;                       // height of a face in tiles
const LEDGE = 0.4;                        // tiles below the top where the face darkens
const SALT_FACE = 0xc11f, SALT_TOP = 0xc120;

/** Paint rims over everything flat, in the tones of a region. `moss` is the outline of where their top is
 * bare. */
export function paintCliffs(ctx, window, rock, moss, tones) {
  const { tiles } = window;
  ctx.save();
  ctx.translate(0.1, 0.2);
  fillOutline(ctx, rock, SHADOW, tiles);
  ctx.restore();
  strokeOutline(ctx, rock, 'rgba(40, 52, 40, 0.22)', 0.3);
  ctx.save();
  clipOutline(ctx, rock);
  fillOutline(ctx, 'all', tones.faceDark, tiles);
  ctx.save();
  ctx.translate(0, -CLIFF + LEDGE);
  fillOutline(ctx, rock, tones.face, tiles);
  ctx.restore();
  if (rock !== 'all') paintFaceCracks(ctx, window, tones);
  ctx.translate(0, -CLIFF);
  fillOutline(ctx, rock, tones.top, tiles);
  if (rock !== 'all') {
    ctx.save();
    ctx.clip(rock);
    paintTop(ctx, window, moss, tones);
    ctx.translate(0, -0.05);
    strokeOutline(ctx, rock, tones.rim, 0.2);
    ctx.restore();
  } else paintTop(ctx, window, moss, tones);
  ctx.restore();
  if (rock !== 'all') paintNorthEdge(ctx, rock);
}

/** Paint the plateaus over the rims around them. */
export function paintPlateau(ctx, window, { rock, plateau, moss }, tones) {
  const { tiles } = window;
  ctx.save();
  clipOutline(ctx, rock);
  ctx.translate(0.1, 0.16);
  fillOutline(ctx, plateau, SHADOW, tiles);
  ctx.restore();
  fillOutline(ctx, plateau, tones.plateau.top, tiles);
  ctx.save();
  clipOutline(ctx, plateau);
  paintTop(ctx, window, moss, tones.plateau);
  strokeOutline(ctx, plateau, tones.rock.rim, 0.2);
  ctx.restore();
}

/** Paint a thin dark line where the rim ends in the north. */
function paintNorthEdge(ctx, rock) {
  strokeOutline(ctx, rock, 'rgba(58, 62, 56, 0.35)', 0.07);
}

/** Paint upright cracks on the faces; the top hides all others. */
function paintFaceCracks(ctx, window, tones) {
  const { x0, y0, tiles } = window;
  ctx.strokeStyle = tones.crack;
  ctx.lineWidth = 0.07;
  ctx.lineCap = 'round';
  ctx.beginPath();
  for (let y = -1; y <= tiles; y++) {
    for (let x = -1; x <= tiles; x++) {
      if (window.kind(x, y) !== ROCK) continue;
      const roll = rollAt(x0 + x, y0 + y, SALT_FACE);
      for (let i = 0; i < 2; i++) {
        const at = x + (i + part(roll, 8 * i)) / 2, top = y + part(roll, 16 + 8 * i) * 0.5;
        ctx.moveTo(at, top);
        ctx.lineTo(at + (part(roll, 4) - 0.5) * 0.12, top + 0.3);
      }
    }
  }
  ctx.stroke();
}

function paintTop(ctx, window, moss, tones) {
  const { x0, y0, tiles } = window;
  fillOutline(ctx, moss, tones.light, tiles);
  const tufts = new Path2D();
  ctx.lineCap = 'round';
  ctx.lineJoin = 'round';
  ctx.lineWidth = 0.055;
  ctx.strokeStyle = tones.crack;
  ctx.beginPath();
  for (let y = -2; y <= tiles + 2; y++) {
    for (let x = -2; x <= tiles + 2; x++) {
      const roll = rollAt(x0 + x, y0 + y, SALT_TOP);
      if ((roll & 127) === 9) mossTufts(tufts, x, y, roll);
      if ((roll & 7) > 0) continue;
      const cx = x + part(roll, 8), cy = y + part(roll, 16), lean = part(roll, 24) - 0.5;
      ctx.moveTo(cx, cy);
      ctx.lineTo(cx + 0.3, cy + 0.2 + 0.4 * lean);
      ctx.lineTo(cx + 0.45, cy + 0.55);
      if ((roll & 16) > 0) {
        ctx.moveTo(cx + 0.3, cy + 0.2 + 0.4 * lean);
        ctx.lineTo(cx + 0.65, cy + 0.15);
      }
    }
  }
  ctx.stroke();
  ctx.fillStyle = tones.moss;
  ctx.fill(tufts);
}

function mossTufts(path, x, y, roll) {
  for (let i = 0; i < 4; i++) {
    const cx = x + 0.5 + (part(roll, 7 * i) - 0.5) * 1.1, cy = y + 0.5 + (part(roll, 5 * i) - 0.5);
    const size = 0.16 + 0.16 * part(roll, 24 - 6 * i);
    path.moveTo(cx + size * 1.4, cy);
    path.ellipse(cx, cy, size * 1.4, size, 0, 0, Math.PI * 2);
  }
}
