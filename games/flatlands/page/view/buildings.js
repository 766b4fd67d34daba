// The pictures of landmarks that somebody built, to live or to work in, or for the dead: see landmarks.js.

import { AUTUMN_LEAVES, LEAVES, ROCK_TONES } from './palette.js';
import { box, canopy, DARK, door, fill, GLASS, hole, line, lit, polygon, shaft } from './shapes.js';
import { oval } from './sprite.js';

const WHITE = { dark: '#cfc4ae', middle: '#ece4d2', light: '#fbf6ea' };
const MASONRY = { dark: '#7d7d79', middle: '#9c9b95', light: '#b6b5ad' };
const RED = { dark: '#a23e33', middle: '#c4553f', light: '#de7359' };
const THATCH = { dark: '#8c4a38', middle: '#b5634a', light: '#cc7d5f' };
const TEAL = { dark: '#23655f', middle: '#2f8379', light: '#43a091' };
const ICE = { dark: '#9dbccf', middle: '#c9deea', light: '#eaf4f9' };
const SANDSTONE = { dark: '#b3844d', middle: '#d9b271', light: '#efd095' };
const GOLD = { dark: '#d99f2f', middle: '#ffd166', light: '#ffe9a8' };

/** Draw a window with a frame and a cross, its middle at (x, y). */
function pane(ctx, x, y, width, height, frame = '#7a5438') {
  const round = [width / 2, width / 2, 0.03, 0.03];
  box(ctx, frame, x - width / 2 - 0.06, y - height / 2 - 0.06, width + 0.12, height + 0.12, round);
  box(ctx, '#9cc3d8', x - width / 2, y - height / 2, width, height, round);
  box(ctx, '#cfe6ef', x - width / 2, y - height / 2, width / 2, height * 0.5, [width / 2, 0, 0, 0]);
  box(ctx, frame, x - 0.025, y - height / 2, 0.05, height);
  box(ctx, frame, x - width / 2, y - 0.02, width, 0.05);
}

/** Draw short joints of masonry in rows between `from` and `to`, on a tower of that width there. */
function joints(ctx, style, from, to, low, high, gap = 0.46) {
  for (let y = from, row = 0; y > to; y -= gap, row++) {
    const half = low + (high - low) * (from - y) / (from - to) - 0.25;
    for (let x = -half + 0.35 * (row % 2); x < half - 0.4; x += 1.05 + 0.3 * (row % 3)) {
      line(ctx, style, 0.06, `M${x} ${y}h${0.34 + 0.08 * (row % 2)}`);
    }
  }
}

const windmill = {
  shadow: 2.1, box: { left: -2, top: -7.3, right: 2, bottom: 0.3 },
  light: { glows: [{ x: 0, y: -3.55, size: 0.6 }, { x: -0.62, y: -1.25, size: 0.5 },
    { x: 0.74, y: -1.25, size: 0.5 }, { x: 0, y: -5.9, size: 0.4 }], pool: 4.6 },
  paint(ctx) {
    shaft(ctx, 1.58, 0.98, -5.3, WHITE);
    line(ctx, 'rgba(120, 104, 80, 0.28)', 0.06, 'M-.5-2.9h.5M.3-4.4h.34M-.7-4.1h.3M-.55-4.8h.36');
    fill(ctx, MASONRY.dark, 'M-1.6 0L-1.52-.62Q0-.4 1.52-.62L1.6 0Q0 .34-1.6 0Z');
    fill(ctx, MASONRY.light, 'M-1.6 0L-1.52-.62Q-.9-.53-.3-.5L-.4.14Q-1.1.12-1.6 0Z');
    fill(ctx, MASONRY.middle, 'M-.4.14L-.3-.5Q.4-.48.8-.53L.86.1Q.2.18-.4.14Z');
    door(ctx, 0.05, 0.72, 1.2);
    pane(ctx, -0.62, -1.25, 0.36, 0.46);
    pane(ctx, 0.74, -1.25, 0.36, 0.46);
    // A gallery runs around it, from which the sails are turned.
    line(ctx, '#6b4a30', 0.09, 'M-1.75-2.2L-1.3-1.72M1.75-2.2L1.3-1.72M-.9-2.1L-.8-1.75M.9-2.1L.8-1.75');
    fill(ctx, '#8a6239', 'M-1.9-2.34Q0-1.94 1.9-2.34L1.9-2.14Q0-1.72-1.9-2.14Z');
    line(ctx, '#a27445', 0.1, 'M-1.84-2.76Q0-2.36 1.84-2.76');
    line(ctx, '#a27445', 0.07,
      'M-1.84-2.76v.46M-1.2-2.62v.46M-.6-2.56v.46M0-2.54v.46M.6-2.56v.46M1.2-2.62v.46M1.84-2.76v.46');
    pane(ctx, 0, -3.55, 0.46, 0.58);
    lit(ctx, THATCH, 'M-1.26-5.1C-1.24-6.5-.6-7.05 0-7.05S1.24-6.5 1.26-5.1Q0-4.72-1.26-5.1Z', 0.2, 0.1);
    line(ctx, 'rgba(110, 50, 36, 0.45)', 0.06, 'M-1.1-5.6Q0-5.26 1.1-5.6M-.92-6.12Q0-5.84.92-6.12');
    hole(ctx, 0, -5.86, 0.4, 0.4);
    oval(ctx, 0, -7.1, 0.13, 0.13, GOLD.middle);
  },
  moving: { x: 0, y: -5.35, turnMs: 12_000, rest: 0.42, box: { left: -2.9, top: -2.9, right: 2.9, bottom: 2.9 },
    paint(ctx) {
      for (let i = 0; i < 4; i++) {
        box(ctx, 'rgba(60, 46, 30, 0.16)', 0.16, -2.8, 0.78, 2.3, 0.06);
        box(ctx, WHITE.middle, 0.07, -2.85, 0.76, 2.3, 0.06);
        box(ctx, WHITE.light, 0.07, -2.85, 0.34, 2.3, 0.06);
        for (let y = -2.56; y < -0.6; y += 0.4) box(ctx, '#d9c9a4', 0.07, y, 0.76, 0.06);
        box(ctx, '#d9c9a4', 0.42, -2.85, 0.06, 2.3);
        box(ctx, '#6b4a30', -0.08, -2.9, 0.16, 2.9, 0.05);
        ctx.rotate(Math.PI / 2);
      }
      oval(ctx, 0, 0, 0.27, 0.27, '#6b4a30');
      oval(ctx, -0.04, -0.05, 0.16, 0.16, '#c99b68');
    } },
};

const lighthouse = {
  shadow: 2.3, box: { left: -2.4, top: -8.2, right: 2.95, bottom: 0.5 },
  light: { glows: [{ x: 0, y: -6.72, size: 2.3 }, { x: 0, y: -2.6, size: 0.45 }, { x: 0, y: -4.5, size: 0.4 },
    { x: 1.72, y: -0.72, size: 0.6 }], pool: 5, beam: -6.72 },
  paint(ctx) {
    // The rock on which it stands.
    fill(ctx, ROCK_TONES.face, 'M-2.3.1Q-2.1-.66-1.3-.5T.4-.6T2-.46T2.8.14Q1.6.5.2.44T-2.3.1Z');
    fill(ctx, ROCK_TONES.top, 'M-2.2-.02Q-1.9-.62-1.3-.5T.4-.6T2-.46T2.6 0Q1.4.26.1.2T-2.2-.02Z');
    fill(ctx, ROCK_TONES.rim, 'M-2-.2Q-1.7-.54-1.2-.4T-.4-.34Q-1 0-2-.2Z');
    // The keeper's house.
    box(ctx, WHITE.dark, 0.9, -1.2, 1.6, 1.24);
    box(ctx, WHITE.light, 0.9, -1.2, 1.6, 1.1);
    pane(ctx, 1.72, -0.72, 0.36, 0.42);
    lit(ctx, RED, 'M.8-1.08Q.98-1.7 1.2-1.9Q1.8-2 2.3-1.9Q2.6-1.6 2.72-1.08Q1.7-.96.8-1.08Z', 0.1, 0.14);
    box(ctx, MASONRY.dark, 2.06, -2.24, 0.24, 0.5);
    shaft(ctx, 1.3, 0.8, -6, WHITE);
    const half = (y) => 1.3 + y / 12;
    for (const [top, bottom] of [[-1.95, -0.95], [-3.95, -2.95], [-5.75, -4.95]]) {
      for (const { to, style } of [{ to: 1, style: RED.dark }, { to: 0.5, style: RED.middle }, { to: -0.35, style: RED.light }]) {
        fill(ctx, style, `M${-half(top)} ${top}Q0 ${top + 0.24} ${to * half(top)} ${top}`
          + `L${to * half(bottom)} ${bottom}Q0 ${bottom + 0.26} ${-half(bottom)} ${bottom}Z`);
      }
    }
    door(ctx, -0.04, 0.66, 1.12);
    pane(ctx, 0, -2.6, 0.32, 0.5, DARK);
    pane(ctx, 0, -4.5, 0.28, 0.44, DARK);
    fill(ctx, DARK, 'M-.92-5.9L-1.2-6.2Q0-5.98 1.2-6.2L.92-5.9Q0-5.7-.92-5.9Z');
    line(ctx, DARK, 0.06, 'M-1.16-6.5Q0-6.3 1.16-6.5M-1.16-6.5v.3M-.7-6.42v.3M-.24-6.4v.3M.24-6.4v.3M.7-6.42v.3M1.16-6.5v.3');
    box(ctx, '#4d5a6b', -0.64, -7.2, 1.28, 1.06);
    box(ctx, GLASS, -0.56, -7.14, 1.12, 0.94);
    oval(ctx, 0, -6.7, 0.3, 0.34, '#fff7d8');
    box(ctx, DARK, -0.22, -7.14, 0.05, 0.94);
    ctx.fillRect(0.18, -7.14, 0.05, 0.94);
    lit(ctx, RED, 'M-.84-7.16Q-.7-7.96 0-7.96T.84-7.16Q0-6.96-.84-7.16Z', 0.14, 0.08);
    oval(ctx, 0, -8.05, 0.13, 0.13, GOLD.middle);
  },
};

const TORCHES = [-0.86, 0.94];

const tower = {
  shadow: 2.2, box: { left: -2, top: -7.9, right: 2.3, bottom: 0.4 },
  light: { glows: [{ x: -0.5, y: -2.6, size: 0.5 }, { x: 0.35, y: -4, size: 0.5 },
    ...TORCHES.map((x) => ({ x, y: -0.95, size: 0.6, colour: '255, 170, 90' }))], pool: 4 },
  paint(ctx) {
    fill(ctx, MASONRY.dark, 'M-1.9.02Q-1.8-.5-1.7-.8H1.7Q1.8-.5 1.9.02Q0 .4-1.9.02Z');
    fill(ctx, MASONRY.middle, 'M-1.9.02Q-1.8-.5-1.7-.8H.8Q.9-.4.95.16Q-.6.26-1.9.02Z');
    shaft(ctx, 1.66, 1.42, -5, MASONRY);
    joints(ctx, 'rgba(70, 70, 66, 0.36)', -0.9, -4.9, 1.5, 1.36);
    // Its crown has fallen down on one side.
    fill(ctx, MASONRY.dark, 'M-1.7-4.86L-1.76-5.5H.5L.84-5.1L1.34-4.9L1.46-4.5Q0-4.3-1.7-4.86Z');
    fill(ctx, MASONRY.middle, 'M-1.7-4.86L-1.76-5.5H.5L.84-5.1L.9-4.66Q-.2-4.56-1.7-4.86Z');
    for (const [x, up] of [[-1.76, 0.62], [-0.98, 0.62], [-0.2, 0.44]]) {
      box(ctx, MASONRY.dark, x, -5.5 - up, 0.52, up + 0.1, 0.04);
      box(ctx, MASONRY.light, x, -5.5 - up, 0.32, up + 0.06, 0.04);
    }
    fill(ctx, MASONRY.light, 'M-1.76-5.5H-.4L-.44-5.28H-1.72Z');
    fill(ctx, MASONRY.light, 'M-.56.12V-.84A.6.6 0 0 1 .64-.84V.12Z');
    door(ctx, 0.04, 0.8, 1.24);
    hole(ctx, -0.5, -2.6, 0.3, 0.72);
    hole(ctx, 0.35, -4, 0.3, 0.72);
    canopy(ctx, [[1.5, -0.3, 0.48], [1.4, -0.95, 0.42], [1.56, -1.6, 0.36], [1.34, -2.2, 0.3], [1.44, -2.8, 0.24],
      [1.1, -0.2, 0.36], [1.2, -3.3, 0.16]], LEAVES[0]);
    for (const x of TORCHES) {
      line(ctx, '#5d4128', 0.12, `M${x} -.72v.34`);
      fill(ctx, '#ffb04d', `M${x - 0.13} -.74Q${x - 0.17} -1 ${x} -1.24Q${x + 0.17} -1 ${x + 0.13} -.74Z`);
    }
    line(ctx, '#5d4128', 0.11, 'M-1.24-5.5V-7.7');
    oval(ctx, -1.24, -7.74, 0.11, 0.11, GOLD.middle);
  },
  moving: { x: -1.2, y: -7.55, swingMs: 2600, swing: 0.1, box: { left: -0.1, top: -0.3, right: 1.9, bottom: 1.2 },
    paint(ctx) {
      fill(ctx, '#b32d4f', 'M0 0Q.5-.2 1 .06T1.8.1L1.4.45L1.8.86Q1.3 1.06.9.8T0 .86Z');
      fill(ctx, '#ef476f', 'M0 0Q.5-.2 1 .06T1.8.1L1.5.36Q1.2.5.9.32T0 .4Z');
      oval(ctx, 0.55, 0.42, 0.16, 0.16, GOLD.middle);
    } },
};

/** What has fallen from the tower. */
const rubble = {
  y: 0.55, x: 1.9, shadow: 0.6, box: { left: -0.8, top: -0.9, right: 0.9, bottom: 0.2 },
  paint(ctx) {
    for (const [x, y, size] of [[0.42, 0, 0.34], [-0.36, 0.02, 0.42], [0.1, -0.32, 0.3]]) {
      box(ctx, MASONRY.dark, x - size, y - size, 2 * size, 1.1 * size, 0.1);
      box(ctx, MASONRY.light, x - size, y - size, 1.5 * size, 0.7 * size, 0.1);
    }
  },
};

/** Draw a wheel of a wagon. */
function wheel(ctx, x, y, size) {
  oval(ctx, x, y, size, size, '#5d4128');
  oval(ctx, x, y, size * 0.78, size * 0.78, '#f4d27a');
  oval(ctx, x, y, size * 0.66, size * 0.66, '#6b8f3f');
  for (let i = 0; i < 4; i++) {
    const turn = i * Math.PI / 4 + 0.2, dx = Math.cos(turn) * size * 0.72, dy = Math.sin(turn) * size * 0.72;
    line(ctx, '#a9473a', 0.09, `M${x - dx} ${y - dy}L${x + dx} ${y + dy}`);
  }
  oval(ctx, x, y, size * 0.24, size * 0.24, '#f4d27a');
}

const caravan = {
  shadow: 2.7, box: { left: -2.75, top: -6.9, right: 2.95, bottom: 0.3 },
  light: { glows: [{ x: -1.18, y: -1.95, size: 0.7 }, { x: 1.22, y: -1.95, size: 0.7 }, { x: -0.55, y: -4, size: 0.5 },
    { x: 0.6, y: -4, size: 0.5 }, ...[[-2.1, -4.1], [-1.74, -4.62], [2.1, -4.1], [1.74, -4.62]].map(([x, y], i) =>
    ({ x, y: y + 0.6, size: 0.36, colour: ['255, 150, 120', '160, 255, 200'][i % 2] }))], pool: 5 },
  paint(ctx) {
    const roof = { dark: '#8f3a30', middle: '#b84f3f', light: '#d86f57' };
    box(ctx, '#5d4128', -1.9, -0.95, 3.8, 0.3, 0.1);
    // The lower storey.
    fill(ctx, TEAL.dark, 'M-2.1-.86L-2.3-2.75H2.3L2.1-.86Z');
    fill(ctx, TEAL.middle, 'M-2.1-.86L-2.3-2.75H1.7L1.56-.86Z');
    line(ctx, TEAL.dark, 0.05, 'M-1.9-2.6L-1.76-1M-.5-2.6V-1M.52-2.6V-1M1.92-2.6L1.78-1');
    box(ctx, '#f4d27a', -2.1, -1.04, 4.2, 0.2, 0.05);
    for (const x of [-1.18, 1.22]) {
      box(ctx, '#fbf4e2', x - 0.86, -2.34, 0.34, 0.84, 0.05);
      box(ctx, '#fbf4e2', x + 0.52, -2.34, 0.34, 0.84, 0.05);
      pane(ctx, x, -1.95, 0.9, 0.72, '#fbf4e2');
      canopy(ctx, [[x - 0.36, -1.36, 0.18], [x, -1.32, 0.18], [x + 0.36, -1.36, 0.18]], LEAVES[1]);
      for (const dx of [-0.4, -0.1, 0.26]) oval(ctx, x + dx, -1.44, 0.08, 0.08, '#ff9ab0');
    }
    box(ctx, '#8f3a30', -0.38, -2.3, 0.8, 1.44, [0.4, 0.4, 0, 0]);
    box(ctx, '#c4553f', -0.3, -2.2, 0.64, 1.34, [0.32, 0.32, 0, 0]);
    oval(ctx, 0.2, -1.5, 0.05, 0.05, '#f4d27a');
    // The upper one, under a roof with a curve.
    lit(ctx, roof, 'M-2.6-2.66Q-2.4-3.3-1.6-3.36H1.6Q2.4-3.3 2.6-2.66Q0-2.36-2.6-2.66Z', 0.2, 0.14);
    fill(ctx, '#e6c88a', 'M-1.34-3.2L-1.5-4.66H1.5L1.34-3.2Z');
    fill(ctx, '#f7e3b4', 'M-1.34-3.2L-1.5-4.66H1L.92-3.2Z');
    for (const x of [-0.55, 0.6]) pane(ctx, x, -4, 0.46, 0.56, '#2f8379');
    lit(ctx, roof, 'M-1.95-4.5C-1.8-5.9-.8-6.1 0-6.1S1.8-5.9 1.95-4.5Q0-4.2-1.95-4.5Z', 0.22, 0.14);
    fill(ctx, '#f4d27a', 'M-1.95-4.5Q0-4.2 1.95-4.5L1.9-4.3L1.5-4.16L1.1-4.32L.7-4.1L.3-4.28L-.1-4.08L-.5-4.28L-.9-4.12L-1.3-4.34L-1.6-4.22Z');
    box(ctx, DARK, 0.86, -6.42, 0.3, 0.8);
    box(ctx, DARK, 0.78, -6.5, 0.46, 0.14, 0.05);
    line(ctx, '#5d4128', 0.08, 'M-.4-6.05V-6.8');
    fill(ctx, '#ef476f', 'M-.36-6.8Q.1-6.9.5-6.6Q.1-6.5-.36-6.34Z');
    // Strings of coloured lanterns.
    line(ctx, DARK, 0.04, 'M-1.9-4.6Q-2.3-3.9-2.5-2.9M1.9-4.6Q2.3-3.9 2.5-2.9');
    [[-2.1, -3.5], [-1.74, -4.02], [2.1, -3.5], [1.74, -4.02]].forEach(([x, y], i) =>
      oval(ctx, x * 1.08, y, 0.14, 0.17, ['#ff8f70', '#8fe0b4'][i % 2]));
    for (const x of [-1.3, 1.36]) wheel(ctx, x, -0.6, 0.68);
    line(ctx, '#8a6239', 0.12, 'M-.3-.1H.36M-.26-.36H.34M-.22-.62H.3');
    canopy(ctx, [[-2.2, -0.12, 0.3], [-2.5, -0.04, 0.2], [2.3, -0.08, 0.26]], AUTUMN_LEAVES[2]);
  },
};

/** Draw a dome of ice around (x, 0), with rows of blocks. */
function dome(ctx, x, half, top, rows) {
  ctx.save();
  ctx.translate(x, 0);
  lit(ctx, ICE, `M${-half} 0C${-half} ${top * 1.33} ${half} ${top * 1.33} ${half} 0Q0 ${half * 0.22} ${-half} 0Z`,
    half * 0.13, -top * 0.05);
  ctx.restore();
  line(ctx, 'rgba(118, 158, 186, 0.6)', 0.055, rows);
}

const igloo = {
  shadow: 3.1, box: { left: -3.1, top: -6.7, right: 3.9, bottom: 0.5 },
  light: { glows: [{ x: 1.96, y: -0.6, size: 1.2 }, { x: -1.2, y: -1.9, size: 0.7, colour: '150, 214, 255' },
    { x: 0.2, y: -2.6, size: 0.7, colour: '150, 214, 255' }, { x: -0.5, y: -5, size: 1.3, colour: '150, 214, 255' }], pool: 4.6 },
  paint(ctx) {
    // A turret of clear ice on the dome.
    lit(ctx, ICE, 'M-1.35-4V-4.9Q-1.35-5.9-.5-5.9T.35-4.9V-4Z', 0.12, 0.06);
    for (const x of [-0.84, -0.16]) box(ctx, '#8fc7e8', x - 0.16, -5.2, 0.32, 0.7, [0.16, 0.16, 0.04, 0.04]);
    line(ctx, '#6d5a4c', 0.08, 'M-.5-5.86V-6.6');
    fill(ctx, '#00bbf9', 'M-.46-6.6Q0-6.7.4-6.4Q0-6.3-.46-6.14Z');
    dome(ctx, -0.2, 2.85, -4.1, 'M-2.95-.8Q-.2-.2 2.55-.8M-2.75-1.6Q-.2-1 2.35-1.6M-2.35-2.4Q-.2-1.86 1.95-2.4'
      + 'M-1.75-3.14Q-.2-2.7 1.35-3.14M-2-.66v.66M-.9-.48v.6M-1.5-1.36v.76M-2.3-1.44v.7M.2-1.3v.84M1-.56v.5'
      + 'M1.5-1.36v.7M-.7-2.08v.8M-1.6-2.2v.76M.6-2.1v.8M1.4-2.26v.7M-1.1-2.9v.72M0-2.84v.76M.9-3v.7M-.4-3.6v.84');
    for (const [x, y] of [[-1.2, -1.9], [0.2, -2.6]]) {
      oval(ctx, x, y, 0.34, 0.38, '#7fb4d4');
      oval(ctx, x, y + 0.03, 0.26, 0.3, '#bfe6fb');
    }
    // The way in.
    dome(ctx, 1.9, 1.5, -1.85, 'M.5-.7Q1-.3 1.2-.3M.7-1.2L1.2-.9M1.5-1.8L1.6-1.36M2.2-1.86V-1.4M2.9-1.5L2.66-1.1M3.3-.8L2.86-.62');
    oval(ctx, 1.96, -0.44, 0.82, 0.86, '#8fb2c8');
    fill(ctx, '#3f5d74', 'M1.24.2V-.5A.72.7 0 0 1 2.68-.5V.2Q1.96.36 1.24.2Z');
    fill(ctx, '#ffd98c', 'M1.5.24V-.3A.46.5 0 0 1 2.42-.3V.24Q1.96.34 1.5.24Z');
    for (const [x, size] of [[-2.7, 0.5], [-3, 0.3], [3.4, 0.36]]) {
      oval(ctx, x + 0.06, 0.06, size, size * 0.5, ICE.dark);
      oval(ctx, x, 0, size * 0.92, size * 0.5, '#ffffff');
    }
  },
};

const pyramid = {
  shadow: 3.2, box: { left: -3.5, top: -7, right: 3.5, bottom: 0.75 },
  light: { glows: [{ x: -0.75, y: -0.4, size: 0.8 }, { x: 0, y: -6.6, size: 0.9 }], pool: 4.6 },
  paint(ctx) {
    polygon(ctx, SANDSTONE.dark, [0, -6.8], [3.4, -0.3], [0.5, 0.62]);
    polygon(ctx, SANDSTONE.light, [0, -6.8], [-3.4, -0.3], [0.5, 0.62]);
    for (let i = 1; i < 9; i++) {
      const at = i / 9, y = -6.8 + 6.5 * at;
      line(ctx, 'rgba(158, 112, 62, 0.5)', 0.07, `M${-3.4 * at} ${y}L${0.5 * at} ${y + 0.92 * at}`);
      line(ctx, 'rgba(120, 82, 44, 0.42)', 0.07, `M${0.5 * at} ${y + 0.92 * at}L${3.4 * at} ${y}`);
    }
    for (const [x, y] of [[-2.2, -0.7], [-1.3, -2.2], [-0.4, -3.4], [-2, -1.6], [-0.6, -1.4], [-0.3, -4.6]]) {
      line(ctx, 'rgba(158, 112, 62, 0.5)', 0.06, `M${x} ${y}l.06 .34`);
    }
    polygon(ctx, GOLD.dark, [0, -6.8], [0.84, -5.2], [0.12, -4.96]);
    polygon(ctx, GOLD.middle, [0, -6.8], [-0.84, -5.2], [0.12, -4.96]);
    polygon(ctx, GOLD.light, [0, -6.8], [-0.84, -5.2], [-0.5, -5.14]);
    // The gate stands out from the wall.
    fill(ctx, SANDSTONE.dark, 'M-1.62.16L-1.5-1.5H-.06L.06.5Z');
    fill(ctx, SANDSTONE.middle, 'M-1.62.16L-1.5-1.5H-.26L-.2.46Z');
    box(ctx, SANDSTONE.light, -1.72, -1.72, 1.8, 0.3, 0.05);
    fill(ctx, '#4a3320', 'M-1.2.26L-1.14-1.16H-.4L-.36.42Z');
    fill(ctx, '#ffcf7a', 'M-1.02.28L-.98-.6H-.56L-.5.38Z');
    oval(ctx, -0.78, -1.56, 0.16, 0.09, '#2f8379');
  },
};

/** Return one of the needles of stone before the pyramid. */
function obelisk(x, y) {
  return {
    x, y, shadow: 0.5, box: { left: -0.5, top: -2.8, right: 0.5, bottom: 0.2 },
    light: { glows: [{ x: 0, y: -2.5, size: 0.5 }] },
    paint(ctx) {
      box(ctx, SANDSTONE.dark, -0.42, -0.3, 0.84, 0.4, 0.06);
      fill(ctx, SANDSTONE.dark, 'M-.28-.2L-.2-2.3L0-2.7L.2-2.3L.28-.2Z');
      fill(ctx, SANDSTONE.light, 'M-.28-.2L-.2-2.3L0-2.7L.04-.2Z');
      fill(ctx, GOLD.middle, 'M-.2-2.3L0-2.7L.2-2.3Q0-2.2-.2-2.3Z');
      line(ctx, 'rgba(120, 82, 44, 0.6)', 0.05, 'M-.1-1.9h.1M-.12-1.5h.14M-.12-1.1h.1M-.14-.7h.16');
    },
  };
}

export const BUILDINGS = { windmill: [windmill], lighthouse: [lighthouse], tower: [tower, rubble], caravan: [caravan],
  igloo: [igloo], pyramid: [pyramid, obelisk(-2.7, 1.1), obelisk(2.1, 1.1)] };
