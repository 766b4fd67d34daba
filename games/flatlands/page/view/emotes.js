// Emotes: how a body moves in one, the signs in their bubbles, and the sparks of a wave that was
// returned. All of it follows from the time since it began.

import { ASK, DANCE, EXCLAIM, HEART, LAUGH, SPARK_SHOWN, WAVE } from '../emotes.js';
import { oval } from './sprite.js';

const MOVES_FOR = 1700;                   // ms that a body moves; its bubble is shown for longer
const TAU = Math.PI * 2;
const SPARKS = 9;
const INK = '#27303c';

/**
 * How a body is drawn: moved in tiles, turned about its feet in radians, and stretched upwards.
 * @typedef {{ x: number, y: number, turn: number, stretch: number, laughs: boolean, waves: boolean }}
 * Motion
 */

/** Return how a walker moves in the emote that it makes now; null if it makes none. Where motion is
 * reduced, only the hand of a wave is shown.
 * @param {import('../state.js').State} state @param {import('../state.js').Walker} walker
 * @returns {Motion | null} */
export function motionOf({ now, still }, { saying }) {
  if (saying === null || saying.emote === 0 || now - saying.at > MOVES_FOR) return null;
  const { emote } = saying;
  const motion = { x: 0, y: 0, turn: 0, stretch: 1, laughs: emote === LAUGH, waves: emote === WAVE };
  if (still) return motion;
  const part = Math.max(0, now - saying.at) / MOVES_FOR, swell = Math.sin(part * Math.PI);
  const beat = Math.sin(part * TAU * 4);
  if (emote === WAVE) motion.turn = 0.1 * swell;
  else if (emote === HEART) motion.stretch = 1 + 0.07 * beat * swell;
  else if (emote === LAUGH) motion.y = -0.1 * Math.abs(Math.sin(part * TAU * 5)) * swell;
  else if (emote === DANCE) {
    motion.turn = 0.24 * Math.sin(part * TAU * 2.5) * swell;
    motion.x = 0.16 * Math.sin(part * TAU * 2.5) * swell;
    motion.y = -0.16 * Math.abs(Math.sin(part * TAU * 5)) * swell;
  } else if (emote === EXCLAIM) {
    motion.y = -0.5 * Math.max(0, Math.sin(Math.min(part * 3.4, 1) * Math.PI));
  } else if (emote === ASK) motion.turn = 0.2 * Math.sin(Math.min(part * 2, 1) * Math.PI / 2) * swell;
  return motion;
}

/** Draw the hand of a walker that waves. */
export function drawHand(ctx, state, { walker, face, px, py }, tile) {
  const age = state.now - walker.saying.at, { colour, shade } = face;
  const swing = state.still ? 0 : Math.sin(age / MOVES_FOR * TAU * 4) * 0.35;
  ctx.save();
  ctx.translate(px + 0.36 * tile, py - 0.52 * tile);
  ctx.rotate(0.45 + swing);
  ctx.scale(tile, tile);
  oval(ctx, 0, -0.15, 0.085, 0.2, shade);
  oval(ctx, 0, -0.29, 0.115, 0.115, colour);
  ctx.restore();
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
};
