// Paints one piece of ground, one layer over the other, in tiles from the piece's corner.

import { paintCliffs } from './cliffs.js';
import { paintFlatDetails, paintRaisedDetails } from './details.js';
import { clipOutline, fillOutline, strokeOutline } from './outline.js';
import { GRASS_TONES, PATH_TONES, SAND_TONES, WATER_TONES, WOOD_TONES } from './palette.js';
import { paintBridges } from './planks.js';
import { paintPlaza } from './plaza.js';

const SLOPE_WIDTH = 0.9;                  // tiles of the middle tone between deep and shallow
const SHALLOW_WIDTH = 0.62;               // tiles of light water along the shore
const FOAM_OUT = 0.34, FOAM_WIDTH = 0.09; // tiles from the shore, tiles
const BANK = 0.16;                        // tiles of bank visible below land that faces south
const TURF = 0.09;                        // the same for the edge of the grass

/** Paint everything that lies flat in the window's piece. */
export function paintGround(ctx, window, bridges) {
  const { tiles } = window, lines = window.outlines();
  ctx.lineJoin = 'round';
  if (lines.land !== 'all') paintWater(ctx, lines, tiles);
  paintLand(ctx, lines, tiles);
  paintFlatDetails(ctx, window);
  paintPath(ctx, lines, tiles);
  if (lines.bridge !== null) paintBridges(ctx, window, bridges, lines.bridge);
  paintPlaza(ctx, window);
  paintRaisedDetails(ctx, window);
  if (lines.rock !== null) paintCliffs(ctx, window, lines.rock, lines.moss);
}

function paintWater(ctx, lines, tiles) {
  fillOutline(ctx, 'all', WATER_TONES.deep, tiles);
  strokeOutline(ctx, lines.water, WATER_TONES.slope, 2 * SLOPE_WIDTH);
  fillOutline(ctx, lines.water, WATER_TONES.water, tiles);
  ctx.save();
  ctx.translate(0, BANK / 2);
  strokeOutline(ctx, lines.land, WATER_TONES.shallow, 2 * SHALLOW_WIDTH);
  strokeOutline(ctx, lines.land, WATER_TONES.foam, 2 * (FOAM_OUT + FOAM_WIDTH / 2));
  strokeOutline(ctx, lines.land, WATER_TONES.shallow, 2 * (FOAM_OUT - FOAM_WIDTH / 2));
  strokeOutline(ctx, lines.land, WATER_TONES.foam, 0.24);
  ctx.restore();
}

function paintLand(ctx, lines, tiles) {
  if (lines.land === null) return;
  if (lines.land !== 'all') {
    ctx.save();
    ctx.translate(0, BANK);
    fillOutline(ctx, lines.land, SAND_TONES.bank, tiles);
    ctx.restore();
  }
  if (lines.grass !== 'all') {
    fillOutline(ctx, lines.land, SAND_TONES.wet, tiles);
    fillOutline(ctx, lines.dry, SAND_TONES.dry, tiles);
    ctx.save();
    ctx.translate(0, TURF);
    fillOutline(ctx, lines.grass, GRASS_TONES.lip, tiles);
    ctx.restore();
  }
  if (lines.grass === null) return;
  ctx.save();
  clipOutline(ctx, lines.grass);
  fillOutline(ctx, 'all', GRASS_TONES.sunny, tiles);
  fillOutline(ctx, lines.notSunny, GRASS_TONES.meadow, tiles);
  fillOutline(ctx, lines.lush, GRASS_TONES.lush, tiles);
  fillOutline(ctx, lines.wood, WOOD_TONES.floor, tiles);
  ctx.restore();
}

function paintPath(ctx, lines, tiles) {
  if (lines.path === null) return;
  strokeOutline(ctx, lines.path, PATH_TONES.edge, 0.2);
  fillOutline(ctx, lines.path, PATH_TONES.earth, tiles);
  fillOutline(ctx, lines.worn, PATH_TONES.worn, tiles);
}
