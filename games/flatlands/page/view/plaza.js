// The paved plaza at the origin: rings of stones around a compass.

import { GRASS, PLAZA_WITHIN } from '../terrain.js';
import { part, rollAt } from './dice.js';
import { STONE_TONES } from './palette.js';
import { fill } from './shapes.js';
import { oval } from './sprite.js';

const CENTRE = 0.5;                       // tiles: the middle of the tile (0, 0)
const EDGE = PLAZA_WITHIN + 0.45;         // tiles from the centre to the outside of the kerb
const RING = 0.78, FIRST_RING = 3.7;      // tiles
const MOSAIC = 3.02;                      // tiles from the centre to the middle of a ring of lozenges
const BEDS_FROM = EDGE + 0.45, BEDS_TO = EDGE + 1.35;   // tiles from the centre to beds of flowers
const CLEAR_OF_PATH = 34;                 // 1/16 tile from a path's middle to a bed
const PETALS = ['#ef476f', '#ffe38a', '#ffffff', '#f7b5cd', '#b9a7ee'];
const SALT = 0x91a2a;
const FULL = Math.PI * 2;

/** Paint the part of the plaza that the window's piece shows. */
export function paintPlaza(ctx, window) {
  const x = CENTRE - window.x0, y = CENTRE - window.y0, reach = BEDS_TO + 0.5;
  if (x + reach < 0 || y + reach < 0 || x - reach > window.tiles || y - reach > window.tiles) {
    return;
  }
  ctx.save();
  ctx.translate(x, y);
  beds(ctx, window);
  disc(ctx, EDGE + 0.08, 'rgba(60, 60, 40, 0.25)', 0.1);
  disc(ctx, EDGE, STONE_TONES.kerb);
  disc(ctx, EDGE - 0.1, STONE_TONES.kerbTop);
  disc(ctx, EDGE - 0.42, STONE_TONES.joint);
  for (let ring = 0, r = FIRST_RING; r < EDGE - 0.5; ring++, r += RING) stones(ctx, ring, r);
  mosaic(ctx);
  for (const [x0, y0] of [[4, 4], [4, -4], [-4, 4], [-4, -4]]) rosette(ctx, x0, y0);
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

/** Paint beds of flowers around the plaza, where no path leads to it. */
function beds(ctx, window) {
  const flowers = [];
  for (let i = 0; i < 220; i++) {
    const roll = rollAt(i, 1, SALT), turn = (i + part(roll, 0)) * FULL / 220;
    const far = BEDS_FROM + (BEDS_TO - BEDS_FROM) * part(roll, 8), x = Math.cos(turn) * far, y = Math.sin(turn) * far;
    if (Math.abs(turn % (FULL / 4) - FULL / 8) < 0.52 && isGreen(window, x, y)) flowers.push([x, y, roll]);
  }
  for (const [x, y] of flowers) oval(ctx, x, y + 0.06, 0.36, 0.3, '#5f9a4c');
  for (const [x, y] of flowers) oval(ctx, x - 0.04, y - 0.02, 0.26, 0.2, '#7fb55f');
  for (const [x, y, roll] of flowers) {
    const style = PETALS[(roll >>> 16) % PETALS.length];
    for (const [dx, dy] of [[-0.08, 0], [0.08, 0], [0, -0.08], [0, 0.08]]) oval(ctx, x + dx, y + dy, 0.075, 0.07, style);
    oval(ctx, x, y, 0.05, 0.05, '#f0b429');
  }
}

/** Return whether nothing but grass is at a place in the window, and no path near. */
function isGreen(window, x, y) {
  const column = Math.floor(x + CENTRE) - window.x0, row = Math.floor(y + CENTRE) - window.y0, { tiles } = window;
  // Farther out the piece shows nothing of the flowers.
  return column >= -2 && row >= -2 && column < tiles + 2 && row < tiles + 2 && window.kind(column, row) === GRASS
    && window.path(column, row) > CLEAR_OF_PATH;
}

/** Paint a ring of small lozenges. */
function mosaic(ctx) {
  band(ctx, MOSAIC, 0.5, STONE_TONES.kerbTop);
  const count = 36;
  for (let i = 0; i < count; i++) {
    ctx.save();
    ctx.rotate(i * FULL / count);
    ctx.translate(MOSAIC, 0);
    fill(ctx, i % 3 ? STONE_TONES.blue : STONE_TONES.gold, 'M-.17 0L0-.24L.17 0L0 .24Z');
    ctx.restore();
  }
}

function band(ctx, radius, width, style) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.arc(0, 0, radius, 0, FULL);
  ctx.stroke();
}

/** Paint the round of coloured stone under what stands in one of the quarters. */
function rosette(ctx, x, y) {
  ctx.save();
  ctx.translate(x, y);
  disc(ctx, 1.36, STONE_TONES.joint);
  disc(ctx, 1.28, STONE_TONES.kerbTop);
  disc(ctx, 1.06, '#d8c8ab');
  for (let i = 0; i < 12; i++) {
    ctx.rotate(FULL / 12);
    fill(ctx, i % 2 ? STONE_TONES.gold : STONE_TONES.blue, 'M0-1.04L.2-.5L0-.3L-.2-.5Z');
  }
  ctx.restore();
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
