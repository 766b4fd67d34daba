// Small things on the ground, scattered by numbers made from each tile's position: tufts, flowers,
// pebbles, shells, mushrooms. All of one colour in a piece are drawn as one path, so they cost little.

import { AUTUMN, DESERT, HEATH, MARSH, SNOW } from '../regions.js';
import { DEEP, GRASS, PATH, PLAZA, SAND, WATER, WOOD } from '../terrain.js';
import { part, rollAt, rollOf } from './dice.js';
import { PATH_TONES, TONES } from './palette.js';

const SALT = 0xde7a11, SALT_FLOWERS = 0xf10e2, FLOWER_PATCH = 5;     // tiles a side
const SALT_POOLS = 0x9001, POOL_PATCH = 6;       // tiles a side
const LITTER = ['#d67a38', '#c4553f'], BLOOM = ['#a565a3', '#8f5790', '#c084bd', '#8d8a55'];
/** How many flowers a tile of each kind has at most, where its square blooms; and of which colours. */
const BLOOMING = { [GRASS]: 4, [WOOD]: 3, [SAND]: 2, [PATH]: 1, [PLAZA]: 1 };
const PETALS = ['#ff7fa8', '#ffffff', '#ffd24a', '#b795f5', '#ff9a5c', '#7fd0ff'];
/** Nothing grows within this many 1/16 tile of a path's middle. */
export const CLEAR_OF_PATH = 30;

/** Canvas paths that are drawn at the end, one for each colour. */
class Strokes {
  constructor() {
    /** @type {Map<string, Path2D>} */
    this.paths = new Map();
  }

  /** Return the path of a colour. */
  of(colour) {
    let path = this.paths.get(colour);
    if (path === undefined) {
      path = new Path2D();
      this.paths.set(colour, path);
    }
    return path;
  }

  fill(ctx) {
    for (const [colour, path] of this.paths) {
      ctx.fillStyle = colour;
      ctx.fill(path);
    }
  }

  /** Draw lines of `width` tiles. */
  stroke(ctx, width) {
    ctx.lineWidth = width;
    for (const [colour, path] of this.paths) {
      ctx.strokeStyle = colour;
      ctx.stroke(path);
    }
  }
}

/** Paint the details under paths and bridges: what grows and lies on the ground, except the tufts on the tiles of
 * `loose`, which wind.js draws. */
export function paintFlatDetails(ctx, window, loose) {
  const blades = new Strokes(), spots = new Strokes(), ripples = new Strokes(), pads = new Strokes();
  each(window, (x, y, kind, roll) => {
    const region = window.region(x, y), { grass, sand, water } = TONES[region];
    if (kind === GRASS && window.path(x, y) > CLEAR_OF_PATH) {
      if (region === SNOW) {
        if ((roll & 7) === 0) drift(ripples.of(grass.tuft), x, y, roll);
      } else if (region === DESERT) {
        if ((roll & 3) === 0) drift(ripples.of(grass.tuft), x, y, roll);
      } else if ((roll & 3) === 0) {
        if (!loose.has(y * window.tiles + x)) tuftOn(blades.of((roll & 4) > 0 ? grass.tuftLight : grass.tuft), x, y, roll);
      }
      if (region === MARSH && (roll >>> 5 & 3) === 0 && isWet(window, x, y)) puddle(spots, water, x, y, roll);
      if (region === AUTUMN && (roll >>> 5 & 3) === 0) litter(spots.of(grass.leaf), x, y, roll);
      if (region === HEATH && (roll >>> 5 & 3) < 2) heather(spots, x, y, roll);
    } else if (kind === WOOD) {
      if ((roll & 3) === 0 && region !== SNOW && region !== DESERT) {
        tuftOn(blades.of(grass.tuft), x, y, roll);
      }
      if (region === AUTUMN && (roll & 28) < 16) litter(spots.of(LITTER[roll & 1]), x, y, roll);
      else if ((roll & 28) === 0 && region !== SNOW) litter(spots.of(grass.leaf), x, y, roll);
    } else if (kind === SAND) {
      if ((roll & 1) === 0) dots(spots.of(sand.grain), x, y, roll, 0.045);
    } else if (kind === WATER) {
      const lilies = region === MARSH ? 6 : 1;
      if (region === SNOW ? (roll & 31) < 2 : (roll & 31) < lilies) {
        if (region === SNOW) floe(pads.of(water.pad), x, y, roll);
        else lily(pads.of(water.pad), x, y, roll);
      } else if ((roll & 31) < lilies + 3) ripple(ripples.of(water.slope), x, y, roll);
    } else if (kind === DEEP && (roll & 15) === 0) ripple(ripples.of(water.slope), x, y, roll);
  });
  ctx.lineCap = 'round';
  spots.fill(ctx);
  blades.stroke(ctx, 0.07);
  ripples.stroke(ctx, 0.07);
  pads.fill(ctx);
}

/** Paint the details over paths: pebbles, flowers in patches, and those of squares that bloom. */
export function paintRaisedDetails(ctx, window) {
  const pebbles = new Strokes(), leaves = new Strokes(), petals = new Strokes(), hearts = new Path2D();
  each(window, (x, y, kind, roll) => {
    const region = window.region(x, y);
    if (kind === PATH) {
      if ((roll & 3) === 0) dots(pebbles.of(PATH_TONES.pebble), x, y, roll, 0.06);
    } else if (kind === GRASS && window.path(x, y) > CLEAR_OF_PATH && region !== SNOW) {
      flowers(petals, hearts, window, x, y, roll, region);
    }
    const bloom = BLOOMING[kind] === undefined ? '' : window.blooming(x, y);
    if (bloom !== '') blossoms(leaves, petals, hearts, window, x, y, rollOf(bloom), BLOOMING[kind]);
  });
  pebbles.fill(ctx);
  leaves.fill(ctx);
  petals.fill(ctx);
  ctx.fillStyle = '#f0b429';
  ctx.fill(hearts);
}

/** Return the number from which the details of a tile are made. */
export function rollOfDetail(x, y) {
  return rollAt(x, y, SALT);
}

function each(window, visit) {
  const { x0, y0, tiles } = window;
  for (let y = -1; y <= tiles; y++) {
    for (let x = -1; x <= tiles; x++) {
      visit(x, y, window.kind(x, y), rollOfDetail(x0 + x, y0 + y));
    }
  }
}

function tuftOn(path, x, y, roll) {
  tuft(path, x + part(roll, 8), y + part(roll, 16), 0.14 + 0.1 * part(roll, 24), 0);
}

/** Add a tuft of `size` tiles, with its foot at (x, y), that leans by `lean` tiles. */
export function tuft(path, x, y, size, lean) {
  const low = size - lean * 0.2;
  path.moveTo(x, y);
  path.quadraticCurveTo(x, y - size * 0.6, x + lean, y - low);
  path.moveTo(x - 0.07, y);
  path.quadraticCurveTo(x - 0.09, y - size * 0.5, x - 0.16 + lean, y - low * 0.8);
  path.moveTo(x + 0.07, y);
  path.quadraticCurveTo(x + 0.09, y - size * 0.4, x + 0.16 + lean, y - low * 0.66);
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

/** Add the shallow curve of a drift of snow or of sand. */
function drift(path, x, y, roll) {
  const cx = x + part(roll, 8), cy = y + part(roll, 16), half = 0.3 + 0.35 * part(roll, 24);
  path.moveTo(cx - half, cy + 0.06);
  path.quadraticCurveTo(cx - half * 0.2, cy - 0.14, cx + half, cy + 0.02);
}

/** Return whether a tile of the marsh is in a patch that has pools. */
function isWet(window, x, y) {
  const column = Math.floor((window.x0 + x) / POOL_PATCH), row = Math.floor((window.y0 + y) / POOL_PATCH);
  return (rollAt(column, row, SALT_POOLS) & 3) === 0;
}

/** Add a small pool. */
function puddle(spots, water, x, y, roll) {
  const cx = x + part(roll, 8), cy = y + part(roll, 16), size = 0.28 + 0.4 * part(roll, 24);
  for (const [tone, grow] of [[water.shallow, 0.07], [water.water, 0]]) {
    const path = spots.of(tone), rx = size + grow, ry = size * 0.6 + grow;
    path.moveTo(cx + rx, cy);
    path.ellipse(cx, cy, rx, ry, 0, 0, Math.PI * 2);
  }
}

/** Add a cushion of heather in bloom. */
function heather(spots, x, y, roll) {
  const cx = x + part(roll, 8), cy = y + part(roll, 16);
  for (let i = 0; i < 5; i++) {
    const path = spots.of(BLOOM[roll >>> (2 * i + 1) & 3]);
    const px = cx + (part(roll, 4 * i) - 0.5) * 0.6, py = cy + (part(roll, 3 * i + 2) - 0.5) * 0.34;
    path.moveTo(px + 0.1, py);
    path.ellipse(px, py, 0.1, 0.075, 0, 0, Math.PI * 2);
  }
}

/** Add a sheet of ice with corners. */
function floe(path, x, y, roll) {
  const cx = x + 0.5, cy = y + 0.5, size = 0.22 + 0.3 * part(roll, 8);
  for (let i = 0; i < 6; i++) {
    const turn = i * Math.PI / 3 + part(roll, 16), away = size * (0.7 + 0.4 * part(roll, 4 * i));
    const px = cx + Math.cos(turn) * away * 1.3, py = cy + Math.sin(turn) * away * 0.8;
    if (i === 0) path.moveTo(px, py);
    else path.lineTo(px, py);
  }
  path.closePath();
}

function ripple(path, x, y, roll) {
  const cx = x + part(roll, 8), cy = y + part(roll, 16), half = 0.16 + 0.14 * part(roll, 24);
  path.moveTo(cx - half, cy);
  path.quadraticCurveTo(cx - half / 2, cy - 0.12, cx, cy);
  path.quadraticCurveTo(cx + half / 2, cy - 0.12, cx + half, cy);
}

/** Add the flowers of a tile. A patch of the meadow has one colour; one patch in four has many flowers,
 * and the others have few. */
function flowers(petals, hearts, window, x, y, roll, region) {
  const px = Math.floor((window.x0 + x) / FLOWER_PATCH);
  const py = Math.floor((window.y0 + y) / FLOWER_PATCH);
  const patch = rollAt(px, py, SALT_FLOWERS);
  const count = (patch & 3) === 0 && region !== DESERT ? (roll >>> 5 & 3)
    : Number((roll >>> 5 & 31) === 0);
  const path = petals.of(TONES[region].petals[(patch >>> 4) % 4]);
  for (let i = 0; i < count; i++) {
    const own = rollAt(window.x0 + x, window.y0 + y, SALT_FLOWERS + 1 + i);
    const cx = x + part(own, 0), cy = y + part(own, 8), size = 0.055 + 0.02 * part(own, 16);
    flower(path, hearts, cx, cy, size, part(own, 24));
  }
}

/** Add a flower whose petals are `size` tiles from its heart. */
function flower(path, hearts, x, y, size, turned) {
  for (let petal = 0; petal < 5; petal++) {
    const turn = petal * Math.PI * 0.4 + turned, fx = x + Math.cos(turn) * size, fy = y + Math.sin(turn) * size;
    path.moveTo(fx + size * 0.7, fy);
    path.arc(fx, fy, size * 0.7, 0, Math.PI * 2);
  }
  hearts.moveTo(x + size * 0.6, y);
  hearts.arc(x, y, size * 0.6, 0, Math.PI * 2);
}

/** Add the flowers, at most `most`, of a tile in a square that blooms: clumps, each in one of the three colours of the
 * square. */
function blossoms(leaves, petals, hearts, window, x, y, seed, most) {
  const wx = window.x0 + x, wy = window.y0 + y;
  const clump = rollAt(Math.floor(wx / 2), Math.floor(wy / 2), seed), path = petals.of(PETALS[(seed + clump % 3) % PETALS.length]);
  for (let i = 0; i < most; i++) {
    const own = rollAt(wx, wy, seed + 1 + i), cx = x + part(own, 0), cy = y + part(own, 8), size = 0.075 + 0.045 * part(own, 16);
    if ((own >>> 29) < 3) continue;
    for (const side of [-1, 1]) {
      const green = leaves.of(side < 0 ? '#3f8a4a' : '#57a552');
      green.moveTo(cx + side * size * 1.2, cy + size);
      green.ellipse(cx + side * size * 1.2, cy + size, size * 1.3, size * 0.5, side * 0.5, 0, Math.PI * 2);
    }
    flower(path, hearts, cx, cy, size, part(own, 24));
  }
}
