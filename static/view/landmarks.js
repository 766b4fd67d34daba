// The pictures of landmarks, in tiles with the origin at the feet, and the parts of them that move. They
// are props like those of props.js; static/landmarks.js decides where they stand.

import { AUTUMN_LEAVES, LEAVES, ROCK_TONES, STONE_TONES, TRUNK, TRUNK_LIGHT } from './palette.js';
import { discOf, oval, spriteOf } from './sprite.js';

const TURN_MS = 9000;                     // of a windmill's sails
const BEAM_MS = 7000;                     // of a lighthouse's light
const BOB_MS = 5200, BOB = 0.12;          // of a balloon; tiles
const HUB = -3.05, SAIL = 1.75;           // tiles: a windmill's axle over the ground; a sail's length
const LAMP = -4.3;                        // tiles: a lighthouse's lamp over the ground
const GLASS = '#ffe9ac', DARK = '#3c4654';

function polygon(ctx, style, ...points) {
  ctx.fillStyle = style;
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.fill();
}

/** Draw a tower that is `low` tiles wide to each side at its foot and `high` at `top`, lit from the left. */
function shaft(ctx, low, high, top, { dark, middle, light }) {
  const part = (from, to, style) => {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.moveTo(from * high, top);
    ctx.lineTo(to * high, top);
    ctx.lineTo(to * low, 0);
    ctx.quadraticCurveTo((from + to) / 2 * low, 0.14, from * low, 0);
    ctx.fill();
  };
  part(-1, 1, dark);
  part(-1, 0.5, middle);
  part(-1, -0.35, light);
}

function door(ctx, x, width, height) {
  ctx.fillStyle = '#6b4a30';
  ctx.beginPath();
  ctx.roundRect(x - width / 2, -height, width, height + 0.05, [width / 2, width / 2, 0, 0]);
  ctx.fill();
  ctx.fillStyle = '#8f6441';
  ctx.beginPath();
  ctx.roundRect(x - width / 2 + 0.06, 0.06 - height, width - 0.12, height - 0.02,
    [width / 2, width / 2, 0, 0]);
  ctx.fill();
}

function hole(ctx, x, y, width, height) {
  ctx.fillStyle = DARK;
  ctx.beginPath();
  ctx.roundRect(x - width / 2, y - height / 2, width, height, [width / 2, width / 2, 0, 0]);
  ctx.fill();
}

const WHITE = { dark: '#c9c1b0', middle: '#e9e2d2', light: '#f8f3e6' };
const MASONRY = { dark: '#7f7f7a', middle: '#a09f98', light: '#b9b8b0' };

const windmill = {
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

function paintSails(ctx) {
  for (let i = 0; i < 4; i++) {
    ctx.fillStyle = '#fbf4e2';
    ctx.fillRect(0.06, -SAIL, 0.42, SAIL - 0.35);
    ctx.fillStyle = '#e6d8b8';
    for (let y = 0.5; y < SAIL - 0.1; y += 0.3) ctx.fillRect(0.06, -y - 0.03, 0.42, 0.05);
    ctx.fillRect(0.25, -SAIL, 0.04, SAIL - 0.35);
    ctx.fillStyle = '#6b4a30';
    ctx.fillRect(-0.05, -SAIL - 0.05, 0.1, SAIL);
    ctx.rotate(Math.PI / 2);
  }
  oval(ctx, 0, 0, 0.16, 0.16, '#8f6441');
  oval(ctx, -0.03, -0.03, 0.08, 0.08, '#c99b68');
}

const lighthouse = {
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
    ctx.fillStyle = DARK;
    ctx.fillRect(-0.72, -3.96, 1.44, 0.14);
    ctx.fillStyle = '#4d5a6b';
    ctx.fillRect(-0.44, -4.62, 0.88, 0.68);
    ctx.fillStyle = GLASS;
    ctx.fillRect(-0.36, -4.58, 0.72, 0.6);
    ctx.fillStyle = DARK;
    ctx.fillRect(-0.03, -4.6, 0.06, 0.64);
    ctx.fillStyle = '#c4553f';
    ctx.beginPath();
    ctx.ellipse(0, -4.6, 0.54, 0.5, 0, Math.PI, 0);
    ctx.fill();
    oval(ctx, 0, -5.12, 0.09, 0.09, '#ffd166');
  },
};

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

const stones = {
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

const wreck = {
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
    ctx.fillStyle = GLASS;
    ctx.fillRect(-1.82, -1.56, 0.2, 0.26);
  },
};

const balloon = {
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

function paintEnvelope(ctx) {
  const shell = (half, style) => {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.moveTo(0, -4.4);
    ctx.bezierCurveTo(half * 1.35, -4.4, half * 1.3, -2.8, half * 0.3, -1.72);
    ctx.lineTo(-half * 0.3, -1.72);
    ctx.bezierCurveTo(-half * 1.3, -2.8, -half * 1.35, -4.4, 0, -4.4);
    ctx.fill();
  };
  ['#d6453d', '#f7d9a0', '#e2674f', '#ffedc9'].forEach((style, i) =>
    shell(1.2 - 0.33 * i, style));
  oval(ctx, -0.5, -3.7, 0.16, 0.34, 'rgba(255, 255, 255, 0.5)', 0.35);
  ctx.strokeStyle = '#7a5438';
  ctx.lineWidth = 0.04;
  ctx.beginPath();
  for (const x of [-0.3, -0.1, 0.1, 0.3]) {
    ctx.moveTo(x, -1.72);
    ctx.lineTo(x * 0.95, -1.2);
  }
  ctx.stroke();
  ctx.fillStyle = '#8a6239';
  ctx.beginPath();
  ctx.roundRect(-0.36, -1.22, 0.72, 0.54, 0.12);
  ctx.fill();
  ctx.fillStyle = '#b98a58';
  ctx.beginPath();
  ctx.roundRect(-0.36, -1.22, 0.5, 0.5, 0.12);
  ctx.fill();
  ctx.fillStyle = '#5d4128';
  ctx.fillRect(-0.4, -1.26, 0.8, 0.1);
}

/** Draw discs [x, y, r] as a crown in three shades. */
function crown(ctx, list, { dark, middle, light }) {
  for (const [style, dx, dy, grow] of [[dark, 0, 0, 0], [middle, -0.1, -0.16, -0.08],
    [light, -0.26, -0.36, -0.36]]) {
    ctx.fillStyle = style;
    ctx.beginPath();
    for (const [x, y, r] of list) {
      const radius = Math.max(r + grow, 0.05);
      ctx.moveTo(x + dx + radius, y + dy);
      ctx.arc(x + dx, y + dy, radius, 0, Math.PI * 2);
    }
    ctx.fill();
  }
}

const oak = {
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
    crown(ctx, [[0, -3.4, 1], [-1.1, -2.7, 0.95], [1.1, -2.7, 0.95], [0, -2.3, 1], [-0.6, -3.2, 0.9],
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

const tower = {
  shadow: 1.3, box: { left: -1.5, top: -4.1, right: 1.6, bottom: 0.25 },
  light: { glows: [{ x: -0.3, y: -2.3, size: 0.45 }], pool: 2 },
  paint(ctx) {
    shaft(ctx, 1.05, 0.92, -3.1, MASONRY);
    ctx.fillStyle = MASONRY.dark;
    ctx.fillRect(-1.06, -3.3, 1.5, 0.26);
    for (const [x, up] of [[-1.06, 0.5], [-0.56, 0.42], [-0.06, 0.3]]) {
      ctx.fillStyle = MASONRY.middle;
      ctx.fillRect(x, -3.26 - up, 0.34, up + 0.06);
      ctx.fillStyle = MASONRY.light;
      ctx.fillRect(x, -3.26 - up, 0.2, up);
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
    crown(ctx, [[0.95, -0.4, 0.34], [0.86, -0.9, 0.26], [0.98, -1.3, 0.18]], LEAVES[0]);
    for (const [x, size] of [[1.2, 0.2], [-1.16, 0.16]]) {
      oval(ctx, x, 0, size * 1.3, size * 0.7, MASONRY.dark);
      oval(ctx, x - 0.04, -0.07, size, size * 0.55, MASONRY.light);
    }
  },
};

const toadstool = {
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

const igloo = {
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

const pyramid = {
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

const head = {
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
    crown(ctx, [[-0.95, -0.08, 0.24], [0.95, -0.06, 0.28], [0.66, 0, 0.2]], LEAVES[1]);
    oval(ctx, 0.3, -3.02, 0.4, 0.13, ROCK_TONES.moss);
  },
};

const caravan = {
  shadow: 1.4, box: { left: -1.7, top: -2.6, right: 1.7, bottom: 0.25 },
  light: { glows: [{ x: -0.55, y: -1.15, size: 0.5 }, { x: 0.62, y: -1.15, size: 0.5 }], pool: 2.6 },
  paint(ctx) {
    ctx.fillStyle = '#2f7f78';
    ctx.beginPath();
    ctx.roundRect(-1.4, -1.85, 2.8, 1.5, 0.14);
    ctx.fill();
    ctx.fillStyle = '#3f9f92';
    ctx.beginPath();
    ctx.roundRect(-1.4, -1.85, 2.4, 1.38, 0.14);
    ctx.fill();
    ctx.fillStyle = '#f4d27a';
    ctx.fillRect(-1.4, -0.62, 2.8, 0.12);
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
      ctx.fillStyle = '#fbf4e2';
      ctx.fillRect(x - 0.28, -1.44, 0.56, 0.56);
      ctx.fillStyle = '#9cc3d8';
      ctx.fillRect(x - 0.21, -1.37, 0.42, 0.42);
      oval(ctx, x, -0.86, 0.34, 0.1, '#e2506a');
    }
    for (const x of [-0.86, 0.86]) {
      oval(ctx, x, -0.2, 0.38, 0.38, '#5d4128');
      oval(ctx, x, -0.2, 0.26, 0.26, '#c99b68');
      oval(ctx, x, -0.2, 0.09, 0.09, '#5d4128');
    }
    crown(ctx, [[-1.5, -0.1, 0.2]], AUTUMN_LEAVES[2]);
  },
};

/** A post with two arms beside a path; what it tells is written over it as one comes near. */
export const signpost = {
  name: 'signpost', shadow: 0.22, box: { left: -0.75, top: -1.75, right: 0.75, bottom: 0.12 },
  paint(ctx) {
    ctx.fillStyle = TRUNK;
    ctx.fillRect(-0.07, -1.65, 0.14, 1.68);
    ctx.fillStyle = TRUNK_LIGHT;
    ctx.fillRect(-0.07, -1.65, 0.05, 1.64);
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

/** The props of all kinds of landmarks, by kind. */
const PICTURES = { windmill, stones, balloon, oak, tower, toadstool, caravan, head, pyramid, igloo,
  lighthouse, wreck };

export const LANDMARKS = Object.entries(PICTURES).map(([name, prop]) => ({ name, ...prop }));

/** What moves about landmarks, at `tile` device px per tile. */
export class MovingParts {
  constructor(tile) {
    this.tile = tile;
    const sail = SAIL + 0.2;
    this.sails = spriteOf(tile, { left: -sail, top: -sail, right: sail, bottom: sail }, paintSails);
    this.envelope = spriteOf(tile, { left: -1.4, top: -4.5, right: 1.4, bottom: -0.6 },
      paintEnvelope);
    this.beam = discOf(tile, 5, 0.5, '255, 236, 170', 0.8);
  }

  /** Draw what moves about landmarks: see Ground.marks. */
  draw(ctx, state, marks) {
    for (const { kind, footX, footY } of marks) this.#draw(ctx, state, kind, footX, footY);
  }

  #draw(ctx, state, kind, px, py) {
    const now = state.still ? 0 : state.now;
    if (kind === 'windmill') {
      ctx.save();
      ctx.translate(px, py + Math.round(HUB * this.tile));
      ctx.rotate(now / TURN_MS * Math.PI * 2 + 0.4);
      ctx.drawImage(this.sails.canvas, -this.sails.ax, -this.sails.ay);
      ctx.restore();
    } else if (kind === 'balloon') {
      const up = Math.round(Math.sin(now / BOB_MS * Math.PI * 2) * BOB * this.tile);
      ctx.drawImage(this.envelope.canvas, px - this.envelope.ax, py - this.envelope.ay + up);
    }
  }

  /** Draw the beams of lighthouses in the dark; the canvas adds what is drawn. */
  drawBeams(ctx, state, marks) {
    if (state.still) return;
    for (const { kind, footX, footY } of marks) {
      if (kind !== 'lighthouse') continue;
      ctx.save();
      ctx.translate(footX, footY + Math.round(LAMP * this.tile));
      ctx.rotate(state.now / BEAM_MS * Math.PI * 2);
      ctx.drawImage(this.beam.canvas, -this.beam.ax, -this.beam.ay);
      ctx.restore();
    }
  }
}
