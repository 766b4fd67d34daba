// The pictures of all other landmarks: see landmarks.js.

import { LEAVES, ROCK_TONES, TRUNK, TRUNK_LIGHT } from './palette.js';
import { box, canopy, DARK, discs, door, fill, GLASS, line, lit } from './shapes.js';
import { oval } from './sprite.js';

const STONE = { dark: '#71716c', middle: '#94948e', light: '#adada6' };
const RUNE = '120, 235, 220', SPORE = '130, 240, 220';
const HULL = { dark: '#553823', middle: '#74502f', light: '#916640' };
const CLOTH = { dark: '#d3c29a', middle: '#ece0c2', light: '#f8f0dc' };

/** Draw an upright stone, its foot at (x, y), which leans by `lean` tiles. */
function upright(ctx, x, y, half, height, lean) {
  ctx.save();
  ctx.translate(x, y);
  lit(ctx, STONE, `M${-half} 0Q${-half * 1.1 + lean} ${-height * 0.6} ${-half * 0.8 + lean} ${-height * 0.95}`
    + `Q${lean} ${-height * 1.06} ${half * 0.85 + lean} ${-height * 0.93}Q${half + lean} ${-height * 0.5} ${half} 0`
    + `Q0 ${half * 0.4} ${-half} 0Z`, half * 0.3, 0.05);
  oval(ctx, -half * 0.3 + lean * 0.7, -height * 0.72, half * 0.28, height * 0.09, ROCK_TONES.rim);
  ctx.restore();
}

/** Draw a stone that lies across others; (x, y) is the left end of its lower edge. */
function lintel(ctx, x, y, width, height) {
  ctx.save();
  ctx.translate(x, y);
  lit(ctx, STONE, `M0-.04Q-.08 ${-height} .14 ${-height}L${width - 0.16} ${-height - 0.06}Q${width + 0.06} ${-height} ${width} 0`
    + `Q${width / 2} .1 0-.04Z`, 0.1, 0.16);
  ctx.restore();
}

/** Draw a sign that is carved into a stone. */
function rune(ctx, x, y) {
  line(ctx, '#5fc9bd', 0.07, `M${x} ${y - 0.26}v.52M${x} ${y - 0.14}l.16 .14M${x} ${y + 0.02}l-.14 .12`);
}

const RUNES = [[-1.02, -2.6], [1.04, -2.4], [0, -5.16]];

/** The stones of a ring, from the farthest to the nearest: walkers in it stand between them. */
const stones = [
  { y: -1.7, x: 0, shadow: 2.6, box: { left: -2.9, top: -3.7, right: 2.9, bottom: 0.3 }, paint(ctx) {
    upright(ctx, -2.3, 0, 0.4, 2.9, 0.05);
    upright(ctx, -1, -0.16, 0.38, 2.9, 0);
    upright(ctx, 1.02, -0.16, 0.38, 2.95, 0);
    upright(ctx, 2.3, 0, 0.4, 2.6, -0.1);
    lintel(ctx, -2.76, -2.76, 2.2, 0.5);
  } },
  { y: 0, x: 0, shadow: 1.7, box: { left: -1.9, top: -6, right: 1.9, bottom: 0.4 },
    light: { glows: RUNES.map(([x, y]) => ({ x, y, size: 0.8, colour: RUNE })), pool: 4.4 }, paint(ctx) {
      upright(ctx, -1.02, 0, 0.6, 4.9, 0.1);
      upright(ctx, 1.02, 0, 0.6, 4.9, -0.08);
      lintel(ctx, -1.72, -4.7, 3.5, 0.86);
      for (const [x, y] of RUNES) rune(ctx, x, y);
      oval(ctx, 0.5, -5.5, 0.5, 0.1, ROCK_TONES.moss);
      oval(ctx, -1.1, -0.1, 0.5, 0.16, ROCK_TONES.moss);
    } },
  ...[[-2.5, -0.4, 0.12, -0.06], [2.5, 0.4, -0.16, 0.05]].map(([x, out, lean, low]) => (
    { y: 0.9, x, shadow: 0, box: { left: -1, top: -3.1, right: 1, bottom: 0.4 }, paint(ctx) {
      for (const [dx, dy, height, by] of [[out, -0.6, 2.4, lean], [-out, 0.1, 1.6, low]]) {
        oval(ctx, dx + 0.1, dy + 0.04, 0.58, 0.2, 'rgba(32, 46, 38, 0.26)');
        upright(ctx, dx, dy, 0.42, height, by);
      }
    } })),
];

const wreck = {
  shadow: 3.4, box: { left: -4, top: -7.4, right: 3.8, bottom: 0.5 },
  light: { glows: [{ x: 2.15, y: -2.25, size: 0.6 }, { x: 2.9, y: -2.32, size: 0.6 }, { x: -3.42, y: -3.06, size: 0.6 }], pool: 4.2 },
  paint(ctx) {
    // The masts.
    line(ctx, HULL.dark, 0.3, 'M.3-1.8Q.1-4.4-.5-7.1');
    line(ctx, HULL.light, 0.1, 'M.22-1.8Q.02-4.4-.58-7');
    line(ctx, HULL.dark, 0.22, 'M-2-1.8L-2.36-3.9');
    line(ctx, HULL.middle, 0.14, 'M-2.2-5.75L1.5-6.5');
    lit(ctx, CLOTH, 'M-2.1-5.7L1.42-6.42Q1.9-5 1.3-3.5L.7-4L.5-3.3L-.2-3.86L-.9-3.1L-1.2-3.8L-1.9-3.4Q-1.7-4.6-2.1-5.7Z', 0.22, 0.16);
    fill(ctx, '#b9a577', 'M-.9-5.2l.5-.06l-.04 .5l-.4 .06ZM.6-4.9l.5-.1l.02 .4l-.46 .1Z');
    line(ctx, 'rgba(70, 50, 30, 0.7)', 0.04, 'M-.5-7L-3.5-1.9M-.5-7L2.6-2.6');
    fill(ctx, '#3c4654', 'M-.5-7.1Q-.1-7.4.5-7Q0-6.9-.44-6.6Z');
    // The hull, with a castle at its stern.
    fill(ctx, HULL.dark, 'M1.2-1.4L1.3-2.9L3.6-3.3L3.5-1Z');
    fill(ctx, HULL.middle, 'M1.2-1.4L1.3-2.9L3-3.2L2.9-1Z');
    line(ctx, '#d9b07c', 0.12, 'M1.3-2.92L3.62-3.3');
    for (const [x, y] of [[2.15, -2.25], [2.9, -2.32]]) {
      box(ctx, '#d9b07c', x - 0.28, y - 0.34, 0.56, 0.62, 0.06);
      box(ctx, GLASS, x - 0.2, y - 0.26, 0.4, 0.46, 0.04);
      box(ctx, '#8a6239', x - 0.02, y - 0.26, 0.05, 0.46);
    }
    lit(ctx, HULL, 'M-3.7-2.5Q-3.2-.1-1.7.24H1.9Q3.3 0 3.6-1.7Q.4-1-1.6-1.5T-3.7-2.5Z', 0.1, 0.5);
    line(ctx, 'rgba(50, 32, 18, 0.6)', 0.07, 'M-3.2-1.5Q-.6-.2 3.4-.98M-2.7-.8Q-.4.3 3-.46M-2-.14Q.4.5 2.4-.04');
    line(ctx, '#a97c4e', 0.17, 'M-3.74-2.52Q-2.9-1.9-1.6-1.5T3.62-1.7');
    line(ctx, HULL.middle, 0.2, 'M-3.3-2.3L-3.86-3.5');
    // Its ribs are seen where the rock has broken it.
    fill(ctx, '#33241a', 'M-1.1-1L-.4-.86L-.1-1.02L.6-.78L.9-.2L.3.06L-.3-.06L-.9 .04L-1.2-.4Z');
    line(ctx, HULL.light, 0.12, 'M-.66-.96Q-.8-.4-.5 0M.04-.94Q-.06-.4.1.02M.56-.76Q.5-.4.6-.04');
    line(ctx, DARK, 0.05, 'M-3.86-3.5h.44v.2');
    box(ctx, DARK, -3.57, -3.32, 0.3, 0.1, 0.03);
    box(ctx, GLASS, -3.54, -3.22, 0.24, 0.32, 0.05);
    canopy(ctx, [[2.4, 0.1, 0.22], [-1.9, 0.16, 0.2]], LEAVES[2]);
  },
};

/** What has been washed ashore from the wreck. */
const cargo = {
  x: -2.2, y: 0.9, shadow: 0.8, box: { left: -1.1, top: -0.9, right: 1.1, bottom: 0.25 },
  paint(ctx) {
    box(ctx, '#6b4a30', -0.98, -0.72, 0.66, 0.76, 0.2);
    box(ctx, '#8f6441', -0.98, -0.72, 0.4, 0.76, 0.2);
    box(ctx, '#c9a227', -0.98, -0.54, 0.66, 0.08);
    box(ctx, '#c9a227', -0.98, -0.22, 0.66, 0.08);
    box(ctx, '#5d4128', 0.02, -0.44, 0.86, 0.5, 0.06);
    box(ctx, '#8a6239', 0.02, -0.44, 0.6, 0.5, 0.06);
    fill(ctx, '#6b4a30', 'M-.02-.42Q.02-.76.45-.76T.92-.42Z');
    box(ctx, '#ffd166', 0.36, -0.48, 0.18, 0.18, 0.03);
  },
};

const balloon = {
  shadow: 1.9, box: { left: -2.4, top: -1.2, right: 2.4, bottom: 0.4 },
  light: { glows: [{ x: 0, y: -2.7, size: 1, colour: '255, 180, 90' }, { x: 0, y: -5.2, size: 3.1, colour: '255, 150, 90' }], pool: 5 },
  paint(ctx) {
    line(ctx, '#7a5438', 0.06, 'M-2-.1L-.56-1.1M2-.1L.56-1.1');
    for (const x of [-2.02, 2.02]) {
      oval(ctx, x, 0, 0.36, 0.15, '#8a6239');
      fill(ctx, '#b98a58', `M${x - 0.32} 0Q${x - 0.36}-.46 ${x}-.5Q${x + 0.36}-.46 ${x + 0.32} 0Q${x} .1 ${x - 0.32} 0Z`);
      fill(ctx, '#d9b07c', `M${x - 0.32} 0Q${x - 0.36}-.46 ${x}-.5Q${x - 0.1}-.2 ${x - 0.06} .06Z`);
    }
    line(ctx, '#8a6239', 0.1, 'M-1.1.2H1.1M-1.1.2V-.1M1.1.2V-.1');
  },
  moving: { x: 0, y: -0.5, bobMs: 5200, bob: 0.16, box: { left: -3, top: -7.7, right: 3, bottom: 0.1 },
    paint(ctx) {
      line(ctx, '#7a5438', 0.06, 'M-.85-2.1L-.6-1.2M-.3-2L-.24-1.2M.3-2L.24-1.2M.85-2.1L.6-1.2');
      ['#c23b3f', '#f3e2bd', '#e05a4f', '#ffefcf'].forEach((style, i) => {
        const x = 2.85 - 0.8 * i;
        fill(ctx, style, `M0-7.5C${x} -7.5 ${x * 1.12} -5.6 ${x * 0.86} -4.3C${x * 0.7} -3.3 ${x * 0.4} -2.6 ${x * 0.3} -2.05`
          + `Q0-1.9 ${-x * 0.3} -2.05C${-x * 0.4} -2.6 ${-x * 0.7} -3.3 ${-x * 0.86} -4.3C${-x * 1.12} -5.6 ${-x} -7.5 0-7.5Z`);
      });
      ctx.save();
      ctx.clip(new Path2D('M0-7.5C2.85-7.5 3.2-5.6 2.45-4.3C2-3.3 1.14-2.6.86-2.05Q0-1.9-.86-2.05C-1.14-2.6-2-3.3-2.45-4.3'
        + 'C-3.2-5.6-2.85-7.5 0-7.5Z'));
      fill(ctx, '#2f8fb0', 'M-3-5.06Q0-4.3 3-5.06V-4.3Q0-3.5-3-4.3Z');
      for (let i = -3; i < 4; i++) {
        const x = i * 0.78, y = -4.34 - 0.06 * i * i;
        fill(ctx, '#ffd166', `M${x} ${y - 0.28}l.2 .28l-.2 .28l-.2-.28Z`);
      }
      fill(ctx, 'rgba(70, 20, 40, 0.2)', 'M3-8V-2H.4Q3-4 2-7.4Z');
      ctx.restore();
      oval(ctx, -1.2, -6.1, 0.3, 0.74, 'rgba(255, 255, 255, 0.45)', 0.4);
      box(ctx, '#6b4a30', -0.9, -2.12, 1.8, 0.14, 0.06);
      box(ctx, '#8a6239', -0.72, -1.2, 1.44, 1.1, 0.26);
      box(ctx, '#b98a58', -0.72, -1.2, 1, 1.04, 0.26);
      line(ctx, '#8a6239', 0.05, 'M-.66-.9H.66M-.66-.62H.66M-.62-.36H.62M-.3-1.14V-.16M.1-1.14V-.16');
      box(ctx, '#5d4128', -0.8, -1.3, 1.6, 0.2, 0.1);
      oval(ctx, 0, -2, 0.16, 0.2, '#ffb04d');
    } },
};

const LANTERNS = [[-2.3, -2.5], [-1.2, -2.3], [1.5, -2.35], [2.5, -2.6]];

const trunk = {
  shadow: 3.1, box: { left: -2.5, top: -4.3, right: 2.5, bottom: 0.5 },
  light: { glows: [{ x: 0.36, y: -2, size: 0.5 }, { x: 0, y: -0.5, size: 0.6 }], pool: 5 },
  paint(ctx) {
    const bark = { dark: '#664430', middle: TRUNK, light: TRUNK_LIGHT };
    lit(ctx, bark, 'M-1-4.2Q-.8-1.4-1.1-.8T-2.4.1Q-1.5.3-1 .1Q-.4.5 0 .3Q.5.5 1 .12Q1.6.34 2.4.06Q1.4-.2 1.1-.9T1-4.2Z', 0.3, 0);
    line(ctx, 'rgba(70, 44, 28, 0.5)', 0.07, 'M-.5-3.4Q-.4-2.4-.62-1.6M.6-3Q.7-1.6.82-1.1M-.1-3.6V-2.9');
    line(ctx, bark.dark, 0.34, 'M-.7-3.4Q-1.6-3.3-2.3-3.9M.7-3.4Q1.6-3.2 2.4-3.9');
    door(ctx, 0, 0.7, 1.14);
    oval(ctx, 0.36, -2, 0.27, 0.31, '#4f3522');
    oval(ctx, 0.36, -1.98, 0.2, 0.24, GLASS);
  },
};

const crown = {
  shadow: 0, box: { left: -3.9, top: -8, right: 3.9, bottom: -0.6 },
  light: { glows: LANTERNS.map(([x, y]) => ({ x, y, size: 0.6 })) },
  paint(ctx) {
    canopy(ctx, [[0, -6.1, 1.7], [-1.7, -5.3, 1.5], [1.7, -5.3, 1.5], [0, -4.5, 1.7], [-1, -6, 1.5], [1.1, -6.1, 1.4],
      [-2.6, -4.3, 1.1], [2.6, -4.3, 1.1], [-1.3, -3.9, 1.1], [1.3, -3.9, 1.1]], LEAVES[0]);
    for (const [x, y, r] of [[-1.9, -5.4, 0.7], [0.1, -6.6, 0.74], [1.4, -5.3, 0.66], [-0.5, -4.9, 0.6], [2.5, -4.3, 0.46],
      [-2.7, -4.2, 0.5], [0.7, -4, 0.5]]) {
      const clump = [[x, y, r], [x + r * 0.8, y + 0.2, r * 0.66], [x - r * 0.8, y + 0.2, r * 0.66]];
      discs(ctx, clump, LEAVES[0].middle, 0.08, 0.16);
      discs(ctx, clump, '#8cc57c');
    }
    for (const [x, y] of LANTERNS) {
      line(ctx, DARK, 0.05, `M${x} ${y - 1}V${y - 0.2}`);
      box(ctx, DARK, x - 0.13, y - 0.26, 0.26, 0.08);
      oval(ctx, x, y, 0.17, 0.22, '#ffdf8f');
    }
    // A swing.
    line(ctx, '#c9a66b', 0.05, 'M1.9-3.2L1.82-.7M2.7-3.3L2.62-.7');
    box(ctx, '#8a6239', 1.68, -0.74, 1.08, 0.13, 0.05);
  },
};

/** Draw a toadstool whose cap is `half` tiles wide to each side. */
function cap(ctx, half, foot, top, tones) {
  lit(ctx, tones, `M${-half} ${foot}C${-half * 0.98} ${top * 1.34 - foot * 0.34} ${half * 0.98} ${top * 1.34 - foot * 0.34} ${half} ${foot}`
    + `Q0 ${foot + half * 0.3} ${-half} ${foot}Z`, half * 0.07, half * 0.05);
}

const stem = {
  shadow: 1.9, box: { left: -1.4, top: -3.7, right: 1.4, bottom: 0.4 },
  light: { glows: [{ x: -0.42, y: -2.1, size: 0.6 }, { x: 0.5, y: -1.5, size: 0.5 }, { x: 0, y: -0.4, size: 0.5 }], pool: 4.8 },
  paint(ctx) {
    lit(ctx, { dark: '#d0c2a4', middle: '#e8ddc6', light: '#f7f0e0' },
      'M-.95-3.6Q-.8-1.6-1.3-.2Q-1.4.1-.9.2Q0 .4.9.2Q1.4.1 1.3-.2Q.8-1.6.95-3.6Z', 0.26, 0);
    fill(ctx, '#f3ead8', 'M-.95-2.7Q0-2.3.95-2.7L1.2-2.2L.7-2.36L.4-2.06L0-2.26L-.4-2.06L-.7-2.36L-1.2-2.2Z');
    door(ctx, 0.02, 0.66, 1.12);
    for (const [x, y, r] of [[-0.42, -2.1, 0.24], [0.5, -1.5, 0.2]]) {
      oval(ctx, x, y, r + 0.07, r + 0.07, '#7a5438');
      oval(ctx, x, y, r, r, GLASS);
    }
  },
};

const hat = {
  shadow: 0, box: { left: -3.3, top: -6.8, right: 3.3, bottom: -2.2 },
  light: { glows: [[-1.7, -4.4], [0.1, -5.5], [1.6, -4.6], [-0.4, -3.9], [0.9, -3.7]].map(([x, y]) =>
    ({ x, y, size: 0.75, colour: SPORE })) },
  paint(ctx) {
    // Gills under the cap.
    fill(ctx, '#bda884', 'M-2.9-3.3Q0-2.1 2.9-3.3Q0-3.9-2.9-3.3Z');
    line(ctx, '#a38e6b', 0.06, 'M-2-3.2L-.9-3.3M-1.3-2.9L-.6-3.2M-.5-2.75L-.2-3.2M.5-2.75L.2-3.2M1.3-2.9L.6-3.2M2-3.2L.9-3.3');
    cap(ctx, 3.15, -3.2, -6.6, { dark: '#a8322f', middle: '#cc463f', light: '#e2645a' });
    for (const [x, y, r] of [[-1.7, -4.4, 0.46], [0.1, -5.5, 0.54], [1.6, -4.6, 0.44], [-0.4, -3.9, 0.36], [0.9, -3.7, 0.32],
      [-2.5, -3.6, 0.26], [2.4, -3.6, 0.26], [-0.9, -5.3, 0.24], [1.1, -5.7, 0.2]]) {
      oval(ctx, x + 0.03, y + 0.05, r, r * 0.74, '#b9b3a0');
      oval(ctx, x, y, r, r * 0.72, '#fff6ea');
    }
  },
};

/** Return a smaller toadstool beside the large one. */
function sprout(x, y, size, tones) {
  return {
    x, y, shadow: 0.5 * size, box: { left: -0.8 * size, top: -1.5 * size, right: 0.8 * size, bottom: 0.12 },
    light: { glows: [{ x: 0, y: -0.9 * size, size: 0.9 * size, colour: SPORE }] },
    paint(ctx) {
      ctx.scale(size, size);
      fill(ctx, '#efe5cf', 'M-.2-.7Q-.16-.3-.28 0Q0 .14.28 0Q.16-.3.2-.7Z');
      cap(ctx, 0.74, -0.64, -1.36, tones);
      for (const [cx, cy, r] of [[-0.3, -0.9, 0.12], [0.16, -1.06, 0.13], [0.4, -0.78, 0.08]]) oval(ctx, cx, cy, r, r * 0.7, '#fff6ea');
    },
  };
}

const VIOLET = { dark: '#5d4a92', middle: '#7a64b4', light: '#9b86d2' };
const SEA = { dark: '#2f8a86', middle: '#45aaa2', light: '#6fc8bd' };

const head = {
  shadow: 2.3, box: { left: -2.4, top: -6.8, right: 2.4, bottom: 0.5 },
  light: { glows: [{ x: -0.98, y: -4.05, size: 0.55, colour: '255, 190, 110' }, { x: 0.52, y: -4.05, size: 0.55, colour: '255, 190, 110' }],
    pool: 4.2 },
  paint(ctx) {
    const stone = { dark: '#797973', middle: '#989892', light: '#b0b0a9' };
    lit(ctx, stone, 'M-1.9.1Q-2-1.6-1.7-3T-1.75-5.2Q-1.6-6.4-.1-6.5T1.75-5.2Q1.85-4.4 1.75-3T1.95.1Q0 .5-1.9.1Z', 0.34, 0.04);
    // Ears, brow, eyes, nose and mouth.
    fill(ctx, stone.dark, 'M1.7-4.3Q2.2-4.4 2.2-3.5T1.8-2.2Z');
    fill(ctx, stone.light, 'M-1.76-4.3Q-2.26-4.4-2.24-3.5T-1.76-2.2Z');
    for (const x of [-0.98, 0.52]) {
      oval(ctx, x, -4.05, 0.5, 0.36, '#5f5f5a');
      oval(ctx, x, -3.98, 0.26, 0.2, '#8f7a4a');
    }
    fill(ctx, stone.dark, 'M-1.72-4.42Q-1-4.86-.2-4.56Q.6-4.86 1.3-4.5L1.2-4.16Q.5-4.4.08-4.2H-.5Q-1-4.4-1.66-4.1Z');
    fill(ctx, stone.light, 'M-1.72-4.56Q-1-5-.2-4.7Q.6-5 1.3-4.64L1.28-4.46Q.6-4.8-.2-4.5Q-1-4.8-1.72-4.38Z');
    fill(ctx, stone.dark, 'M-.1-4.4L.5-2.5Q.2-2.1-.3-2.2Z');
    fill(ctx, '#bdbdb6', 'M-.5-4.4L-.86-2.5Q-.6-2.1-.2-2.2Q.06-2.3 0-2.6L-.1-4.4Z');
    fill(ctx, stone.dark, 'M-1.1-1.5Q-.2-1.76.7-1.5L.66-1.24Q-.2-1.1-1.06-1.24Z');
    fill(ctx, stone.light, 'M-1-1.16Q-.2-1 .6-1.16Q.2-.8-.2-.8T-1-1.16Z');
    line(ctx, 'rgba(70, 70, 66, 0.5)', 0.06, 'M1-5.8L.8-5.3L1-5M1.3-1.8L1.1-1.4L1.24-.9M-1.5-2.6L-1.34-2.2');
    fill(ctx, ROCK_TONES.moss, 'M-1.4-5.9Q-.8-6.5.3-6.48T1.5-5.8Q1.2-5.96 1-5.66T.5-5.9T-.1-5.7T-.6-6T-1.4-5.9Z');
    canopy(ctx, [[-1.9, -0.1, 0.46], [-2.2, 0.06, 0.28], [1.9, -0.06, 0.5], [1.5, 0.1, 0.34], [2.2, 0.1, 0.26], [-1.5, 0.16, 0.26]],
      LEAVES[1]);
    // Birds live on it.
    fill(ctx, '#8a6239', 'M-.3-6.46Q.2-6.3.7-6.46L.54-6.26Q.2-6.16-.14-6.26Z');
    oval(ctx, 0.2, -6.6, 0.18, 0.15, '#f4f0e4');
    oval(ctx, 0.34, -6.7, 0.09, 0.09, '#f4f0e4');
    fill(ctx, '#f0a030', 'M.42-6.72l.12 .04l-.12 .05Z');
  },
};

/** Candles that somebody has put down. */
function candles(x, y) {
  return {
    x, y, shadow: 0, box: { left: -0.6, top: -0.6, right: 0.6, bottom: 0.15 },
    light: { glows: [[-0.3, -0.42], [0, -0.5], [0.28, -0.36]].map(([cx, cy]) => ({ x: cx, y: cy, size: 0.34 })), pool: 1.6 },
    paint(ctx) {
      oval(ctx, 0, 0, 0.52, 0.16, '#74746f');
      oval(ctx, 0, -0.05, 0.5, 0.14, '#adada6');
      for (const [cx, top] of [[-0.3, -0.36], [0, -0.44], [0.28, -0.3]]) {
        box(ctx, '#d9cdb2', cx - 0.08, top, 0.16, -top - 0.02, 0.04);
        box(ctx, '#f7f0e0', cx - 0.08, top, 0.1, -top - 0.02, 0.04);
        oval(ctx, cx, top - 0.07, 0.05, 0.09, '#ffb04d');
      }
    },
  };
}

export const WONDERS = { stones, wreck: [wreck, cargo], balloon: [balloon], oak: [trunk, crown],
  toadstool: [stem, hat, sprout(-2.1, 0.7, 1.15, VIOLET), sprout(-1.5, 1.15, 0.7, SEA), sprout(2.2, 0.5, 0.9, SEA),
    sprout(1.7, -0.9, 0.7, VIOLET)],
  head: [head, candles(-1.5, 0.85), candles(1.4, 0.95)] };
