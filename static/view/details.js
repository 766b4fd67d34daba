// Small things on the ground, scattered by numbers made from each tile's position: tufts, flowers,
// pebbles, shells, mushrooms. All of one colour in a piece are drawn as one path, so they cost little.

import { DEEP, GRASS, PATH, SAND, WATER, WOOD } from '../terrain.js';
import { part, rollAt } from './dice.js';
import { GRASS_TONES, PATH_TONES, SAND_TONES, WATER_TONES, WOOD_TONES } from './palette.js';

const SALT = 0xde7a11, SALT_FLOWERS = 0xf10e2, FLOWER_PATCH = 5;     // tiles a side
const PETALS = ['#ffffff', '#ffe38a', '#f7b5cd', '#b9a7ee'];
const CLEAR_OF_PATH = 30;                 // 1/16 tile from a path's middle, where nothing grows

/** Paint the details under paths and bridges: what grows and lies on the ground. */
export function paintFlatDetails(ctx, window) {
  const blades = new Path2D(), lightBlades = new Path2D(), grains = new Path2D();
  const leaves = new Path2D(), weeds = new Path2D(), pads = new Path2D();
  each(window, (x, y, kind, roll) => {
    if (kind === GRASS && window.path(x, y) > CLEAR_OF_PATH) {
      if ((roll & 3) === 0) tuft((roll & 4) > 0 ? lightBlades : blades, x, y, roll);
    } else if (kind === WOOD) {
      if ((roll & 3) === 0) tuft(blades, x, y, roll);
      if ((roll & 28) === 0) litter(leaves, x, y, roll);
    } else if (kind === SAND) {
      if ((roll & 1) === 0) dots(grains, x, y, roll, 0.045);
    } else if (kind === WATER) {
      if ((roll & 31) === 0) lily(pads, x, y, roll);
      else if ((roll & 31) < 4) ripple(weeds, x, y, roll);
    } else if (kind === DEEP && (roll & 15) === 0) ripple(weeds, x, y, roll);
  });
  ctx.lineCap = 'round';
  line(ctx, blades, GRASS_TONES.tuft, 0.07);
  line(ctx, lightBlades, GRASS_TONES.tuftLight, 0.07);
  fill(ctx, grains, SAND_TONES.grain);
  fill(ctx, leaves, WOOD_TONES.leaf);
  line(ctx, weeds, WATER_TONES.slope, 0.07);
  fill(ctx, pads, '#7fb86a');
}

/** Paint the details over paths: pebbles, and flowers in patches. */
export function paintRaisedDetails(ctx, window) {
  const pebbles = new Path2D(), hearts = new Path2D();
  const petals = PETALS.map(() => new Path2D());
  each(window, (x, y, kind, roll) => {
    if (kind === PATH) {
      if ((roll & 3) === 0) dots(pebbles, x, y, roll, 0.06);
    } else if (kind === GRASS && window.path(x, y) > CLEAR_OF_PATH) {
      flowers(petals, hearts, window, x, y, roll);
    }
  });
  fill(ctx, pebbles, PATH_TONES.pebble);
  petals.forEach((path, i) => fill(ctx, path, PETALS[i]));
  fill(ctx, hearts, '#f0b429');
}

function each(window, visit) {
  const { x0, y0, tiles } = window;
  for (let y = -1; y <= tiles; y++) {
    for (let x = -1; x <= tiles; x++) {
      visit(x, y, window.kind(x, y), rollAt(x0 + x, y0 + y, SALT));
    }
  }
}

function tuft(path, x, y, roll) {
  const cx = x + part(roll, 8), cy = y + part(roll, 16), size = 0.14 + 0.1 * part(roll, 24);
  path.moveTo(cx, cy);
  path.lineTo(cx, cy - size);
  path.moveTo(cx - 0.07, cy);
  path.quadraticCurveTo(cx - 0.09, cy - size * 0.5, cx - 0.16, cy - size * 0.8);
  path.moveTo(cx + 0.07, cy);
  path.quadraticCurveTo(cx + 0.09, cy - size * 0.5, cx + 0.16, cy - size * 0.8);
}

function litter(path, x, y, roll) {
  for (let i = 0; i < 3; i++) {
    const cx = x + part(roll, 4 + 5 * i), cy = y + part(roll, 8 + 5 * i);
    path.moveTo(cx + 0.09, cy);
    path.ellipse(cx, cy, 0.09, 0.05, part(roll, 5 * i) * 3, 0, Math.PI * 2);
  }
}

function dots(path, x, y, roll, size) {
  for (let i = 0; i < 1 + (roll >>> 29); i += 3) {
    const cx = x + part(roll, 3 + 7 * i), cy = y + part(roll, 9 + 5 * i);
    path.moveTo(cx + size, cy);
    path.ellipse(cx, cy, size * 1.25, size, 0, 0, Math.PI * 2);
  }
}

function lily(path, x, y, roll) {
  for (let i = 0; i < 2; i++) {
    const cx = x + 0.3 + 0.5 * i, cy = y + part(roll, 8 + 8 * i);
    const size = 0.15 + 0.1 * part(roll, 20);
    path.moveTo(cx, cy);
    path.ellipse(cx, cy, size * 1.2, size * 0.8, 0, 0.5 + i, Math.PI * 2 + i);
    path.closePath();
  }
}

function ripple(path, x, y, roll) {
  const cx = x + part(roll, 8), cy = y + part(roll, 16), half = 0.16 + 0.14 * part(roll, 24);
  path.moveTo(cx - half, cy);
  path.quadraticCurveTo(cx - half / 2, cy - 0.12, cx, cy);
  path.quadraticCurveTo(cx + half / 2, cy - 0.12, cx + half, cy);
}

/** Add the flowers of a tile. A patch of the meadow has one colour; one patch in four has many flowers,
 * and the others have few. */
function flowers(petals, hearts, window, x, y, roll) {
  const px = Math.floor((window.x0 + x) / FLOWER_PATCH);
  const py = Math.floor((window.y0 + y) / FLOWER_PATCH);
  const patch = rollAt(px, py, SALT_FLOWERS);
  const count = (patch & 3) === 0 ? (roll >>> 5 & 3) : Number((roll >>> 5 & 31) === 0);
  const path = petals[(patch >>> 4) % petals.length];
  for (let i = 0; i < count; i++) {
    const own = rollAt(window.x0 + x, window.y0 + y, SALT_FLOWERS + 1 + i);
    const cx = x + part(own, 0), cy = y + part(own, 8), size = 0.055 + 0.02 * part(own, 16);
    for (let petal = 0; petal < 5; petal++) {
      const turn = petal * Math.PI * 0.4 + part(own, 24);
      const fx = cx + Math.cos(turn) * size, fy = cy + Math.sin(turn) * size;
      path.moveTo(fx + size * 0.7, fy);
      path.arc(fx, fy, size * 0.7, 0, Math.PI * 2);
    }
    hearts.moveTo(cx + size * 0.6, cy);
    hearts.arc(cx, cy, size * 0.6, 0, Math.PI * 2);
  }
}

function fill(ctx, path, style) {
  ctx.fillStyle = style;
  ctx.fill(path);
}

function line(ctx, path, style, width) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.stroke(path);
}
