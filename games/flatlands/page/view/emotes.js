// Emotes: how a body moves in one, the signs in their bubbles, and the sparks of a wave that was
// returned. All of it is a function of the time since it began.

import { ASK, BOW, DANCE, EXCLAIM, HEART, LAUGH, SPARK_SHOWN, WAVE } from '../emotes.js';
import { oval } from './sprite.js';

const MOVES_FOR = 1700;                   // ms that a body moves; its bubble is shown for longer
const TAU = Math.PI * 2;
const SPARKS = 9;
const INK = '#27303c';

const RISES = 0.12;                       // the share of a motion in which an arm goes up, and down again
const SHOULDER = { x: 0.27, y: -0.5 };    // tiles from the feet
const UPPER = 0.17, LOWER = 0.27;         // tiles: an arm's length to the elbow, and from there to the hand
const THICK = 0.15, HAND = 0.115;         // tiles
const SITS = { x: 0, y: 0.07, turn: 0, stretch: 0.9, nod: 0, laughs: false, arms: [null, null] };

/**
 * How a body is drawn: moved in tiles, turned about its feet in radians, and stretched upwards; how far the head has
 * nodded, as a share of a nod; and where its left and right arms point, in radians upwards from straight aside, or
 * null for one that is not seen.
 * @typedef {{ x: number, y: number, turn: number, stretch: number, nod: number, laughs: boolean,
 * arms: (number | null)[] }} Motion
 */

/** Return how a walker moves in its current emote, or how it sits while its connection is lost; null if it does
 * neither. Where motion is reduced, it holds a pose. `left`: it waves with its left arm.
 * @param {import('../state.js').State} state @param {import('../state.js').Walker} walker
 * @returns {Motion | null} */
export function motionOf({ now, still }, { saying, dimmed }, left = false) {
  if (dimmed) return SITS;
  if (saying === null || saying.emote === 0 || now - saying.at > MOVES_FOR) return null;
  const part = still ? 0.3 : Math.min(Math.max(0, now - saying.at) / MOVES_FOR, 1);
  const motion = { x: 0, y: 0, turn: 0, stretch: 1, nod: 0, laughs: saying.emote === LAUGH, arms: [null, null] };
  MOVES[saying.emote]?.(motion, part, Math.min(part / RISES, (1 - part) / RISES, 1), left);
  if (still) Object.assign(motion, { x: 0, y: 0, turn: 0, stretch: 1 });
  return motion;
}

/** How each emote moves a body at a part 0 .. 1 of its time, with arms that are `up`, 0 .. 1. */
const MOVES = {
  [WAVE](motion, part, up, left) {
    const swell = Math.sin(part * Math.PI), arm = -0.9 + up * (2 + 0.38 * Math.sin(part * TAU * 4.5));
    motion.turn = (left ? 0.09 : -0.09) * swell;
    motion.y = -0.05 * Math.abs(Math.sin(part * TAU * 2.25)) * swell;
    motion.arms = left ? [arm, null] : [null, arm];
  },
  // Two slow nods.
  [HEART](motion, part) {
    motion.nod = Math.max(0, Math.sin(part * TAU * 2));
    motion.stretch = 1 - 0.1 * motion.nod;
  },
  [LAUGH](motion, part) {
    const hop = Math.abs(Math.sin(part * TAU * 3)), swell = Math.sin(part * Math.PI);
    motion.y = -0.2 * hop * swell;
    motion.stretch = 1 + (hop - 0.6) * 0.14 * swell;
    motion.turn = 0.06 * Math.sin(part * TAU * 6) * swell;
  },
  [DANCE](motion, part, up) {
    const swell = Math.sin(part * Math.PI), sway = Math.sin(part * TAU * 2.5);
    motion.turn = 0.24 * sway * swell;
    motion.x = 0.16 * sway * swell;
    motion.y = -0.16 * Math.abs(Math.sin(part * TAU * 5)) * swell;
    motion.arms = [-0.9 + up * (1.5 + 0.8 * sway), -0.9 + up * (1.5 - 0.8 * sway)];
  },
  [EXCLAIM](motion, part, up) {
    const leap = Math.max(0, Math.sin(Math.min(part * 2.6, 1) * Math.PI));
    motion.y = -0.5 * leap;
    motion.arms = [-0.9 + 2 * up, -0.9 + 2 * up];
  },
  // It shrugs.
  [ASK](motion, part, up) {
    motion.turn = 0.14 * up;
    motion.arms = [-0.9 + 1.5 * up, -0.9 + 1.5 * up];
  },
  // One deep nod.
  [BOW](motion, part) {
    motion.nod = Math.sin(part * Math.PI);
    motion.stretch = 1 - 0.18 * motion.nod;
  },
};

/** Draw the arms of a motion, which begin at the body whose feet are at the device px (px, py). */
export function drawArms(ctx, { arms }, { colour, shade, light }, px, py, tile) {
  ctx.lineCap = 'round';
  ctx.lineJoin = 'round';
  arms.forEach((arm, i) => {
    if (arm === null) return;
    const side = i === 0 ? -1 : 1, x = px + side * SHOULDER.x * tile, y = py + SHOULDER.y * tile;
    // The elbow hangs a little, and the forearm is steeper.
    const upper = arm * 0.7 - 0.35, elbowX = x + side * Math.cos(upper) * UPPER * tile, elbowY = y - Math.sin(upper) * UPPER * tile;
    const handX = elbowX + side * Math.cos(arm) * LOWER * tile, handY = elbowY - Math.sin(arm) * LOWER * tile;
    for (const { grow, style } of [{ grow: 0.035, style: shade }, { grow: 0, style: colour }]) {
      ctx.strokeStyle = style;
      ctx.lineWidth = (THICK + 2 * grow) * tile;
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.quadraticCurveTo(elbowX, elbowY, handX, handY);
      ctx.stroke();
      oval(ctx, handX, handY, (HAND + grow) * tile, (HAND + grow) * tile, style);
    }
    oval(ctx, handX - 0.03 * tile, handY - 0.03 * tile, HAND * 0.5 * tile, HAND * 0.45 * tile, light);
    // No edge divides the arm from the body where it begins.
    oval(ctx, x - side * 0.03 * tile, y, 0.1 * tile, 0.1 * tile, colour);
  });
}

/** Draw sparks around a walker whose wave was returned, or who returned one. */
export function drawSparks(ctx, state, { walker, px, py }, tile) {
  const age = state.now - walker.sparkAt;
  if (!(age >= 0 && age < SPARK_SHOWN)) return;
  const part = state.still ? 0.4 : age / SPARK_SHOWN, out = 1 - (1 - part) ** 3;
  ctx.globalAlpha = walker.alpha * Math.min(1, (1 - part) * 2.2);
  for (let i = 0; i < SPARKS; i++) {
    const turn = (i + 0.3 * (i % 3)) / SPARKS * TAU, far = (0.5 + 0.85 * out) * (i % 2 ? 1 : 0.72);
    const x = px + Math.cos(turn) * far * tile;
    const y = py - (0.6 + 0.35 * part) * tile + Math.sin(turn) * far * 0.8 * tile;
    star(ctx, x, y, (i % 2 ? 0.2 : 0.3) * tile * (1 - 0.5 * part), i % 3 ? '#ffd166' : '#fff6d6');
  }
  ctx.globalAlpha = 1;
}

function star(ctx, x, y, size, style) {
  for (const [grow, paint] of [[1.35, 'rgba(120, 70, 10, 0.35)'], [1, style]]) {
    ctx.fillStyle = paint;
    ctx.beginPath();
    for (let i = 0; i < 8; i++) {
      const far = (i % 2 ? 0.36 : 1) * size * grow, turn = i * TAU / 8;
      ctx.lineTo(x + Math.cos(turn) * far, y + Math.sin(turn) * far);
    }
    ctx.fill();
  }
}

/** Draw the sign of an emote into the square from -0.5, -0.5 to 0.5, 0.5. */
export function drawEmote(ctx, emote) {
  ctx.lineCap = 'round';
  ctx.lineJoin = 'round';
  SIGNS[emote]?.(ctx);
}

function line(ctx, width, style, draw) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.beginPath();
  draw();
  ctx.stroke();
}

const SIGNS = {
  [WAVE](ctx) {
    // Four fingers and a thumb, first the outline and then the hand within it.
    for (const { width, style } of [{ width: 0.2, style: '#d97a1c' },
      { width: 0.12, style: '#ffc24d' }]) {
      for (const [x, y, toX, toY] of [[-0.13, 0.02, -0.25, -0.27], [-0.03, -0.02, -0.07, -0.38],
        [0.07, 0, 0.11, -0.36], [0.16, 0.06, 0.26, -0.22], [-0.1, 0.2, -0.36, 0.02]]) {
        line(ctx, width, style, () => {
          ctx.moveTo(x, y);
          ctx.lineTo(toX, toY);
        });
      }
      const grow = (width - 0.12) / 2;
      oval(ctx, 0.03, 0.17, 0.2 + grow, 0.22 + grow, style);
    }
  },
  [HEART](ctx) {
    ctx.fillStyle = '#ef476f';
    ctx.beginPath();
    ctx.moveTo(0, 0.42);
    ctx.bezierCurveTo(-0.62, 0.02, -0.46, -0.42, -0.2, -0.4);
    ctx.bezierCurveTo(-0.08, -0.39, 0, -0.3, 0, -0.2);
    ctx.bezierCurveTo(0, -0.3, 0.08, -0.39, 0.2, -0.4);
    ctx.bezierCurveTo(0.46, -0.42, 0.62, 0.02, 0, 0.42);
    ctx.fill();
    oval(ctx, -0.2, -0.2, 0.08, 0.06, 'rgba(255, 255, 255, 0.7)', -0.6);
  },
  [LAUGH](ctx) {
    oval(ctx, 0, 0, 0.46, 0.46, '#ffc93c');
    for (const side of [-1, 1]) {
      line(ctx, 0.07, INK, () => ctx.arc(side * 0.18, -0.06, 0.09, Math.PI * 1.1, Math.PI * 1.9));
    }
    ctx.fillStyle = INK;
    ctx.beginPath();
    ctx.arc(0, 0.08, 0.25, 0, Math.PI);
    ctx.fill();
    oval(ctx, 0, 0.25, 0.12, 0.065, '#ff7a8a');
  },
  [DANCE](ctx) {
    const ink = '#7840bd';
    oval(ctx, -0.22, 0.3, 0.15, 0.11, ink, -0.3);
    oval(ctx, 0.24, 0.2, 0.15, 0.11, ink, -0.3);
    line(ctx, 0.08, ink, () => {
      ctx.moveTo(-0.09, 0.26);
      ctx.lineTo(-0.09, -0.26);
      ctx.lineTo(0.37, -0.38);
      ctx.lineTo(0.37, 0.16);
    });
    line(ctx, 0.13, ink, () => {
      ctx.moveTo(-0.07, -0.23);
      ctx.lineTo(0.35, -0.34);
    });
  },
  [EXCLAIM](ctx) {
    line(ctx, 0.2, '#e4572e', () => {
      ctx.moveTo(0, -0.34);
      ctx.lineTo(0, 0.08);
    });
    oval(ctx, 0, 0.36, 0.11, 0.11, '#e4572e');
  },
  [ASK](ctx) {
    line(ctx, 0.15, '#118ab2', () => {
      ctx.arc(0, -0.17, 0.2, Math.PI * 1.05, Math.PI * 2.35);
      ctx.quadraticCurveTo(0, 0.06, 0, 0.14);
    });
    oval(ctx, 0, 0.37, 0.1, 0.1, '#118ab2');
  },
  // Somebody who bows to the left: legs, a bent back and a head.
  [BOW](ctx) {
    line(ctx, 0.16, '#2a9d6f', () => {
      ctx.moveTo(0.24, 0.4);
      ctx.lineTo(0.24, 0.02);
      ctx.quadraticCurveTo(0.2, -0.28, -0.04, -0.24);
    });
    oval(ctx, -0.3, -0.1, 0.14, 0.14, '#2a9d6f');
  },
};
