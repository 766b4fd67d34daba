// The pictures that make a walker: feet with their shadow, a body with ears or a hat, and eyes. They
// are drawn in tiles, with the origin between the feet.

import { canvasOf, contextOf, Lru, oval, spriteOf } from './sprite.js';

export const BODY_TOP = 1.06;             // tiles from the feet to the top of the head
export const XRAY = 0.34;                 // opacity of a walker behind what covers it
export const STEPS = 8;                   // number of pictures for one double step
const BODY_FOOT = 0.1;                    // tiles from the feet to the body's lower end
const HALF_WIDTH = 0.36;
const EYES_AT = 0.7;                      // tiles above the feet
const BODIES_KEPT = 300;
const GREY = { colour: '#a3a8ad', shade: '#868c92', light: '#c6cacd' };
const INK = '#27303c';

function egg(ctx) {
  const top = -BODY_TOP, foot = -BODY_FOOT, w = HALF_WIDTH;
  ctx.beginPath();
  ctx.moveTo(0, top);
  ctx.bezierCurveTo(w * 0.72, top, w, top + 0.36, w, top + 0.58);
  ctx.bezierCurveTo(w, foot - 0.12, w * 0.6, foot, 0, foot);
  ctx.bezierCurveTo(-w * 0.6, foot, -w, foot - 0.12, -w, top + 0.58);
  ctx.bezierCurveTo(-w, top + 0.36, -w * 0.72, top, 0, top);
  ctx.closePath();
}

const EARS = {
  none() {},
  pointed(ctx, { colour, shade }) {
    for (const side of [-1, 1]) {
      for (const [grow, style] of [[1, colour], [0.5, shade]]) {
        ctx.fillStyle = style;
        ctx.beginPath();
        ctx.moveTo(side * (0.2 - 0.12 * grow), -0.98);
        ctx.quadraticCurveTo(side * 0.2, -1.12 - 0.14 * grow, side * 0.27, -1.16 - 0.14 * grow);
        ctx.quadraticCurveTo(side * (0.3 + 0.03 * grow), -1.05, side * (0.22 + 0.1 * grow), -0.86);
        ctx.fill();
      }
    }
  },
  round(ctx, { colour, shade }) {
    for (const side of [-1, 1]) {
      oval(ctx, side * 0.24, -1.02, 0.14, 0.14, colour);
      oval(ctx, side * 0.24, -1.02, 0.075, 0.075, shade);
    }
  },
  long(ctx, { colour, shade }) {
    for (const side of [-1, 1]) {
      oval(ctx, side * 0.15, -1.2, 0.09, 0.26, colour, side * 0.16);
      oval(ctx, side * 0.15, -1.19, 0.045, 0.18, shade, side * 0.16);
    }
  },
  antennae(ctx, { colour, shade }) {
    ctx.strokeStyle = shade;
    ctx.lineWidth = 0.05;
    ctx.lineCap = 'round';
    for (const side of [-1, 1]) {
      ctx.beginPath();
      ctx.moveTo(side * 0.1, -1);
      ctx.quadraticCurveTo(side * 0.12, -1.2, side * 0.24, -1.26);
      ctx.stroke();
      oval(ctx, side * 0.25, -1.27, 0.075, 0.075, colour);
    }
  },
};

const HATS = {
  none() {},
  top(ctx, { shade }) {
    ctx.fillStyle = INK;
    oval(ctx, 0, -0.94, 0.36, 0.09, INK);
    ctx.beginPath();
    ctx.moveTo(-0.21, -0.96);
    ctx.lineTo(-0.24, -1.3);
    ctx.quadraticCurveTo(0, -1.36, 0.24, -1.3);
    ctx.lineTo(0.21, -0.96);
    ctx.fill();
    ctx.fillStyle = shade;
    ctx.beginPath();
    ctx.moveTo(-0.216, -1.08);
    ctx.quadraticCurveTo(0, -1.02, 0.216, -1.08);
    ctx.lineTo(0.212, -0.98);
    ctx.quadraticCurveTo(0, -0.92, -0.212, -0.98);
    ctx.fill();
  },
  cap(ctx, { shade, light }) {
    ctx.fillStyle = shade;
    ctx.beginPath();
    ctx.moveTo(-0.32, -0.88);
    ctx.bezierCurveTo(-0.3, -1.26, 0.3, -1.26, 0.32, -0.88);
    ctx.quadraticCurveTo(0, -0.97, -0.32, -0.88);
    ctx.fill();
    oval(ctx, 0, -0.9, 0.33, 0.075, INK);
    oval(ctx, 0, -1.17, 0.055, 0.05, light);
  },
  straw(ctx, { shade }) {
    oval(ctx, 0, -0.93, 0.5, 0.13, '#c99a4b');
    oval(ctx, 0, -0.96, 0.48, 0.11, '#ebc67d');
    ctx.fillStyle = '#e3b766';
    ctx.beginPath();
    ctx.moveTo(-0.25, -0.98);
    ctx.bezierCurveTo(-0.24, -1.28, 0.24, -1.28, 0.25, -0.98);
    ctx.quadraticCurveTo(0, -0.9, -0.25, -0.98);
    ctx.fill();
    ctx.strokeStyle = shade;
    ctx.lineWidth = 0.06;
    ctx.beginPath();
    ctx.moveTo(-0.25, -1.01);
    ctx.quadraticCurveTo(0, -0.93, 0.25, -1.01);
    ctx.stroke();
  },
  flower(ctx) {
    for (let i = 0; i < 5; i++) {
      const turn = i * Math.PI * 0.4;
      oval(ctx, 0.18 + Math.cos(turn) * 0.085, -1.0 + Math.sin(turn) * 0.085, 0.07, 0.07, '#fff');
    }
    oval(ctx, 0.18, -1, 0.055, 0.055, '#f0b429');
  },
  woolly(ctx, { shade, light }) {
    ctx.fillStyle = shade;
    ctx.beginPath();
    ctx.moveTo(-0.33, -0.86);
    ctx.bezierCurveTo(-0.3, -1.3, 0.3, -1.3, 0.33, -0.86);
    ctx.fill();
    oval(ctx, 0, -1.22, 0.1, 0.1, light);
    ctx.strokeStyle = light;
    ctx.lineCap = 'round';
    ctx.lineWidth = 0.13;
    ctx.beginPath();
    ctx.moveTo(-0.29, -0.89);
    ctx.quadraticCurveTo(0, -0.83, 0.29, -0.89);
    ctx.stroke();
  },
};

function paintBody(ctx, face, tones) {
  EARS[face.ears](ctx, tones);
  egg(ctx);
  ctx.fillStyle = tones.colour;
  ctx.fill();
  ctx.save();
  ctx.clip();
  ctx.beginPath();
  ctx.rect(-1, -2, 2, 3);
  ctx.ellipse(-0.07, -0.66, 0.38, 0.5, 0, 0, Math.PI * 2);
  ctx.fillStyle = tones.shade;
  ctx.fill('evenodd');
  ctx.restore();
  oval(ctx, -0.16, -0.9, 0.085, 0.055, tones.light, -0.6);
  HATS[face.hat](ctx, tones);
}

/** Paint eyes that look towards (dx, dy), each -1, 0 or 1; or closed ones. */
function paintEyes(ctx, dx, dy, closed) {
  for (const side of [-1, 1]) {
    const x = side * 0.135, y = -EYES_AT;
    if (closed) {
      ctx.strokeStyle = INK;
      ctx.lineWidth = 0.045;
      ctx.lineCap = 'round';
      ctx.beginPath();
      ctx.arc(x, y - 0.02, 0.075, 0.35, Math.PI - 0.35);
      ctx.stroke();
      continue;
    }
    oval(ctx, x, y, 0.115, 0.14, '#ffffff');
    oval(ctx, x + dx * 0.045, y + 0.01 + dy * 0.055, 0.066, 0.082, '#1d2430');
    oval(ctx, x + dx * 0.045 - 0.022, y - 0.03 + dy * 0.055, 0.022, 0.026, '#ffffff');
  }
}

function paintFeet(ctx, step) {
  oval(ctx, 0, 0, 0.36, 0.15, 'rgba(32, 46, 38, 0.3)');
  for (const side of [-1, 1]) {
    const swing = step < 0 ? 0 : Math.sin(step / STEPS * Math.PI * 2) * side;
    oval(ctx, side * 0.15, -0.05 - Math.max(0, swing) * 0.1, 0.095, 0.065, INK);
  }
}

/** Return a faint copy, for a walker behind something. It is made once, because drawing with lower
 * opacity costs more each time. */
function faded(canvas) {
  const copy = canvasOf(canvas.width, canvas.height), ctx = contextOf(copy);
  ctx.globalAlpha = XRAY;
  ctx.drawImage(canvas, 0, 0);
  return copy;
}

/** The pictures at `tile` device px per tile. */
export class Bodies {
  constructor(tile) {
    const feet = { left: -0.45, top: -0.3, right: 0.45, bottom: 0.2 };
    const eyes = { left: -0.3, top: -0.9, right: 0.3, bottom: -0.5 };
    this.tile = tile;
    this.bodies = new Lru(BODIES_KEPT);
    this.standing = spriteOf(tile, feet, (ctx) => paintFeet(ctx, -1));
    this.steps = Array.from({ length: STEPS }, (_, i) =>
      spriteOf(tile, feet, (ctx) => paintFeet(ctx, i)));
    this.eyes = Array.from({ length: 9 }, (_, i) =>
      spriteOf(tile, eyes, (ctx) => paintEyes(ctx, i % 3 - 1, Math.floor(i / 3) - 1, false)));
    this.closed = spriteOf(tile, eyes, (ctx) => paintEyes(ctx, 0, 0, true));
    this.box = { left: -0.55, top: -1.5, right: 0.55, bottom: 0 };
  }

  /** Return the body of a face, grey if `dimmed`: a sprite, with a faint copy (`ghost`) and the size in
   * device px of the part that is not empty. */
  body(face, dimmed) {
    const key = dimmed ? 'grey:' + face.key : face.key, known = this.bodies.get(key);
    if (known !== undefined) return known;
    const sprite = spriteOf(this.tile, this.box, (ctx) => {
      paintBody(ctx, face, dimmed ? GREY : face);
      if (!face.cheeks) return;
      for (const side of [-1, 1]) {
        oval(ctx, side * 0.24, -0.5, 0.07, 0.045, 'rgba(255, 120, 120, 0.55)');
      }
    });
    const bare = face.ears === 'none' && (face.hat === 'none' || face.hat === 'flower');
    return this.bodies.set(key, {
      ...sprite,
      ghost: faded(sprite.canvas),
      halfWidth: Math.ceil((face.hat === 'straw' ? 0.52 : 0.4) * this.tile),
      height: Math.ceil((bare ? 1.2 : 1.55) * this.tile),
    });
  }
}
