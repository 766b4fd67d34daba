// The pictures of all other landmarks: see landmarks.js.

import { LEAVES, ROCK_TONES, TRUNK, TRUNK_LIGHT } from './palette.js';
import { box, canopy, DARK, door, GLASS, hole, polygon } from './shapes.js';
import { oval } from './sprite.js';

/** Draw one upright stone of a ring. */
function menhir(ctx, x, y, width, height, lean) {
  const stone = (shrink, style) => {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.moveTo(x - width * shrink, y);
    ctx.quadraticCurveTo(x - width * shrink + lean, y - height * 1.1,
      x + lean - width * 0.1, y - height * (0.9 + 0.1 * shrink));
    ctx.quadraticCurveTo(x + width * shrink + lean, y - height, x + width * (2 * shrink - 1), y);
    ctx.quadraticCurveTo(x, y + 0.1, x - width * shrink, y);
    ctx.fill();
  };
  stone(1, ROCK_TONES.face);
  stone(0.8, ROCK_TONES.top);
  oval(ctx, x - width * 0.3 + lean * 0.7, y - height * 0.66, width * 0.26, height * 0.16,
    ROCK_TONES.rim);
}

export const stones = {
  shadow: 0, box: { left: -2.3, top: -2.6, right: 2.3, bottom: 0.5 },
  paint(ctx) {
    oval(ctx, 0, -0.45, 2.1, 0.8, 'rgba(60, 80, 50, 0.2)');
    oval(ctx, 0, -0.45, 1.4, 0.5, 'rgba(120, 140, 90, 0.3)');
    const ring = Array.from({ length: 9 }, (_, i) => i * Math.PI * 2 / 9 - 0.25);
    ring.sort((a, b) => Math.sin(a) - Math.sin(b)).forEach((turn, i) => {
      const x = Math.cos(turn) * 1.85, y = -0.45 + Math.sin(turn) * 0.68;
      oval(ctx, x + 0.08, y + 0.02, 0.36, 0.13, 'rgba(32, 46, 38, 0.26)');
      menhir(ctx, x, y, 0.26 + 0.05 * (i % 3), 1.15 + 0.25 * (i * 7 % 4) / 3, 0.06 * (i % 3 - 1));
      if (i === 2) {
        polygon(ctx, ROCK_TONES.face, [-0.9, -2.3], [0.55, -2.36], [0.6, -2.04], [-0.9, -2]);
        polygon(ctx, ROCK_TONES.light, [-0.9, -2.3], [0.55, -2.36], [0.5, -2.2], [-0.86, -2.15]);
        menhir(ctx, -0.66, -0.98, 0.24, 1.1, 0);
        menhir(ctx, 0.34, -1, 0.24, 1.12, 0);
      }
    });
  },
};

export const wreck = {
  shadow: 1.7, box: { left: -2.4, top: -3.5, right: 2.4, bottom: 0.35 },
  light: { glows: [{ x: -1.72, y: -1.42, size: 0.5 }], pool: 2 },
  paint(ctx) {
    ctx.fillStyle = '#5d4128';
    ctx.save();
    ctx.rotate(-0.1);
    ctx.fillRect(0.15, -3.2, 0.16, 2.4);
    ctx.restore();
    polygon(ctx, '#efe4c8', [-0.1, -3.1], [1.45, -2.2], [0.9, -1.5], [0.1, -1.35]);
    polygon(ctx, '#d9caa4', [0.5, -2.2], [1.45, -2.2], [0.9, -1.5], [0.1, -1.35]);
    ctx.fillStyle = '#6b4a30';
    ctx.beginPath();
    ctx.moveTo(-2.2, -1.5);
    ctx.quadraticCurveTo(-1.9, 0.1, -0.7, 0.2);
    ctx.lineTo(1.2, 0.2);
    ctx.quadraticCurveTo(2, 0, 2.3, -0.9);
    ctx.quadraticCurveTo(0, -0.5, -2.2, -1.5);
    ctx.fill();
    ctx.strokeStyle = '#8f6441';
    ctx.lineWidth = 0.13;
    for (const down of [0.1, 0.34, 0.58]) {
      ctx.beginPath();
      ctx.moveTo(-2.08 + down * 0.3, -1.34 + down);
      ctx.quadraticCurveTo(0, -0.5 + down * 0.7, 2.2 - down * 0.4, -0.8 + down);
      ctx.stroke();
    }
    ctx.strokeStyle = '#a27445';
    ctx.lineWidth = 0.12;
    ctx.beginPath();
    ctx.moveTo(-2.2, -1.5);
    ctx.quadraticCurveTo(0, -0.5, 2.3, -0.9);
    ctx.stroke();
    hole(ctx, 0.5, -0.2, 0.5, 0.34);
    box(ctx, GLASS, -1.82, -1.56, 0.2, 0.26);
  },
};

export const balloon = {
  shadow: 0.9, box: { left: -1.2, top: -1, right: 1.2, bottom: 0.2 },
  light: { glows: [{ x: 0, y: -1.5, size: 0.8 }], pool: 2.2 },
  paint(ctx) {
    for (const x of [-0.86, 0.86]) {
      oval(ctx, x, 0, 0.26, 0.12, '#8a6239');
      ctx.fillStyle = '#c9a66b';
      ctx.beginPath();
      ctx.ellipse(x, -0.06, 0.24, 0.26, 0, Math.PI, 0);
      ctx.fill();
    }
    ctx.strokeStyle = '#7a5438';
    ctx.lineWidth = 0.04;
    for (const side of [-1, 1]) {
      ctx.beginPath();
      ctx.moveTo(side * 0.86, -0.25);
      ctx.lineTo(side * 0.3, -0.9);
      ctx.stroke();
    }
  },
};

export const oak = {
  shadow: 2, box: { left: -2.35, top: -4.5, right: 2.35, bottom: 0.25 },
  light: { glows: [{ x: -0.92, y: -1.3, size: 0.4 }, { x: 1, y: -1.5, size: 0.4 }], pool: 2.4 },
  paint(ctx) {
    ctx.fillStyle = TRUNK;
    ctx.beginPath();
    ctx.moveTo(-0.5, -2.2);
    ctx.quadraticCurveTo(-0.4, -0.5, -1, 0.02);
    ctx.quadraticCurveTo(0, 0.26, 1, 0.02);
    ctx.quadraticCurveTo(0.4, -0.5, 0.5, -2.2);
    ctx.fill();
    ctx.fillStyle = TRUNK_LIGHT;
    ctx.beginPath();
    ctx.moveTo(-0.5, -2.2);
    ctx.quadraticCurveTo(-0.4, -0.5, -0.8, -0.02);
    ctx.quadraticCurveTo(-0.1, -0.3, -0.1, -2.2);
    ctx.fill();
    oval(ctx, 0.12, -0.9, 0.2, 0.28, '#4f3522');
    canopy(ctx, [[0, -3.4, 1], [-1.1, -2.7, 0.95], [1.1, -2.7, 0.95], [0, -2.3, 1], [-0.6, -3.2, 0.9],
      [0.7, -3.3, 0.85], [-1.5, -2.2, 0.6], [1.5, -2.2, 0.6]], LEAVES[0]);
    for (const [x, y] of [[-0.92, -1.3], [1, -1.5]]) {
      ctx.strokeStyle = DARK;
      ctx.lineWidth = 0.03;
      ctx.beginPath();
      ctx.moveTo(x, y - 0.5);
      ctx.lineTo(x, y - 0.12);
      ctx.stroke();
      oval(ctx, x, y, 0.12, 0.16, '#ffdf8f');
    }
  },
};

export const toadstool = {
  shadow: 1.3, box: { left: -1.85, top: -3.4, right: 1.85, bottom: 0.25 },
  light: { glows: [{ x: -0.3, y: -1.25, size: 0.42 }, { x: 0.36, y: -0.95, size: 0.36 }], pool: 2.4 },
  paint(ctx) {
    ctx.fillStyle = '#d9cdb2';
    ctx.beginPath();
    ctx.moveTo(-0.5, -1.7);
    ctx.quadraticCurveTo(-0.5, -0.6, -0.78, 0);
    ctx.quadraticCurveTo(0, 0.22, 0.78, 0);
    ctx.quadraticCurveTo(0.5, -0.6, 0.5, -1.7);
    ctx.fill();
    ctx.fillStyle = '#f3ead8';
    ctx.beginPath();
    ctx.moveTo(-0.5, -1.7);
    ctx.quadraticCurveTo(-0.5, -0.6, -0.72, -0.02);
    ctx.quadraticCurveTo(0, 0.1, 0.2, 0);
    ctx.lineTo(0.22, -1.7);
    ctx.fill();
    oval(ctx, 0, -1.72, 1.5, 0.34, '#c9b99a');
    const cap = (half, top, style) => {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.moveTo(-half, -1.66);
      ctx.bezierCurveTo(-half, top, half, top, half, -1.66);
      ctx.quadraticCurveTo(0, -1.3 - half * 0.1, -half, -1.66);
      ctx.fill();
    };
    cap(1.72, -3.75, '#b83a35');
    ctx.save();
    ctx.translate(-0.12, -0.06);
    cap(1.42, -3.6, '#d9534f');
    ctx.restore();
    for (const [x, y, r] of [[-0.9, -2.2, 0.24], [0, -2.75, 0.28], [0.85, -2.35, 0.22],
      [-0.25, -1.9, 0.17], [0.6, -1.86, 0.16], [-1.3, -1.78, 0.13], [0.5, -2.95, 0.1]]) {
      oval(ctx, x, y, r, r * 0.72, '#fff6ea');
    }
    door(ctx, 0.05, 0.44, 0.74);
    oval(ctx, -0.3, -1.25, 0.14, 0.14, DARK);
    oval(ctx, 0.36, -0.95, 0.11, 0.11, DARK);
  },
};

export const head = {
  shadow: 1.2, box: { left: -1.3, top: -3.4, right: 1.35, bottom: 0.25 },
  paint(ctx) {
    const face = (dx, half, style) => {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.moveTo(dx - half, 0);
      ctx.quadraticCurveTo(dx - half * 1.12, -2, dx - half * 0.86, -2.9);
      ctx.quadraticCurveTo(dx, -3.6, dx + half * 0.86, -2.9);
      ctx.quadraticCurveTo(dx + half * 1.12, -2, dx + half, 0);
      ctx.quadraticCurveTo(dx, 0.24, dx - half, 0);
      ctx.fill();
    };
    face(0, 1.08, ROCK_TONES.face);
    face(-0.12, 0.92, ROCK_TONES.top);
    face(-0.32, 0.56, ROCK_TONES.light);
    for (const x of [-0.56, 0.36]) oval(ctx, x, -2.05, 0.27, 0.15, ROCK_TONES.faceDark);
    polygon(ctx, ROCK_TONES.face, [-0.9, -2.4], [0.7, -2.42], [0.6, -2.2], [-0.1, -2.24],
      [-0.84, -2.16]);
    polygon(ctx, ROCK_TONES.face, [-0.06, -2.2], [0.22, -1.2], [-0.36, -1.18]);
    polygon(ctx, ROCK_TONES.rim, [-0.14, -2.2], [-0.02, -1.24], [-0.34, -1.2]);
    oval(ctx, -0.1, -0.82, 0.44, 0.1, ROCK_TONES.faceDark);
    canopy(ctx, [[-0.95, -0.08, 0.24], [0.95, -0.06, 0.28], [0.66, 0, 0.2]], LEAVES[1]);
    oval(ctx, 0.3, -3.02, 0.4, 0.13, ROCK_TONES.moss);
  },
};
