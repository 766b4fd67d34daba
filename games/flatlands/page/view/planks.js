// Paints bridges: planks across the middle lines that bridges.js traced, and rails along the edges.

import { BRIDGE } from '../terrain.js';
import { directionAt, nearTo, STEP, WIDEST } from './bridges.js';
import { rollAt } from './dice.js';
import { PLANK_TONES } from './palette.js';
import { PAD } from './window.js';

const PLANK = 0.42, GAP = 0.05;           // tiles
const RAIL_UP = 0.3, POST_EVERY = 1.75;   // tiles
const SALT = 0xb21d;

/** Paint the bridges that the window's piece shows, in tiles from its corner. */
export function paintBridges(ctx, window, bridges, outline) {
  const { x0, y0, tiles } = window, seen = new Set();
  for (let y = -PAD; y < tiles + PAD; y++) {
    for (let x = -PAD; x < tiles + PAD; x++) {
      if (window.kind(x, y) === BRIDGE) seen.add(bridges.at(x0 + x, y0 + y));
    }
  }
  ctx.save();
  ctx.translate(0, 0.5);
  ctx.fillStyle = 'rgba(22, 50, 74, 0.3)';
  if (outline !== 'all') ctx.fill(outline);
  ctx.restore();
  ctx.fillStyle = PLANK_TONES.deck;
  if (outline !== 'all') ctx.fill(outline);
  ctx.save();
  ctx.translate(-x0, -y0);
  const box = { left: x0 - PAD, top: y0 - PAD, right: x0 + tiles + PAD, bottom: y0 + tiles + PAD };
  for (const { lines } of seen) {
    for (const line of lines) paintPlanks(ctx, line, box);
  }
  for (const { lines } of seen) {
    for (const line of lines) paintRails(ctx, line, box, lines);
  }
  ctx.restore();
}

/** Call visit(place, number) at equal distances along a line, for its points inside the box; a place is
 * { x, y, cos, sin, left, right }. */
function along(line, every, box, visit) {
  const { xs, ys, lefts, rights } = line, between = (values, from, part) =>
    values[from] + (values[from + 1] - values[from]) * part;
  for (let i = 0, at = 0; at < xs.length - 1; i++, at = i * every / STEP) {
    const from = Math.floor(at), part = at - from;
    const x = between(xs, from, part), y = between(ys, from, part);
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
    visit({ x, y, ...directionAt(line, from), left: between(lefts, from, part),
      right: between(rights, from, part) }, i);
  }
}

function paintPlanks(ctx, line, box) {
  const planks = PLANK_TONES.planks.map(() => new Path2D()), base = new Path2D();
  along(line, PLANK, box, (place, i) => {
    const roll = rollAt(i, line.xs.length, SALT);
    quad(base, place, PLANK / 2 + 0.06, 0);
    quad(planks[roll % planks.length], place, (PLANK - GAP) / 2, (roll >>> 8 & 7) * 0.012);
  });
  ctx.fillStyle = PLANK_TONES.dark;
  ctx.fill(base);
  PLANK_TONES.planks.forEach((tone, i) => {
    ctx.fillStyle = tone;
    ctx.fill(planks[i]);
  });
}

/** Draw a plank across the way. Its half length along the way, and its overhang at the ends, are in
 * tiles. */
function quad(path, { x, y, cos, sin, left, right }, half, over) {
  const ax = cos * half, ay = sin * half, l = left + over, r = right + over;
  path.moveTo(x - ax + sin * l, y - ay - cos * l);
  path.lineTo(x + ax + sin * l, y + ay - cos * l);
  path.lineTo(x + ax - sin * r, y + ay + cos * r);
  path.lineTo(x - ax - sin * r, y - ay + cos * r);
  path.closePath();
}

function paintRails(ctx, line, box, lines) {
  for (const side of [-1, 1]) {
    const rail = new Path2D(), posts = new Path2D();
    let drawing = false;
    const reachOf = ({ left, right }) => (side < 0 ? left : right) - 0.12;
    // There is no rail where another bridge joins.
    const open = (x, y, reach) => reach > WIDEST - 0.25
      || lines.some((other) => other !== line && nearTo(other, x, y, 1.5));
    along(line, STEP, box, (place) => {
      const reach = reachOf(place);
      const x = place.x - place.sin * side * reach, y = place.y + place.cos * side * reach;
      if (open(x, y, reach)) drawing = false;
      else if (drawing) rail.lineTo(x, y);
      else {
        rail.moveTo(x, y);
        drawing = true;
      }
    });
    along(line, POST_EVERY, box, (place) => {
      const reach = reachOf(place);
      const x = place.x - place.sin * side * reach, y = place.y + place.cos * side * reach;
      if (open(x, y, reach)) return;
      posts.moveTo(x, y);
      posts.lineTo(x, y - RAIL_UP);
    });
    ctx.lineJoin = 'round';
    ctx.lineCap = 'round';
    stroke(ctx, rail, 'rgba(60, 40, 20, 0.3)', 0.16);
    stroke(ctx, posts, PLANK_TONES.dark, 0.2);
    ctx.save();
    ctx.translate(0, -RAIL_UP);
    stroke(ctx, rail, PLANK_TONES.rail, 0.2);
    ctx.translate(0, -0.04);
    stroke(ctx, rail, PLANK_TONES.railTop, 0.1);
    ctx.restore();
  }
}

function stroke(ctx, path, style, width) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.stroke(path);
}
