// The pictures of landmarks that somebody has built, to live or to work in, or for the dead: see
// landmarks.js.

import { LAMP } from './moving.js';
import { AUTUMN_LEAVES, LEAVES, ROCK_TONES } from './palette.js';
import { box, canopy, DARK, door, GLASS, hole, polygon, shaft } from './shapes.js';
import { oval } from './sprite.js';

const WHITE = { dark: '#c9c1b0', middle: '#e9e2d2', light: '#f8f3e6' };
const MASONRY = { dark: '#7f7f7a', middle: '#a09f98', light: '#b9b8b0' };

export const windmill = {
  shadow: 1.35, box: { left: -1.35, top: -4.25, right: 1.35, bottom: 0.2 },
  light: { glows: [{ x: 0, y: -1.75, size: 0.5 }], pool: 2.4 },
  paint(ctx) {
    shaft(ctx, 1.1, 0.72, -3, WHITE);
    polygon(ctx, '#8c4a38', [-0.95, -2.92], [0, -4.05], [0.95, -2.92]);
    polygon(ctx, '#b5634a', [-0.95, -2.92], [-0.12, -3.92], [0.5, -2.92]);
    oval(ctx, 0, -2.92, 0.95, 0.13, '#b5634a');
    door(ctx, 0.05, 0.5, 0.92);
    hole(ctx, 0, -1.75, 0.34, 0.46);
    oval(ctx, 0, -4.08, 0.1, 0.1, '#ffd166');
  },
};

export const lighthouse = {
  shadow: 1.1, box: { left: -1.2, top: -5.3, right: 1.2, bottom: 0.25 },
  light: { glows: [{ x: 0, y: LAMP, size: 1.3 }, { x: 0, y: -1.6, size: 0.4 }], pool: 3 },
  paint(ctx) {
    oval(ctx, 0, 0, 1.15, 0.34, ROCK_TONES.face);
    oval(ctx, -0.06, -0.08, 1.06, 0.28, ROCK_TONES.light);
    shaft(ctx, 0.82, 0.52, -3.85, WHITE);
    for (const [top, bottom] of [[-3.1, -2.45], [-1.75, -1.05]]) {
      const at = (y) => 0.82 - (0.3 * y) / -3.85;
      polygon(ctx, '#c4553f', [-at(top), top], [at(top), top], [at(bottom), bottom],
        [-at(bottom), bottom]);
      polygon(ctx, '#e0705a', [-at(top), top], [0.2, top], [0.24, bottom], [-at(bottom), bottom]);
    }
    door(ctx, 0, 0.42, 0.8);
    hole(ctx, 0, -1.9, 0.24, 0.36);
    box(ctx, DARK, -0.72, -3.96, 1.44, 0.14);
    box(ctx, '#4d5a6b', -0.44, -4.62, 0.88, 0.68);
    box(ctx, GLASS, -0.36, -4.58, 0.72, 0.6);
    box(ctx, DARK, -0.03, -4.6, 0.06, 0.64);
    ctx.fillStyle = '#c4553f';
    ctx.beginPath();
    ctx.ellipse(0, -4.6, 0.54, 0.5, 0, Math.PI, 0);
    ctx.fill();
    oval(ctx, 0, -5.12, 0.09, 0.09, '#ffd166');
  },
};

export const tower = {
  shadow: 1.3, box: { left: -1.5, top: -4.1, right: 1.6, bottom: 0.25 },
  light: { glows: [{ x: -0.3, y: -2.3, size: 0.45 }], pool: 2 },
  paint(ctx) {
    shaft(ctx, 1.05, 0.92, -3.1, MASONRY);
    box(ctx, MASONRY.dark, -1.06, -3.3, 1.5, 0.26);
    for (const [x, up] of [[-1.06, 0.5], [-0.56, 0.42], [-0.06, 0.3]]) {
      box(ctx, MASONRY.middle, x, -3.26 - up, 0.34, up + 0.06);
      box(ctx, MASONRY.light, x, -3.26 - up, 0.2, up);
    }
    // Where it has fallen down.
    polygon(ctx, MASONRY.dark, [0.44, -3.1], [0.93, -2.5], [0.93, -3.1]);
    ctx.strokeStyle = 'rgba(60, 60, 58, 0.35)';
    ctx.lineWidth = 0.05;
    ctx.beginPath();
    for (let row = 0; row < 7; row++) {
      for (let i = 0; i < 3; i++) {
        const x = -0.9 + i * 0.62 + (row % 2) * 0.3, y = -0.3 - row * 0.4;
        ctx.moveTo(x, y);
        ctx.lineTo(x + 0.34, y);
      }
    }
    ctx.stroke();
    door(ctx, 0, 0.5, 0.86);
    hole(ctx, -0.3, -2.3, 0.26, 0.46);
    canopy(ctx, [[0.95, -0.4, 0.34], [0.86, -0.9, 0.26], [0.98, -1.3, 0.18]], LEAVES[0]);
    for (const [x, size] of [[1.2, 0.2], [-1.16, 0.16]]) {
      oval(ctx, x, 0, size * 1.3, size * 0.7, MASONRY.dark);
      oval(ctx, x - 0.04, -0.07, size, size * 0.55, MASONRY.light);
    }
  },
};

export const caravan = {
  shadow: 1.4, box: { left: -1.7, top: -2.6, right: 1.7, bottom: 0.25 },
  light: { glows: [{ x: -0.55, y: -1.15, size: 0.5 }, { x: 0.62, y: -1.15, size: 0.5 }], pool: 2.6 },
  paint(ctx) {
    box(ctx, '#2f7f78', -1.4, -1.85, 2.8, 1.5, 0.14);
    box(ctx, '#3f9f92', -1.4, -1.85, 2.4, 1.38, 0.14);
    box(ctx, '#f4d27a', -1.4, -0.62, 2.8, 0.12);
    const roof = (half, top, style) => {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.moveTo(-half, -1.76);
      ctx.bezierCurveTo(-half * 0.9, top, half * 0.9, top, half, -1.76);
      ctx.fill();
    };
    roof(1.62, -2.82, '#a9473a');
    roof(1.4, -2.66, '#cf6550');
    for (const x of [-0.55, 0.62]) {
      box(ctx, '#fbf4e2', x - 0.28, -1.44, 0.56, 0.56);
      box(ctx, '#9cc3d8', x - 0.21, -1.37, 0.42, 0.42);
      oval(ctx, x, -0.86, 0.34, 0.1, '#e2506a');
    }
    for (const x of [-0.86, 0.86]) {
      oval(ctx, x, -0.2, 0.38, 0.38, '#5d4128');
      oval(ctx, x, -0.2, 0.26, 0.26, '#c99b68');
      oval(ctx, x, -0.2, 0.09, 0.09, '#5d4128');
    }
    canopy(ctx, [[-1.5, -0.1, 0.2]], AUTUMN_LEAVES[2]);
  },
};

export const igloo = {
  shadow: 1.7, box: { left: -1.75, top: -1.8, right: 1.9, bottom: 0.3 },
  light: { glows: [{ x: 0.66, y: -0.25, size: 0.6 }], pool: 2.2 },
  paint(ctx) {
    const dome = (half, top, style) => {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.moveTo(-half, 0);
      ctx.bezierCurveTo(-half, top, half, top, half, 0);
      ctx.quadraticCurveTo(0, 0.34, -half, 0);
      ctx.fill();
    };
    dome(1.6, -2.2, '#a9c3d3');
    ctx.save();
    ctx.translate(-0.1, 0);
    dome(1.42, -2.1, '#d6e6ef');
    dome(0.9, -1.95, '#eef6fa');
    ctx.restore();
    ctx.strokeStyle = 'rgba(122, 156, 178, 0.6)';
    ctx.lineWidth = 0.045;
    ctx.beginPath();
    for (const [y, half] of [[-0.4, 1.5], [-0.82, 1.28], [-1.2, 0.9]]) {
      ctx.moveTo(-half, y);
      ctx.quadraticCurveTo(0, y + 0.26, half, y);
    }
    for (const [x, y] of [[-1, -0.25], [-0.5, -0.62], [-0.9, -0.66], [0.1, -1], [-0.4, -1.02],
      [1.1, -0.3], [0.9, -0.72], [0, -0.62]]) {
      ctx.moveTo(x, y - 0.2);
      ctx.lineTo(x, y + 0.18);
    }
    ctx.stroke();
    oval(ctx, 0.7, -0.16, 0.6, 0.56, '#bcd3e0');
    oval(ctx, 0.66, -0.12, 0.52, 0.5, '#dcebf3');
    oval(ctx, 0.7, -0.06, 0.34, 0.38, '#4f6b80');
  },
};

export const pyramid = {
  shadow: 2.1, box: { left: -2.35, top: -3.2, right: 2.35, bottom: 0.45 },
  light: { glows: [{ x: -0.5, y: -0.25, size: 0.45 }], pool: 1.8 },
  paint(ctx) {
    polygon(ctx, '#b98a52', [0, -3.1], [2.25, -0.15], [0.2, 0.4]);
    polygon(ctx, '#ecca8b', [0, -3.1], [-2.25, -0.15], [0.2, 0.4]);
    ctx.strokeStyle = 'rgba(150, 108, 60, 0.5)';
    ctx.lineWidth = 0.05;
    ctx.beginPath();
    for (let i = 1; i < 7; i++) {
      const part = i / 7;
      ctx.moveTo(-2.25 * part, -3.1 + 2.95 * part);
      ctx.lineTo(0.2 * part, -3.1 + 3.5 * part);
      ctx.lineTo(2.25 * part, -3.1 + 2.95 * part);
    }
    ctx.stroke();
    polygon(ctx, '#ffd166', [0, -3.1], [-0.42, -2.55], [0.04, -2.44]);
    polygon(ctx, '#d99f2f', [0, -3.1], [0.42, -2.55], [0.04, -2.44]);
    polygon(ctx, '#6b4a30', [-0.75, 0.06], [-0.72, -0.52], [-0.36, -0.5], [-0.3, 0.2]);
  },
};
