// The pictures of what people have put beside their paths and on the plaza: lamps, signposts, planters and
// cottages. They are props like those of props.js.

import { LEAVES, STONE_TONES, TRUNK, TRUNK_LIGHT } from './palette.js';
import { box, crown, DARK, GLASS, polygon } from './shapes.js';
import { oval } from './sprite.js';

export const lamp = {
  name: 'lamp', shadow: 0.2, light: { glows: [{ x: 0, y: -1.42, size: 0.75 }], pool: 3.2 }, box: { left: -0.4, top: -1.75, right: 0.4, bottom: 0.12 },
  paint(ctx) {
    oval(ctx, 0, 0, 0.17, 0.08, DARK);
    box(ctx, '#4d5a6b', -0.05, -1.25, 0.1, 1.25);
    oval(ctx, 0, -1.42, 0.21, 0.24, '#fff1c1');
    oval(ctx, -0.04, -1.44, 0.13, 0.16, '#ffe08a');
    box(ctx, DARK, -0.15, -1.24, 0.3, 0.07);
    ctx.beginPath();
    ctx.moveTo(-0.26, -1.56);
    ctx.quadraticCurveTo(0, -1.6, 0, -1.74);
    ctx.quadraticCurveTo(0, -1.6, 0.26, -1.56);
    ctx.fill();
  },
};

/** A lantern on a post, beside a path. */
export const lantern = {
  name: 'lantern', shadow: 0.2, light: { glows: [{ x: 0.3, y: -0.92, size: 0.6 }], pool: 2.8 },
  box: { left: -0.25, top: -1.4, right: 0.55, bottom: 0.12 },
  paint(ctx) {
    box(ctx, TRUNK, -0.07, -1.3, 0.14, 1.32);
    box(ctx, TRUNK_LIGHT, -0.07, -1.3, 0.05, 1.3);
    box(ctx, TRUNK, -0.16, -1.24, 0.56, 0.09);
    box(ctx, DARK, 0.285, -1.16, 0.03, 0.1);
    ctx.beginPath();
    ctx.moveTo(0.14, -1.04);
    ctx.lineTo(0.3, -1.14);
    ctx.lineTo(0.46, -1.04);
    ctx.fill();
    ctx.fillRect(0.18, -0.78, 0.24, 0.06);
    box(ctx, GLASS, 0.18, -1.04, 0.24, 0.27, 0.05);
  },
};

/** Draw a window with a cross, its middle at (x, y). */
function pane(ctx, x, y, half) {
  box(ctx, '#7a5438', x - half - 0.05, y - half - 0.05, 2 * half + 0.1, 2 * half + 0.1);
  box(ctx, '#9cc3d8', x - half, y - half, 2 * half, 2 * half);
  box(ctx, '#c9e2ec', x - half, y - half, half * 0.9, half * 0.9);
  box(ctx, '#f4ead2', x - 0.02, y - half, 0.04, 2 * half);
  ctx.fillRect(x - half, y - 0.02, 2 * half, 0.04);
}

/** A cottage with two windows and a chimney. */
export function cottage(name, roof) {
  return {
    name, shadow: 1.3,
    light: { glows: [{ x: -0.68, y: -0.6, size: 0.5 }, { x: 0.68, y: -0.6, size: 0.5 }], pool: 2.2 },
    box: { left: -1.5, top: -2.75, right: 1.5, bottom: 0.15 },
    paint(ctx) {
      box(ctx, '#8f7a63', 0.52, -2.62, 0.36, 0.9);
      box(ctx, '#a8917a', 0.47, -2.68, 0.46, 0.14);
      box(ctx, '#d9c7a2', -1.12, -1.2, 2.24, 1.22);
      box(ctx, '#f1e5c8', -1.12, -1.2, 2.24, 1.06);
      box(ctx, 'rgba(90, 66, 40, 0.22)', -1.12, -1.2, 2.24, 0.22);
      pane(ctx, -0.68, -0.6, 0.2);
      pane(ctx, 0.68, -0.6, 0.2);
      box(ctx, '#7a5438', -0.26, -0.86, 0.52, 0.88, [0.26, 0.26, 0, 0]);
      box(ctx, '#a06f45', -0.2, -0.8, 0.4, 0.82, [0.2, 0.2, 0, 0]);
      oval(ctx, 0.11, -0.38, 0.035, 0.035, '#f4d27a');
      slope(ctx, roof.dark, 1.42, -1, 0.86, -2.3);
      slope(ctx, roof.middle, 1.42, -1.1, 0.84, -2.34);
      slope(ctx, roof.light, 1.08, -1.72, 0.84, -2.34);
    },
  };
}

/** Draw a roof, `low` tiles wide to each side at the eaves and `high` at its ridge. */
function slope(ctx, style, low, eaves, high, ridge) {
  ctx.fillStyle = style;
  ctx.beginPath();
  ctx.moveTo(-low, eaves);
  ctx.quadraticCurveTo(-low * 0.86, (eaves + ridge) / 2, -high, ridge);
  ctx.quadraticCurveTo(0, ridge - 0.1, high, ridge);
  ctx.quadraticCurveTo(low * 0.86, (eaves + ridge) / 2, low, eaves);
  ctx.quadraticCurveTo(0, eaves + 0.12, -low, eaves);
  ctx.fill();
}

export const planter = {
  name: 'planter', shadow: 0.55, box: { left: -0.75, top: -1, right: 0.75, bottom: 0.2 },
  paint(ctx) {
    crown(ctx, [[-0.28, -0.5, 0.26], [0.28, -0.5, 0.26], [0, -0.6, 0.3]], LEAVES[1]);
    for (const [x, y, style] of [[-0.3, -0.6, '#f7b5cd'], [0.05, -0.78, '#ffe38a'],
      [0.3, -0.58, '#ffffff'], [-0.08, -0.52, '#ef476f'], [0.16, -0.46, '#f7b5cd']]) {
      oval(ctx, x, y, 0.08, 0.08, style);
    }
    ctx.fillStyle = '#a9714b';
    ctx.beginPath();
    ctx.moveTo(-0.5, -0.38);
    ctx.lineTo(0.5, -0.38);
    ctx.lineTo(0.4, 0.02);
    ctx.quadraticCurveTo(0, 0.12, -0.4, 0.02);
    ctx.fill();
    box(ctx, '#c08a60', -0.54, -0.44, 1.08, 0.13);
  },
};

/** Draw the signpost in the middle of the world: arms along the four paths, and a pennant. */
export const waymark = {
  name: 'waymark', shadow: 0.3, box: { left: -1.1, top: -3.1, right: 1.1, bottom: 0.15 },
  paint(ctx) {
    oval(ctx, 0, 0, 0.24, 0.11, '#5d4128');
    box(ctx, TRUNK, -0.09, -2.7, 0.18, 2.7);
    box(ctx, TRUNK_LIGHT, -0.09, -2.7, 0.07, 2.66);
    const arm = (y, side, style) => {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.moveTo(-0.16 * side, y - 0.14);
      ctx.lineTo(0.72 * side, y - 0.14);
      ctx.lineTo(0.9 * side, y);
      ctx.lineTo(0.72 * side, y + 0.14);
      ctx.lineTo(-0.16 * side, y + 0.14);
      ctx.fill();
    };
    arm(-1.32, -1, '#118ab2');
    arm(-1.66, 1, '#06b98b');
    ctx.fillStyle = '#ef476f';
    ctx.beginPath();
    ctx.moveTo(0.05, -2.66);
    ctx.quadraticCurveTo(0.45, -2.75, 0.95, -2.42);
    ctx.quadraticCurveTo(0.5, -2.4, 0.05, -2.14);
    ctx.fill();
    oval(ctx, 0, -2.76, 0.13, 0.13, '#ffd166');
  },
};

/** A post with two arms beside a path; what it tells is written over it as one comes near. */
export const signpost = {
  name: 'signpost', shadow: 0.22, box: { left: -0.75, top: -1.75, right: 0.75, bottom: 0.12 },
  paint(ctx) {
    box(ctx, TRUNK, -0.07, -1.65, 0.14, 1.68);
    box(ctx, TRUNK_LIGHT, -0.07, -1.65, 0.05, 1.64);
    for (const [y, side] of [[-1.4, 1], [-1.02, -1]]) {
      polygon(ctx, '#a27445', [-0.2 * side, y - 0.15], [0.5 * side, y - 0.15], [0.7 * side, y],
        [0.5 * side, y + 0.15], [-0.2 * side, y + 0.15]);
      polygon(ctx, '#d9b07c', [-0.2 * side, y - 0.15], [0.5 * side, y - 0.15], [0.66 * side, y - 0.02],
        [0.5 * side, y + 0.1], [-0.2 * side, y + 0.1]);
      ctx.fillStyle = '#8a6239';
      for (const down of [-0.07, 0.02]) {
        ctx.fillRect(side > 0 ? -0.1 : -0.46, y + down, 0.56, 0.035);
      }
    }
    oval(ctx, 0, -1.67, 0.1, 0.07, STONE_TONES.gold);
  },
};
