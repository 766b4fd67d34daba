// The paved plaza at the origin: rings of stones around a compass.

import { PLAZA_WITHIN } from '../terrain.js';
import { part, rollAt } from './dice.js';
import { STONE_TONES } from './palette.js';

const CENTRE = 0.5;                       // tiles: the middle of the tile (0, 0)
const EDGE = PLAZA_WITHIN + 0.45;         // tiles from the centre to the outside of the kerb
const RING = 0.78, FIRST_RING = 3.1;      // tiles
const SALT = 0x91a2a;
const FULL = Math.PI * 2;

/** Paint the part of the plaza that the window's piece shows. */
export function paintPlaza(ctx, window) {
  const x = CENTRE - window.x0, y = CENTRE - window.y0, reach = EDGE + 0.5;
  if (x + reach < 0 || y + reach < 0 || x - reach > window.tiles || y - reach > window.tiles) {
    return;
  }
  ctx.save();
  ctx.translate(x, y);
  disc(ctx, EDGE + 0.08, 'rgba(60, 60, 40, 0.25)', 0.1);
  disc(ctx, EDGE, STONE_TONES.kerb);
  disc(ctx, EDGE - 0.1, STONE_TONES.kerbTop);
  disc(ctx, EDGE - 0.42, STONE_TONES.joint);
  for (let ring = 0, r = FIRST_RING; r < EDGE - 0.5; ring++, r += RING) stones(ctx, ring, r);
  compass(ctx);
  ctx.restore();
}

function disc(ctx, radius, style, down = 0) {
  ctx.fillStyle = style;
  ctx.beginPath();
  ctx.arc(0, down, radius, 0, FULL);
  ctx.fill();
}

/** Paint one ring of paving stones; each has one of a few tones, picked by its position. */
function stones(ctx, ring, radius) {
  const count = Math.round(FULL * radius / 1.05), step = FULL / count, gap = 0.07 / radius;
  const width = Math.min(RING - 0.08, EDGE - 0.46 - radius + RING / 2);
  ctx.lineCap = 'butt';
  ctx.lineWidth = width;
  STONE_TONES.stones.forEach((tone, which) => {
    ctx.strokeStyle = tone;
    ctx.beginPath();
    for (let i = 0; i < count; i++) {
      const roll = rollAt(i, ring, SALT);
      if ((roll & 3) !== which) continue;
      const turn = (i + (ring % 2) / 2) * step + (part(roll, 8) - 0.5) * step * 0.1;
      ctx.moveTo(Math.cos(turn + gap) * radius, Math.sin(turn + gap) * radius);
      ctx.arc(0, 0, radius, turn + gap, turn + step - gap);
    }
    ctx.stroke();
  });
}

/** Paint a compass of coloured stone: north is up, and its long points lie along the four paths. */
function compass(ctx) {
  disc(ctx, 2.62, STONE_TONES.ink);
  disc(ctx, 2.5, STONE_TONES.gold);
  disc(ctx, 2.3, STONE_TONES.kerbTop);
  disc(ctx, 1.95, STONE_TONES.blue);
  ctx.fillStyle = '#3b80ad';
  for (let i = 0; i < 16; i++) {
    const turn = i * FULL / 16 + FULL / 32;
    ctx.beginPath();
    ctx.arc(Math.cos(turn) * 2.125, Math.sin(turn) * 2.125, 0.07, 0, FULL);
    ctx.fill();
  }
  for (let i = 0; i < 4; i++) point(ctx, i * FULL / 4 + FULL / 8, 1.5, 0.36, '#dcefF2', '#a9d0de');
  for (let i = 0; i < 4; i++) point(ctx, i * FULL / 4, 2.2, 0.46, '#fff6e0', STONE_TONES.gold);
  disc(ctx, 0.34, STONE_TONES.ink);
  disc(ctx, 0.24, STONE_TONES.gold);
}

/** Paint one point of the star in two halves, light and dark. */
function point(ctx, turn, length, width, light, dark) {
  ctx.save();
  ctx.rotate(turn);
  for (const [side, style] of [[1, dark], [-1, light]]) {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.moveTo(0, 0);
    ctx.lineTo(width, side * width);
    ctx.lineTo(length, 0);
    ctx.fill();
  }
  ctx.restore();
}
