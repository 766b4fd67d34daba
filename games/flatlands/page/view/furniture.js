// The pictures of what people have put beside their paths and on the plaza: lamps, signposts, planters and
// cottages. They are props like those of props.js.

import { LEAVES, STONE_TONES, TRUNK, TRUNK_LIGHT } from './palette.js';
import { box, crown, DARK, fill, GLASS, line, lit, polygon } from './shapes.js';
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

/** A bowl of iron on stones. The fire in it is drawn by fire.js while it burns. */
export const hearth = {
  name: 'hearth', shadow: 0.6, box: { left: -0.74, top: -0.72, right: 0.74, bottom: 0.32 },
  paint(ctx) {
    for (const [x, y] of [[-0.5, 0], [-0.2, 0.14], [0.16, 0.15], [0.48, 0.02]]) {
      oval(ctx, x, y, 0.22, 0.15, '#85837c');
      oval(ctx, x - 0.03, y - 0.04, 0.18, 0.11, '#b4b2aa');
    }
    fill(ctx, '#2b333e', 'M-.62-.5Q-.5.02 0 .06T.62-.5Q0-.3-.62-.5Z');
    fill(ctx, '#4d5a6b', 'M-.62-.5Q-.5.02-.14.04Q-.4-.16-.44-.44Z');
    oval(ctx, 0, -0.5, 0.64, 0.2, '#5c6a7c');
    oval(ctx, 0, -0.48, 0.54, 0.15, '#20262e');
    line(ctx, '#5d4128', 0.13, 'M-.3-.46L.14-.56M.3-.46L-.1-.56');
  },
};

/** A well with a bucket under a roof. */
export const well = {
  name: 'well', shadow: 0.95, box: { left: -1.1, top: -2.5, right: 1.1, bottom: 0.35 },
  light: { glows: [{ x: 0.5, y: -1.3, size: 0.5 }] },
  paint(ctx) {
    box(ctx, TRUNK, -0.78, -1.8, 0.14, 1.4);
    box(ctx, TRUNK, 0.64, -1.8, 0.14, 1.4);
    oval(ctx, 0, -0.5, 0.84, 0.3, '#5f5f5c');
    oval(ctx, 0, -0.44, 0.66, 0.2, '#2f6f9f');
    oval(ctx, -0.1, -0.42, 0.4, 0.08, '#6fb2d0');
    lit(ctx, { dark: '#85837c', middle: '#a5a39b', light: '#c1bfb6' },
      'M-.9-.52Q-.9-.2-.86 0Q0 .46.86 0Q.9-.2.9-.52Q0-.02-.9-.52Z', 0.28, 0);
    line(ctx, 'rgba(80, 78, 72, 0.5)', 0.05, 'M-.6-.2v.3M-.2-.08v.32M.24-.06v.3M.62-.2v.3M-.84-.14Q0 .28.84-.14');
    line(ctx, '#8a6239', 0.1, 'M-.76-1.36H.76');
    line(ctx, '#d9c7a2', 0.05, 'M-.1-1.36V-.86');
    box(ctx, '#8a6239', -0.26, -0.88, 0.32, 0.34, 0.06);
    box(ctx, '#b98a58', -0.26, -0.88, 0.2, 0.34, 0.06);
    line(ctx, DARK, 0.04, 'M.5-1.6v.14');
    box(ctx, GLASS, 0.41, -1.44, 0.18, 0.24, 0.05);
    lit(ctx, { dark: '#8c4a38', middle: '#b5634a', light: '#cc7d5f' },
      'M-1.06-1.66Q-.5-1.9 0-2.46Q.5-1.9 1.06-1.66Q0-1.46-1.06-1.66Z', 0.14, 0.12);
  },
};

/** A board under a roof, with leaves of paper on it. */
export const board = {
  name: 'board', shadow: 0.75, box: { left: -1.35, top: -2.4, right: 1.35, bottom: 0.15 },
  light: { glows: [{ x: 0, y: -1.86, size: 0.55 }] },
  paint(ctx) {
    for (const x of [-1.06, 0.92]) {
      box(ctx, TRUNK, x, -2, 0.16, 2.04, 0.05);
      box(ctx, TRUNK_LIGHT, x, -2, 0.07, 2, 0.05);
    }
    box(ctx, '#7a5438', -0.98, -1.74, 1.98, 1.24, 0.06);
    box(ctx, '#c99b68', -0.9, -1.66, 1.82, 1.08, 0.04);
    [[-0.8, -1.56, 0.44, 0.54], [-0.26, -1.5, 0.5, 0.4], [0.36, -1.58, 0.46, 0.6], [-0.72, -0.94, 0.5, 0.3],
      [-0.1, -1.02, 0.36, 0.38]].forEach(([x, y, w, h], i) => {
      box(ctx, 'rgba(60, 40, 20, 0.25)', x + 0.03, y + 0.04, w, h);
      box(ctx, ['#fff6ea', '#ffe9b0', '#cfe6ef'][i % 3], x, y, w, h);
      box(ctx, 'rgba(90, 80, 70, 0.5)', x + 0.07, y + 0.14, w - 0.14, 0.04);
      ctx.fillRect(x + 0.07, y + 0.22, w - 0.22, 0.04);
      oval(ctx, x + w / 2, y + 0.04, 0.04, 0.04, '#ef476f');
    });
    lit(ctx, { dark: '#23655f', middle: '#2f8379', light: '#43a091' },
      'M-1.3-1.86Q-.7-2.04 0-2.34Q.7-2.04 1.3-1.86Q0-1.66-1.3-1.86Z', 0.12, 0.1);
    oval(ctx, 0, -1.8, 0.1, 0.12, GLASS);
  },
};

/** A bench that is seen from the front, or from behind. */
function bench(name, front) {
  return {
    name, shadow: 0.85, box: { left: -1.1, top: -0.92, right: 1.1, bottom: 0.08 },
    paint(ctx) {
      for (const x of [-0.9, 0.78]) box(ctx, DARK, x, -0.5, 0.12, 0.54, 0.04);
      if (front) for (const y of [-0.9, -0.7]) slat(ctx, y);
      box(ctx, '#8a6239', -1.08, -0.5, 2.16, 0.26, 0.06);
      box(ctx, '#c99b68', -1.08, -0.54, 2.16, 0.2, 0.06);
      if (!front) for (const y of [-0.74, -0.5]) slat(ctx, y);
    },
  };
}

function slat(ctx, y) {
  box(ctx, '#8a6239', -1.04, y + 0.03, 2.08, 0.16, 0.06);
  box(ctx, '#b98a58', -1.04, y, 2.08, 0.14, 0.06);
}

/** A log to sit on, upright or across. */
function log(name, half, deep) {
  return {
    name, shadow: half * 1.1, box: { left: -half - 0.04, top: -0.38, right: half + 0.04, bottom: deep + 0.1 },
    paint(ctx) {
      box(ctx, TRUNK, -half, -0.34, 2 * half, 0.3 + deep, 0.16);
      box(ctx, TRUNK_LIGHT, -half, -0.36, 2 * half, 0.2 + deep, 0.14);
      if (deep > 0) oval(ctx, 0, deep - 0.08, half * 0.86, 0.15, '#d9b383');
      else for (const x of [-half + 0.08, half - 0.08]) oval(ctx, x, -0.2, 0.09, 0.15, '#d9b383');
    },
  };
}

/** Flowers within a low, round wall. */
export const planter = {
  name: 'planter', shadow: 1.15, box: { left: -1.12, top: -1.1, right: 1.12, bottom: 0.36 },
  paint(ctx) {
    fill(ctx, '#a8987c', 'M-1.1-.36Q-1.1.3 0 .34T1.1-.36Q0-.9-1.1-.36Z');
    fill(ctx, '#cfbd9d', 'M-1.1-.36Q-1.1.2-.2.24Q-.6 0-.7-.5Q-.9-.5-1.1-.36Z');
    oval(ctx, 0, -0.36, 1.1, 0.4, '#efe6d2');
    oval(ctx, 0, -0.36, 0.94, 0.3, '#6b4a30');
    crown(ctx, [[-0.6, -0.5, 0.28], [0.6, -0.5, 0.28], [0, -0.66, 0.42], [-0.3, -0.4, 0.3], [0.32, -0.4, 0.3]], LEAVES[1]);
    [[-0.66, -0.6], [-0.36, -0.74], [0, -0.96], [0.34, -0.8], [0.66, -0.58], [0.1, -0.6], [-0.2, -0.44], [0.4, -0.4],
      [-0.5, -0.36]].forEach(([x, y], i) => {
      oval(ctx, x, y, 0.1, 0.09, ['#ef476f', '#ffe38a', '#f7b5cd', '#ffffff'][i % 4]);
      oval(ctx, x, y, 0.035, 0.035, '#f0b429');
    });
  },
};

export const SEATS = [bench('bench0', true), bench('bench1', false), log('log0', 0.24, 0.22), log('log1', 0.62, 0)];

/** A post with two arms beside a path; what it shows is written over it when a player comes near. */
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
