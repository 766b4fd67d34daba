// The pictures of deer, seen from each side, as they stand, step and graze. They are drawn in tiles, with
// the origin between the feet.

import { part } from './dice.js';
import { COATS, SHADOW } from './palette.js';
import { oval, spriteOf } from './sprite.js';

const STEPS = 8;                          // number of pictures for one double step
const STANDS = STEPS, GRAZES = STEPS + 1, POSES = STEPS + 2;
const EAST = 0, WEST = 1, SOUTH = 2, NORTH = 3, SIDES = 4;
const GRAZES_EVERY = 9000, GRAZES_FOR = 5200;   // ms
const INK = '#2b2622', NOSE = '#3a2d26', HORN = '#e4cfa4', HORN_DARK = '#b3935f';
const WHITE = '#f6efe2';
const BOX = { left: -0.8, top: -1.62, right: 0.8, bottom: 0.2 };
export const DEER_HALF = 0.75, DEER_TOP = 1.5;  // tiles

/** Paint a leg from the body down to a hoof. */
function leg(ctx, x, swing, style) {
  const foot = x + swing * 0.13, lift = Math.max(0, swing) * 0.05;
  ctx.strokeStyle = style;
  ctx.lineWidth = 0.095;
  ctx.lineCap = 'round';
  ctx.beginPath();
  ctx.moveTo(x, -0.48);
  ctx.quadraticCurveTo(x + swing * 0.02, -0.24, foot, -0.06 - lift);
  ctx.stroke();
  oval(ctx, foot + 0.01, -0.035 - lift, 0.06, 0.04, INK);
}

/** Paint one antler, which grows up and sideways from (x, y); `side` is -1 or 1. */
function antler(ctx, x, y, side) {
  ctx.lineCap = 'round';
  ctx.lineJoin = 'round';
  for (const [style, width] of [[HORN_DARK, 0.085], [HORN, 0.05]]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.quadraticCurveTo(x + side * 0.04, y - 0.2, x + side * 0.2, y - 0.36);
    ctx.moveTo(x + side * 0.05, y - 0.17);
    ctx.lineTo(x - side * 0.05, y - 0.31);
    ctx.moveTo(x + side * 0.12, y - 0.28);
    ctx.lineTo(x + side * 0.24, y - 0.23);
    ctx.stroke();
  }
}

/** Fill a shape with round ends between two places: a neck. */
function neck(ctx, x0, y0, x1, y1, width, style) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.lineCap = 'round';
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

function spots(ctx, list, style) {
  for (const [x, y] of list) oval(ctx, x, y, 0.035, 0.028, style);
}

/** Paint a deer that looks to the east. */
function paintEast(ctx, coat, antlers, pose) {
  const swing = (phase) => pose < STEPS ? Math.sin((pose / STEPS + phase) * Math.PI * 2) : 0;
  const grazes = pose === GRAZES;
  oval(ctx, 0.03, 0, 0.5, 0.15, SHADOW);
  leg(ctx, -0.2, swing(0.5), coat.dark);
  leg(ctx, 0.3, swing(0.25), coat.dark);
  const hx = grazes ? 0.6 : 0.5, hy = grazes ? -0.2 : -1;
  neck(ctx, 0.28, -0.62, grazes ? 0.52 : 0.44, grazes ? -0.28 : -0.94, 0.2, coat.middle);
  oval(ctx, 0, -0.57, 0.44, 0.23, coat.middle);
  oval(ctx, -0.05, -0.62, 0.36, 0.14, coat.light);
  oval(ctx, 0.02, -0.41, 0.26, 0.075, WHITE);
  oval(ctx, -0.42, -0.6, 0.085, 0.12, WHITE, 0.35);
  leg(ctx, -0.3, swing(0), coat.middle);
  leg(ctx, 0.21, swing(0.75), coat.middle);
  if (!antlers) spots(ctx, [[-0.24, -0.68], [-0.08, -0.72], [0.08, -0.68], [-0.16, -0.58], [0.02, -0.6]],
    coat.spot);
  ctx.save();
  ctx.translate(hx, hy);
  ctx.rotate(grazes ? 0.95 : 0.12);
  if (antlers) antler(ctx, -0.1, -0.1, -1);
  oval(ctx, -0.15, -0.11, 0.13, 0.06, coat.dark, 0.5);
  oval(ctx, 0, 0, 0.18, 0.125, coat.middle);
  oval(ctx, 0.14, 0.03, 0.12, 0.08, coat.middle);
  oval(ctx, 0.13, 0.06, 0.09, 0.045, WHITE);
  oval(ctx, 0.24, 0.015, 0.04, 0.036, NOSE);
  oval(ctx, 0.03, -0.04, 0.035, 0.042, INK);
  oval(ctx, 0.02, -0.055, 0.012, 0.014, '#ffffff');
  oval(ctx, -0.11, -0.09, 0.11, 0.05, coat.light, 0.75);
  if (antlers) antler(ctx, -0.04, -0.11, -0.8);
  ctx.restore();
}

/** Paint a deer that looks to the south (towards the viewer) or to the north. */
function paintAlong(ctx, coat, antlers, pose, north) {
  const swing = (phase) => pose < STEPS ? Math.sin((pose / STEPS + phase) * Math.PI * 2) : 0;
  const lift = (side) => Math.max(0, swing(side > 0 ? 0 : 0.5)) * 0.09;
  oval(ctx, 0, 0, 0.32, 0.15, SHADOW);
  for (const side of [-1, 1]) {
    ctx.strokeStyle = side < 0 ? coat.middle : coat.dark;
    ctx.lineWidth = 0.1;
    ctx.lineCap = 'round';
    ctx.beginPath();
    ctx.moveTo(side * 0.13, -0.45);
    ctx.lineTo(side * 0.13, -0.07 - lift(side));
    ctx.stroke();
    oval(ctx, side * 0.13, -0.04 - lift(side), 0.06, 0.045, INK);
  }
  const head = () => {
    ctx.save();
    ctx.translate(0, -0.98);
    for (const side of [-1, 1]) {
      if (antlers) antler(ctx, side * 0.07, -0.1, side);
      oval(ctx, side * 0.2, -0.08, 0.13, 0.06, coat.dark, side * -0.35);
      oval(ctx, side * 0.2, -0.075, 0.08, 0.032, coat.spot, side * -0.35);
    }
    oval(ctx, 0, 0, 0.15, 0.17, north ? coat.light : coat.middle);
    if (!north) {
      oval(ctx, 0, 0.1, 0.095, 0.09, WHITE);
      oval(ctx, 0, 0.11, 0.05, 0.04, NOSE);
      for (const side of [-1, 1]) {
        oval(ctx, side * 0.085, -0.02, 0.036, 0.045, INK);
        oval(ctx, side * 0.085 - 0.012, -0.036, 0.012, 0.014, '#ffffff');
      }
    }
    ctx.restore();
  };
  if (north) {
    neck(ctx, 0, -0.6, 0, -0.92, 0.18, coat.middle);
    head();
  }
  oval(ctx, 0, -0.54, 0.25, 0.25, coat.middle);
  oval(ctx, -0.03, -0.61, 0.19, 0.16, coat.light);
  if (!antlers) spots(ctx, [[-0.1, -0.67], [0.08, -0.67], [-0.01, -0.73]], coat.spot);
  if (north) {
    oval(ctx, 0, -0.5, 0.13, 0.15, WHITE);
    oval(ctx, 0, -0.55, 0.055, 0.11, coat.dark);
  } else {
    neck(ctx, 0, -0.6, 0, -0.9, 0.19, coat.middle);
    oval(ctx, 0, -0.43, 0.11, 0.09, WHITE);
    head();
  }
}

/** The pictures at `tile` device px per tile. */
export class Deer {
  constructor(tile) {
    this.tile = tile;
    /** @type {import('./sprite.js').Sprite[]} */
    this.sprites = [];
  }

  /** Draw a deer by its `memory`: see walkers.js. */
  draw(ctx, state, { walker, face, stride, pace, px, py }) {
    const pose = poseOf(state, face.roll, stride, pace);
    const side = pose === GRAZES ? grazingSide(walker, face.roll) : sideOf(walker);
    const sprite = this.#sprite(face.roll, walker.id % 2 === 1, side, pose);
    ctx.drawImage(sprite.canvas, px - sprite.ax, py - sprite.ay);
  }

  #sprite(roll, antlers, side, pose) {
    const coat = Math.floor(part(roll, 20) * (COATS.length - 0.01));
    const number = ((coat * 2 + Number(antlers)) * SIDES + side) * POSES + pose;
    return this.sprites[number] ??= spriteOf(this.tile, BOX, (ctx) => {
      if (side === WEST) ctx.scale(-1, 1);
      if (side <= WEST) paintEast(ctx, COATS[coat], antlers, pose);
      else paintAlong(ctx, COATS[coat], antlers, pose, side === NORTH);
    });
  }
}

function sideOf({ dx, dy }) {
  if (dx !== 0) return dx > 0 ? EAST : WEST;
  return dy < 0 ? NORTH : SOUTH;
}

/** A deer that came from the south or north turns aside to graze. */
function grazingSide({ dx }, roll) {
  if (dx !== 0) return dx > 0 ? EAST : WEST;
  return roll & 1 ? EAST : WEST;
}

/** Return the number of the picture: a step, or how it stands. */
function poseOf(state, roll, stride, pace) {
  if (state.still) return STANDS;
  if (pace > 0.3) return Math.floor(stride * STEPS) % STEPS;
  return (state.now + roll % GRAZES_EVERY) % GRAZES_EVERY < GRAZES_FOR ? GRAZES : STANDS;
}
