// The pictures of all props that stand: trees, bushes, boulders, reeds, lamps. They are drawn in tiles,
// with the origin at the feet, in three flat shades each and without outlines. standing.js decides
// which of them stands where; a prop on none of its lists is never shown.
//
// A prop with a `light` shines at night: `glows` are its lamps and windows, in tiles from the feet and of the
// colour 'red, green, blue'; `pool` is how many tiles of the ground around its feet they light; and a `beam`
// turns around it that many tiles from the feet. The `moving` part is drawn over the prop in each frame: it
// turns once in `turnMs` from `rest` on, swings by `swing` radians, or rises by `bob` tiles.

import { board, cottage, hearth, lamp, lantern, planter, SEATS, signpost, waymark, well } from './furniture.js';
import { LANDMARKS } from './landmarks.js';
import { AUTUMN_LEAVES, BIRCH_LEAVES, BLOSSOM, CACTUS, DRY, GORSE, HEATHER, LEAVES, PALM, RED_ROCK,
  ROCK_TONES, SNOWY, SNOWY_PINES, SNOWY_ROCK, TRUNK, TRUNK_LIGHT, WILLOW_LEAVES } from './palette.js';
import { box, crown } from './shapes.js';
import { oval } from './sprite.js';

const WOODEN = { dark: TRUNK, light: TRUNK_LIGHT }, BIRCH = { dark: '#b9b3a6', light: '#eeeae0' };

function trunk(ctx, width, height, { dark, light } = WOODEN) {
  ctx.fillStyle = dark;
  ctx.beginPath();
  ctx.moveTo(-width / 2, -height);
  ctx.quadraticCurveTo(-width / 2, -0.1, -width * 0.8, 0);
  ctx.quadraticCurveTo(0, 0.08, width * 0.8, 0);
  ctx.quadraticCurveTo(width / 2, -0.1, width / 2, -height);
  ctx.fill();
  box(ctx, light, -width / 2, -height, width * 0.35, height - 0.06);
}

const ROUND = [[0, -1.5, 0.5], [-0.44, -1.12, 0.42], [0.44, -1.12, 0.42], [0, -0.98, 0.52],
  [-0.26, -1.36, 0.4], [0.28, -1.4, 0.4]];
const SMALL = [[0, -0.98, 0.4], [-0.24, -0.72, 0.32], [0.26, -0.74, 0.32]];
const TALL = [[0, -1.72, 0.36], [0, -1.36, 0.46], [-0.06, -1.02, 0.5], [0.1, -0.98, 0.48]];
const BUSH = [[-0.26, -0.24, 0.26], [0.24, -0.24, 0.26], [0, -0.36, 0.32]];

function tree(name, list, width, height, leaves, shadow, bark = WOODEN) {
  // The box is as tight as possible, because empty parts are copied too whenever a walker is behind it.
  const half = Math.max(...list.map(([x, , r]) => Math.abs(x) + r)) + 0.03;
  const top = Math.min(...list.map(([, y, r]) => y - r)) - 0.03;
  return {
    name, shadow, box: { left: -half, top, right: half, bottom: 0.08 },
    paint(ctx) {
      trunk(ctx, width, height, bark);
      crown(ctx, list, leaves);
    },
  };
}

function pine(name, leaves, scale) {
  const tiers = [[0.66, -0.3, -1.05], [0.54, -0.75, -1.5], [0.4, -1.2, -1.95]];
  return {
    name, shadow: 0.55 * scale,
    box: { left: -0.68 * scale, top: -2 * scale, right: 0.68 * scale, bottom: 0.08 },
    paint(ctx) {
      ctx.scale(scale, scale);
      trunk(ctx, 0.16, 0.4);
      for (const [half, foot, top] of tiers) {
        for (const [dx, narrow, style] of [[0, 1, leaves.dark], [-0.05, 0.78, leaves.middle],
          [-0.14, 0.36, leaves.light]]) {
          ctx.fillStyle = style;
          ctx.beginPath();
          ctx.moveTo(dx * 0.4, top);
          ctx.quadraticCurveTo(dx + half * narrow * 0.5, foot - 0.3, dx + half * narrow, foot);
          ctx.quadraticCurveTo(dx, foot + 0.2, dx - half * narrow, foot);
          ctx.quadraticCurveTo(dx - half * narrow * 0.5, foot - 0.3, dx * 0.4, top);
          ctx.fill();
        }
      }
    },
  };
}

function bush(name, leaves, berries) {
  return {
    name, shadow: 0.42, box: { left: -0.6, top: -0.75, right: 0.6, bottom: 0.1 },
    paint(ctx) {
      crown(ctx, BUSH, leaves);
      for (const [x, y] of berries) oval(ctx, x, y, 0.055, 0.055, '#e2506a');
    },
  };
}

/** @param {string} name @param {number[][]} corners @param {number[][]} facet
 * @param {{ face: string, light: string, rim: string }} tones */
function boulder(name, corners, facet, tones = ROCK_TONES) {
  const polygon = (ctx, points, style) => {
    ctx.fillStyle = style;
    ctx.beginPath();
    points.forEach(([x, y], i) => {
      const [nx, ny] = points[(i + 1) % points.length];
      if (i === 0) ctx.moveTo((x + nx) / 2, (y + ny) / 2);
      const [mx, my] = points[(i + 2) % points.length];
      ctx.quadraticCurveTo(nx, ny, (nx + mx) / 2, (ny + my) / 2);
    });
    ctx.fill();
  };
  return {
    name, shadow: 0.5, box: { left: -0.8, top: -1, right: 0.8, bottom: 0.15 },
    paint(ctx) {
      polygon(ctx, corners, tones.face);
      polygon(ctx, facet, tones.light);
      polygon(ctx, facet.map(([x, y]) => [x * 0.6 - 0.08, y * 0.8 - 0.14]), tones.rim);
    },
  };
}

const fern = {
  name: 'fern', shadow: 0, box: { left: -0.5, top: -0.5, right: 0.5, bottom: 0.1 },
  paint(ctx) {
    ctx.lineCap = 'round';
    ctx.lineWidth = 0.09;
    const { dark, middle, light } = LEAVES[0];
    for (const { x, y, style } of [{ x: -0.4, y: -0.2, style: dark }, { x: 0.4, y: -0.2, style: dark },
      { x: -0.22, y: -0.38, style: middle }, { x: 0.24, y: -0.38, style: middle },
      { x: 0, y: -0.42, style: light }]) {
      ctx.strokeStyle = style;
      ctx.beginPath();
      ctx.moveTo(0, 0);
      ctx.quadraticCurveTo(x * 0.3, y * 1.1, x, y);
      ctx.stroke();
    }
  },
};

const mushrooms = {
  name: 'mushrooms', shadow: 0.2, box: { left: -0.4, top: -0.5, right: 0.4, bottom: 0.1 },
  paint(ctx) {
    for (const [x, y, s] of [[0.12, 0, 0.8], [-0.12, 0.02, 1.1]]) {
      box(ctx, '#f3ead8', x - 0.04 * s, y - 0.2 * s, 0.08 * s, 0.2 * s);
      ctx.fillStyle = '#d9534f';
      ctx.beginPath();
      ctx.ellipse(x, y - 0.18 * s, 0.15 * s, 0.14 * s, 0, Math.PI, 0);
      ctx.fill();
      oval(ctx, x - 0.05 * s, y - 0.24 * s, 0.03 * s, 0.025 * s, '#fff');
      oval(ctx, x + 0.06 * s, y - 0.22 * s, 0.025 * s, 0.02 * s, '#fff');
    }
  },
};

/** The branches of a bare tree, with snow of a colour on them, or without if `snow` is null.
 * @param {string} name @param {string} style @param {string | null} snow */
function bare(name, style, snow) {
  const branches = [[0, -0.5, -0.5, -1.2], [0, -0.7, 0.46, -1.3], [0, -0.9, -0.22, -1.6],
    [0, -1, 0.24, -1.7], [-0.28, -0.86, -0.62, -0.92], [0.26, -1, 0.6, -1]];
  const draw = (ctx, down, width, tone) => {
    ctx.strokeStyle = tone;
    ctx.lineWidth = width;
    ctx.beginPath();
    for (const [x0, y0, x1, y1] of branches) {
      ctx.moveTo(x0, y0 + down);
      ctx.quadraticCurveTo((x0 + x1) / 2, y0 - 0.1 + down, x1, y1 + down);
    }
    ctx.stroke();
  };
  return {
    name, shadow: 0.4, box: { left: -0.75, top: -1.85, right: 0.75, bottom: 0.08 },
    paint(ctx) {
      trunk(ctx, 0.2, 1, { dark: style, light: style });
      ctx.lineCap = 'round';
      draw(ctx, 0, 0.1, style);
      if (snow !== null) draw(ctx, -0.05, 0.06, snow);
    },
  };
}

/** A low bush with flowers of one colour. */
function blooming(name, leaves, flowers) {
  return {
    name, shadow: 0.4, box: { left: -0.6, top: -0.75, right: 0.6, bottom: 0.1 },
    paint(ctx) {
      crown(ctx, BUSH, leaves);
      [[-0.36, -0.3], [-0.18, -0.5], [0.04, -0.56], [0.24, -0.42], [0.36, -0.2], [0, -0.28],
        [-0.2, -0.16], [0.16, -0.1]].forEach(([x, y]) => oval(ctx, x, y, 0.065, 0.055, flowers));
    },
  };
}

const willow = {
  name: 'willow', shadow: 0.75, box: { left: -1.02, top: -2, right: 1.02, bottom: 0.1 },
  paint(ctx) {
    trunk(ctx, 0.26, 0.9);
    crown(ctx, [[0, -1.46, 0.5], [-0.46, -1.2, 0.44], [0.46, -1.2, 0.44], [0, -1.16, 0.5]],
      WILLOW_LEAVES);
    ctx.lineCap = 'round';
    [[-0.86, -1.1, 0.8], [-0.6, -0.92, 0.82], [-0.34, -0.84, 0.6], [0.3, -0.84, 0.56],
      [0.56, -0.92, 0.8], [0.86, -1.1, 0.84]].forEach(([x, y, length], i) => {
      ctx.strokeStyle = i % 2 ? WILLOW_LEAVES.middle : WILLOW_LEAVES.dark;
      ctx.lineWidth = 0.13;
      ctx.beginPath();
      ctx.moveTo(x * 0.86, y - 0.2);
      ctx.quadraticCurveTo(x * 1.08, y + length * 0.3, x, y + length);
      ctx.stroke();
    });
  },
};

function cactus(name, arms) {
  return {
    name, shadow: 0.34, box: { left: -0.66, top: -1.65, right: 0.66, bottom: 0.1 },
    paint(ctx) {
      ctx.lineCap = ctx.lineJoin = 'round';
      for (const { dx, width, style } of [{ dx: 0, width: 0.36, style: CACTUS.dark },
        { dx: -0.03, width: 0.26, style: CACTUS.middle },
        { dx: -0.08, width: 0.07, style: CACTUS.light }]) {
        ctx.strokeStyle = style;
        ctx.lineWidth = width;
        ctx.beginPath();
        ctx.moveTo(dx, -0.12);
        ctx.lineTo(dx, -1.42);
        ctx.stroke();
        ctx.lineWidth = width * 0.72;
        for (const [side, low, high] of arms) {
          ctx.beginPath();
          ctx.moveTo(dx + side * 0.1, -low);
          ctx.quadraticCurveTo(dx + side * 0.44, -low, dx + side * 0.44, -low - 0.16);
          ctx.lineTo(dx + side * 0.44, -high);
          ctx.stroke();
        }
      }
      oval(ctx, -0.02, -1.56, 0.1, 0.07, '#f58aa8');
    },
  };
}

const palm = {
  name: 'palm', shadow: 0.6, box: { left: -1.1, top: -2.5, right: 1.1, bottom: 0.1 },
  paint(ctx) {
    ctx.lineCap = 'round';
    for (const { dx, width, style } of [{ dx: 0, width: 0.24, style: '#8a6239' },
      { dx: -0.05, width: 0.1, style: '#a87c4c' }]) {
      ctx.strokeStyle = style;
      ctx.lineWidth = width;
      ctx.beginPath();
      ctx.moveTo(dx, -0.08);
      ctx.quadraticCurveTo(dx - 0.06, -1, dx + 0.16, -1.8);
      ctx.stroke();
    }
    const { dark, middle, light } = PALM;
    for (const { x, y, style } of [{ x: -0.98, y: -1.42, style: dark }, { x: 1, y: -1.36, style: dark },
      { x: -0.84, y: -1.98, style: middle }, { x: 0.94, y: -1.94, style: middle },
      { x: -0.34, y: -1.24, style: dark }, { x: 0.5, y: -1.14, style: middle },
      { x: -0.3, y: -2.36, style: light }, { x: 0.5, y: -2.34, style: light }]) {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.moveTo(0.16, -1.86);
      ctx.quadraticCurveTo((x + 0.16) / 2, Math.min(y, -1.86) - 0.34, x, y);
      ctx.quadraticCurveTo((x + 0.16) / 2, Math.min(y, -1.86) + 0.06, 0.16, -1.86);
      ctx.fill();
    }
    for (const x of [0.06, 0.26]) oval(ctx, x, -1.72, 0.09, 0.09, '#7a5438');
  },
};

const stump = {
  name: 'stump', shadow: 0.32, box: { left: -0.4, top: -0.5, right: 0.4, bottom: 0.15 },
  paint(ctx) {
    box(ctx, TRUNK, -0.22, -0.26, 0.44, 0.26);
    oval(ctx, 0, 0, 0.25, 0.09, TRUNK);
    oval(ctx, 0, -0.26, 0.22, 0.12, '#d9b383');
    oval(ctx, 0, -0.26, 0.12, 0.06, '#c39a68');
  },
};

const reeds = {
  name: 'reeds', shadow: 0, box: { left: -0.5, top: -0.8, right: 0.5, bottom: 0.1 },
  paint(ctx) {
    ctx.lineCap = 'round';
    [[-0.28, -0.5], [-0.12, -0.68], [0.06, -0.56], [0.24, -0.7]].forEach(([x, y], i) => {
      ctx.strokeStyle = i % 2 ? LEAVES[0].middle : LEAVES[0].dark;
      ctx.lineWidth = 0.06;
      ctx.beginPath();
      ctx.moveTo(x * 0.6, 0);
      ctx.quadraticCurveTo(x * 0.7, y * 0.6, x, y);
      ctx.stroke();
      if (i % 2) oval(ctx, x, y, 0.05, 0.12, '#8a6239');
    });
  },
};

const cattails = {
  name: 'cattails', shadow: 0.2, box: { left: -0.5, top: -1, right: 0.5, bottom: 0.1 },
  paint(ctx) {
    ctx.lineCap = 'round';
    [[-0.34, -0.62], [-0.16, -0.9], [0.04, -0.7], [0.2, -0.94], [0.36, -0.6]].forEach(([x, y], i) => {
      ctx.strokeStyle = i % 2 ? WILLOW_LEAVES.middle : WILLOW_LEAVES.dark;
      ctx.lineWidth = 0.07;
      ctx.beginPath();
      ctx.moveTo(x * 0.4, 0);
      ctx.quadraticCurveTo(x * 0.6, y * 0.6, x, y);
      ctx.stroke();
      if (i % 2) oval(ctx, x, y + 0.04, 0.06, 0.15, '#7d5836');
    });
  },
};

/** @typedef {{ x: number, y: number, size: number, colour?: string }} Glow */
/** @typedef {{ box: { left: number, top: number, right: number, bottom: number },
 *   paint: (ctx: CanvasRenderingContext2D) => void }} Picture */
/** @typedef {Picture & { x: number, y: number, turnMs?: number, rest?: number, swingMs?: number, swing?: number,
 *   bobMs?: number, bob?: number }} Moving */
/** @typedef {Picture & { name: string, shadow: number, moving?: Moving,
 *   light?: { glows: Glow[], pool?: number, beam?: number } }} Prop */
/** A prop of a landmark, `x` and `y` tiles from the landmark's feet. @typedef {Prop & { x: number, y: number }} Part */

/** @type {Prop[]} */
export const PROPS = [
  ...LEAVES.map((leaves, i) => tree('round' + i, ROUND, 0.24, 0.6, leaves, 0.72)),
  ...LEAVES.map((leaves, i) => tree('small' + i, SMALL, 0.18, 0.5, leaves, 0.46)),
  ...LEAVES.map((leaves, i) => tree('tall' + i, TALL, 0.2, 0.6, leaves, 0.54)),
  tree('blossom', ROUND, 0.24, 0.6, BLOSSOM, 0.72),
  pine('pine0', LEAVES[2], 1), pine('pine1', LEAVES[0], 0.86),
  bush('bush0', LEAVES[0], []), bush('bush1', LEAVES[1], []),
  bush('berries', LEAVES[0], [[-0.3, -0.3], [0.06, -0.44], [0.26, -0.22], [-0.06, -0.16]]),
  boulder('boulder0', [[-0.5, 0], [-0.46, -0.5], [-0.1, -0.74], [0.34, -0.56], [0.54, -0.04],
    [0, 0.16]], [[-0.36, -0.36], [-0.1, -0.66], [0.26, -0.5], [0.08, -0.24]]),
  boulder('boulder1', [[-0.36, 0.04], [-0.4, -0.3], [0, -0.5], [0.38, -0.28], [0.4, 0.04]],
    [[-0.3, -0.24], [0, -0.44], [0.22, -0.28], [0, -0.12]]),
  boulder('boulder2', [[-0.66, 0.04], [-0.6, -0.42], [-0.2, -0.9], [0.14, -0.64], [0.56, -0.44],
    [0.66, 0.06]], [[-0.46, -0.4], [-0.22, -0.8], [0.08, -0.56], [-0.1, -0.28]]),
  boulder('stone', [[-0.22, 0.02], [-0.2, -0.2], [0.04, -0.3], [0.24, -0.14], [0.22, 0.04]],
    [[-0.16, -0.14], [0.02, -0.25], [0.14, -0.14], [0, -0.06]]),
  fern, mushrooms, stump, reeds, lamp, planter, waymark, lantern,
  ...AUTUMN_LEAVES.flatMap((leaves, i) => [tree('autumnRound' + i, ROUND, 0.24, 0.6, leaves, 0.72),
    tree('autumnTall' + i, TALL, 0.2, 0.6, leaves, 0.54),
    tree('autumnSmall' + i, SMALL, 0.18, 0.5, leaves, 0.46)]),
  ...BIRCH_LEAVES.map((leaves, i) => tree('birch' + i, TALL, 0.17, 0.9, leaves, 0.5, BIRCH)),
  ...HEATHER.map((leaves, i) => blooming('heather' + i, leaves, leaves.light)),
  blooming('gorse', { dark: GORSE.dark, middle: GORSE.middle, light: '#a8ad4a' }, GORSE.light),
  willow, bare('dead', '#6b5b4a', null), cattails,
  cactus('cactus0', [[-1, 0.5, 0.95], [1, 0.72, 1.2]]), cactus('cactus1', [[1, 0.5, 1]]), palm,
  blooming('dryBush', DRY, '#dcc78c'),
  ...SNOWY_PINES.map((leaves, i) => pine('snowyPine' + i, leaves, 1 - 0.16 * i)),
  bare('bareSnowy', '#6d5a4c', '#f4f8fb'), bush('snowyBush', SNOWY, []),
  tree('frosted', ROUND, 0.24, 0.6, SNOWY, 0.72),
  ...[{ tones: RED_ROCK, name: 'red' }, { tones: SNOWY_ROCK, name: 'snowy' }].flatMap(
    ({ tones, name }) => [
    boulder(name + 'Boulder', [[-0.5, 0], [-0.46, -0.5], [-0.1, -0.74], [0.34, -0.56], [0.54, -0.04],
      [0, 0.16]], [[-0.36, -0.36], [-0.1, -0.66], [0.26, -0.5], [0.08, -0.24]], tones),
    boulder(name + 'Stone', [[-0.22, 0.02], [-0.2, -0.2], [0.04, -0.3], [0.24, -0.14], [0.22, 0.04]],
      [[-0.16, -0.14], [0.02, -0.25], [0.14, -0.14], [0, -0.06]], tones)]),
  cottage('cottage0', { dark: '#8c4a38', middle: '#b5634a', light: '#cc7d5f' }),
  cottage('cottage1', { dark: '#8a6a3a', middle: '#bd9653', light: '#d6b470' }),
  signpost, hearth, well, board, ...SEATS, ...Object.values(LANDMARKS).flat(),
];

/** The number of each prop by its name: its index into PROPS plus 1.
 * @type {Record<string, number>} */
export const NUMBERS = Object.fromEntries(PROPS.map(({ name }, i) => [name, i + 1]));

/** Add more props.
 * @param {any[]} more */
export function addProps(more) {
  for (const prop of more) NUMBERS[prop.name] = PROPS.push(prop);
}
