// Paints one piece of ground, layer over layer, in tiles from the piece's corner.

import { paintCliffs, paintPlateau } from './cliffs.js';
import { paintFlatDetails, paintRaisedDetails } from './details.js';
import { clipOutline, fillOutline, strokeOutline } from './outline.js';
import { PATH_TONES, TONES } from './palette.js';
import { paintBridges } from './planks.js';
import { GROUND_REACH, GROUNDS } from './grounds.js';
import { paintPlaza } from './plaza.js';
import { paintRamps, paintSteps } from './ramps.js';
import { canvasOf, contextOf } from './sprite.js';

const beside = contextOf(canvasOf(1, 1));

const SLOPE_WIDTH = 0.9;                  // tiles of the middle tone between deep and shallow
const SHALLOW_WIDTH = 0.62;               // tiles of light water along the shore
const FOAM_OUT = 0.34, FOAM_WIDTH = 0.09; // tiles from the shore, tiles
const BANK = 0.16;                        // tiles of bank visible below land that faces south
const TURF = 0.09;                        // the same for the edge of the grass
const FAINT = 0.5;                        // alpha of a region's ground in its fringe

/** Paint everything that lies flat in the window's piece. Where regions meet, the ground is painted in
 * the tones of one after the other, each within its own borders; paths have the same tones everywhere. On the
 * tiles of `loose` no tufts are painted. */
export function paintGround(ctx, window, bridges, loose) {
  const { tiles } = window, lines = window.outlines(), layers = window.layers();
  const inEach = (paint) => {
    for (const { region, core, fringe } of layers) {
      if (core === 'all') paint(ctx, TONES[region]);
      else inLayer(ctx, core, fringe, (other) => paint(other, TONES[region]));
    }
  };
  ctx.lineJoin = 'round';
  inEach((target, tones) => {
    if (lines.land !== 'all') paintWater(target, lines, tiles, tones.water);
    paintLand(target, lines, tiles, tones);
  });
  paintFlatDetails(ctx, window, loose);
  if (lines.land !== null) paintGrounds(ctx, window, lines.land);
  if (lines.ramp !== null) paintRamps(ctx, lines.ramp, PATH_TONES, tiles);
  if (lines.trodden !== null) paintTrodden(ctx, lines, tiles, PATH_TONES);
  if (lines.path !== null) paintPath(ctx, lines, tiles, PATH_TONES);
  if (lines.bridge !== null) paintBridges(ctx, window, bridges, lines.bridge);
  paintPlaza(ctx, window);
  paintRaisedDetails(ctx, window);
  if (lines.rock !== null) paintHigh(ctx, window, lines, inEach);
}

/** Paint the ground of the landmarks near, where there is land. */
function paintGrounds(ctx, window, land) {
  const { x0, y0, tiles } = window, { side, up, down } = GROUND_REACH;
  for (const { foot: x, y, kind, region } of window.marks) {
    if (x + side < x0 || x - side > x0 + tiles || y + down < y0 || y - up > y0 + tiles) continue;
    ctx.save();
    clipOutline(ctx, land);
    ctx.translate(x - x0 + 0.5, y - y0 + 0.5);
    GROUNDS[kind](ctx, TONES[region]);
    ctx.restore();
  }
}

/** Paint rims and plateaus, steps on the ways up, and the paths on plateaus. */
function paintHigh(ctx, window, lines, inEach) {
  const { tiles } = window, { rock, plateau, ramp, moss } = lines;
  if (ramp !== null) paintSteps(ctx, ramp, window.steps());
  inEach((target, tones) => {
    paintCliffs(target, window, rock, moss, tones.rock);
    if (plateau !== null) paintPlateau(target, window, lines, tones);
  });
  if (plateau === null || lines.path === null) return;
  ctx.save();
  clipOutline(ctx, plateau);
  paintPath(ctx, lines, tiles, PATH_TONES);
  ctx.restore();
}

/** Paint within the core of a region, and faintly in its fringe. It is painted beside the canvas first, and
 * then copied: each layer that is clipped leaves a trace at the edge, where it covers pixels in part. */
function inLayer(ctx, core, fringe, paint) {
  const { width, height } = ctx.canvas, { canvas } = beside;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  beside.setTransform(1, 0, 0, 1, 0, 0);
  beside.clearRect(0, 0, width, height);
  beside.setTransform(ctx.getTransform());
  beside.lineJoin = 'round';
  paint(beside);
  for (const { line, alpha } of [{ line: fringe, alpha: FAINT }, { line: core, alpha: 1 }]) {
    if (line === null) continue;
    ctx.save();
    clipOutline(ctx, line);
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.globalAlpha = alpha;
    ctx.drawImage(canvas, 0, 0);
    ctx.restore();
  }
}

function paintWater(ctx, lines, tiles, tones) {
  fillOutline(ctx, 'all', tones.deep, tiles);
  strokeOutline(ctx, lines.water, tones.slope, 2 * SLOPE_WIDTH);
  fillOutline(ctx, lines.water, tones.water, tiles);
  ctx.save();
  ctx.translate(0, BANK / 2);
  strokeOutline(ctx, lines.land, tones.shallow, 2 * SHALLOW_WIDTH);
  strokeOutline(ctx, lines.land, tones.foam, 2 * (FOAM_OUT + FOAM_WIDTH / 2));
  strokeOutline(ctx, lines.land, tones.shallow, 2 * (FOAM_OUT - FOAM_WIDTH / 2));
  strokeOutline(ctx, lines.land, tones.foam, 0.24);
  ctx.restore();
}

function paintLand(ctx, lines, tiles, { sand, grass }) {
  if (lines.land === null) return;
  if (lines.land !== 'all') {
    ctx.save();
    ctx.translate(0, BANK);
    fillOutline(ctx, lines.land, sand.bank, tiles);
    ctx.restore();
  }
  if (lines.grass !== 'all') {
    fillOutline(ctx, lines.land, sand.wet, tiles);
    fillOutline(ctx, lines.dry, sand.dry, tiles);
    ctx.save();
    ctx.translate(0, TURF);
    fillOutline(ctx, lines.grass, grass.lip, tiles);
    ctx.restore();
  }
  if (lines.grass === null) return;
  ctx.save();
  clipOutline(ctx, lines.grass);
  fillOutline(ctx, 'all', grass.sunny, tiles);
  fillOutline(ctx, lines.notSunny, grass.meadow, tiles);
  fillOutline(ctx, lines.lush, grass.lush, tiles);
  fillOutline(ctx, lines.wood, grass.floor, tiles);
  ctx.restore();
}

/** Paint where feet have worn the ground: grass shows through, except on a road. */
function paintTrodden(ctx, lines, tiles, tones) {
  ctx.save();
  ctx.globalAlpha = 0.45;
  fillOutline(ctx, lines.trodden, tones.earth, tiles);
  ctx.globalAlpha = 0.85;
  fillOutline(ctx, lines.beaten, tones.earth, tiles);
  ctx.restore();
}

function paintPath(ctx, lines, tiles, tones) {
  strokeOutline(ctx, lines.path, tones.edge, 0.2);
  fillOutline(ctx, lines.path, tones.earth, tiles);
  fillOutline(ctx, lines.worn, tones.worn, tiles);
}
