// The ground that belongs to each kind of landmark: what has been trodden, paved, sown or strewn around it. It
// lies flat, under paths, and is painted in tiles from the landmark's feet.

import { part, rollAt } from './dice.js';
import { PATH_TONES, PLANK_TONES } from './palette.js';
import { box, fill, line } from './shapes.js';
import { oval } from './sprite.js';

/** How far a landmark's ground reaches, in tiles from its feet. */
export const GROUND_REACH = { side: 5, up: 3, down: 4 };
const SALT = 0x6120d;
const FLAGS = ['#c9c2b0', '#d6cfbd', '#bdb6a4'], SANDY = ['#e3bf80', '#efd39a', '#d6ae6c'];
const COOL = ['#a9aaa4', '#b7b8b1', '#9c9d97'];

/** Fill a round patch whose border is uneven. */
function patch(ctx, style, x, y, rx, ry, salt = 0) {
  const points = Array.from({ length: 12 }, (_, i) => {
    const turn = i * Math.PI / 6, far = 0.9 + 0.2 * part(rollAt(i, salt, SALT), 0);
    return [x + Math.cos(turn) * rx * far, y + Math.sin(turn) * ry * far];
  });
  ctx.fillStyle = style;
  ctx.beginPath();
  points.forEach(([px, py], i) => {
    const [nx, ny] = points[(i + 1) % points.length];
    if (i === 0) ctx.moveTo((points[11][0] + px) / 2, (points[11][1] + py) / 2);
    ctx.quadraticCurveTo(px, py, (px + nx) / 2, (py + ny) / 2);
  });
  ctx.fill();
}

/** Fill a patch of earth that feet have worn, with a lighter middle.
 * @param {number} x @param {number} y @param {number} rx @param {number} ry
 * @param {{ edge: string, earth: string, worn: string }} tones */
function worn(ctx, x, y, rx, ry, tones = PATH_TONES) {
  patch(ctx, tones.edge, x, y + 0.05, rx + 0.12, ry + 0.1);
  patch(ctx, tones.earth, x, y, rx, ry);
  patch(ctx, tones.worn, x - 0.1, y + 0.05, rx * 0.7, ry * 0.62, 1);
}

/** Lay flat stones in rings [radius, number of stones] around (0, y), in these tones; one in `gaps` is
 * missing. */
function paving(ctx, tones, rings, gaps, y = 0.1) {
  ctx.save();
  ctx.translate(0, y);
  ctx.scale(1, 0.66);
  ctx.lineWidth = 0.72;
  ctx.lineCap = 'butt';
  rings.forEach(([radius, count], ring) => {
    for (let i = 0; i < count; i++) {
      const roll = rollAt(i, ring, SALT + 1), step = Math.PI * 2 / count, turn = (i + ring * 0.37) * step;
      if (roll % gaps === 0) continue;
      ctx.strokeStyle = tones[(roll >>> 8) % tones.length];
      ctx.beginPath();
      ctx.arc(0, 0, radius, turn, turn + step - 0.1 / radius);
      ctx.stroke();
    }
  });
  ctx.restore();
}

/** Strew small things: paint(x, y, roll) is called for `count` places in a ring. */
function strew(count, from, to, salt, paint) {
  for (let i = 0; i < count; i++) {
    const roll = rollAt(i, salt, SALT + 2), turn = (i + 0.8 * part(roll, 0)) * Math.PI * 2 / count;
    const far = from + (to - from) * part(roll, 8);
    paint(Math.cos(turn) * far, 0.15 + Math.sin(turn) * far * 0.66, roll >>> 16);
  }
}

function flower(ctx, x, y, roll, colours) {
  const colour = colours[roll % colours.length];
  for (let i = 0; i < 5; i++) {
    const turn = i * 1.257 + roll;
    oval(ctx, x + Math.cos(turn) * 0.09, y + Math.sin(turn) * 0.08, 0.075, 0.065, colour);
  }
  oval(ctx, x, y, 0.055, 0.05, '#f0b429');
}

/** Paint a field of ripe corn. */
function corn(ctx, x, y) {
  box(ctx, '#b9953f', x - 0.06, y - 0.02, 2.02, 2.6, 0.3);
  box(ctx, '#d8b24e', x, y - 0.1, 1.9, 2.56, 0.3);
  for (let row = 0; row < 6; row++) {
    for (let i = 0; i < 8; i++) {
      const left = x + 0.18 + i * 0.22, top = y + 0.22 + row * 0.4;
      line(ctx, (row + i) % 3 ? '#f0d377' : '#c39a3c', 0.09, `M${left} ${top}l.05-.22`);
    }
  }
}

export const GROUNDS = {
  windmill(ctx) {
    worn(ctx, 0.1, 0.7, 2.9, 1.5);
    corn(ctx, -4.7, -1.2);
    corn(ctx, 2.8, -1.2);
    for (const [x, y] of [[-1.9, 1.5], [-1.5, 1.66]]) {
      oval(ctx, x + 0.06, y + 0.06, 0.28, 0.16, 'rgba(60, 46, 30, 0.3)');
      oval(ctx, x, y, 0.26, 0.18, '#e8dcc0');
    }
  },

  lighthouse(ctx, { sand }) {
    worn(ctx, 0, 0.5, 3.6, 2, { edge: sand.grain, earth: sand.wet, worn: sand.dry });
    paving(ctx, FLAGS, [[0.5, 3], [1.3, 7]], 9, 1.3);
    strew(18, 3.5, 3.9, 4, (x, y, roll) => {
      oval(ctx, x + 0.03, y + 0.05, 0.21, 0.14, 'rgba(60, 60, 40, 0.35)');
      oval(ctx, x, y, 0.2, 0.13, roll % 3 ? '#f7f3e8' : '#e5dfd0');
    });
  },

  tower(ctx, { grass }) {
    patch(ctx, grass.floor, 0, 0.2, 4.3, 2.8, 2);
    paving(ctx, COOL, [[1.1, 6], [1.9, 10], [2.7, 14], [3.5, 18]], 5, 0.3);
  },

  caravan(ctx) {
    worn(ctx, 0, 0.7, 3.5, 1.7);
    line(ctx, '#b3976c', 0.12, 'M2.4-.1Q3.6 0 4.6-.6M2.3.5Q3.6.6 4.8 0');
    // A rug is spread before the door.
    ctx.save();
    ctx.translate(-2.3, 1.5);
    ctx.transform(1, 0, -0.35, 1, 0, 0);
    box(ctx, '#8f3a30', -0.85, -0.42, 1.7, 0.84, 0.06);
    for (const [x, style] of [[-0.72, '#f4d27a'], [-0.4, '#2f8379'], [-0.08, '#f4d27a'], [0.24, '#2f8379'], [0.56, '#f4d27a']]) {
      box(ctx, style, x, -0.36, 0.16, 0.72);
    }
    ctx.restore();
    strew(16, 3.6, 4.4, 6, (x, y, roll) => oval(ctx, x, y, 0.12, 0.07, ['#d67a38', '#c4553f', '#dcb043'][roll % 3], roll));
  },

  igloo(ctx) {
    patch(ctx, '#c3d6e2', 0, 0.3, 4.5, 2.9, 3);
    patch(ctx, '#f7fbfd', 0, 0.24, 4.3, 2.7, 3);
    patch(ctx, '#dfebf2', 1.2, 1.2, 1.9, 1, 4);
    for (let i = 0; i < 7; i++) oval(ctx, 1.9 - i * 0.26 + 0.14 * (i % 2), 0.6 + i * 0.24, 0.1, 0.07, '#b4c9d8');
    strew(9, 3.4, 4.1, 7, (x, y, roll) => line(ctx, '#c3d6e2', 0.07, `M${x - 0.3} ${y}q.25-.16.6 ${0.04 * (roll % 2)}`));
  },

  pyramid(ctx) {
    patch(ctx, '#d9b77c', 0, 0.3, 4.7, 2.8, 1);
    patch(ctx, '#f0d7a3', 0, 0.24, 4.5, 2.6, 1);
    for (let row = 0; row < 5; row++) {
      for (let i = 0; i < 3; i++) {
        const tone = SANDY[rollAt(i, row, SALT) % 3];
        box(ctx, tone, -1.5 + i * 0.54 + 0.14 * row, 0.66 + row * 0.46, 0.5, 0.4, 0.06);
      }
    }
    strew(12, 3.6, 4.3, 8, (x, y, roll) => line(ctx, '#d0ae72', 0.08, `M${x - 0.4} ${y}q.3-.2.8 ${0.05 * (roll % 2)}`));
  },

  stones(ctx, { grass }) {
    patch(ctx, grass.floor, 0, 0.15, 4.6, 3, 2);
    patch(ctx, grass.lip, 0, 0.15, 3.62, 2.24, 4);
    patch(ctx, grass.sunny, 0, 0.1, 3.46, 2.1, 4);
    paving(ctx, COOL, [[0.5, 3], [1.3, 8]], 7, 0.7);
    strew(22, 4.2, 4.4, 9, (x, y, roll) => {
      oval(ctx, x + 0.03, y + 0.05, 0.17, 0.1, 'rgba(50, 50, 40, 0.35)');
      oval(ctx, x, y, 0.16, 0.1, COOL[roll % 3]);
    });
  },

  wreck(ctx, { water, sand }) {
    worn(ctx, 0, 0.3, 4.4, 2.1, { edge: sand.grain, earth: sand.dry, worn: sand.wet });
    for (const [x, y, rx] of [[2.6, 1.3, 0.95], [-3.3, 0.1, 0.6]]) {
      patch(ctx, water.shallow, x, y, rx + 0.1, rx * 0.5 + 0.08, 3);
      patch(ctx, water.water, x, y, rx, rx * 0.48, 3);
    }
    for (const [x, y, turn] of [[1, 1.7, 0.3], [-0.4, 2.2, -0.2], [3.4, 0.5, 0.7]]) {
      ctx.save();
      ctx.translate(x, y);
      ctx.rotate(turn);
      box(ctx, PLANK_TONES.dark, -0.66, -0.07, 1.36, 0.22, 0.04);
      box(ctx, PLANK_TONES.deck, -0.66, -0.1, 1.3, 0.18, 0.04);
      ctx.restore();
    }
    for (const [x, y] of [[-3.1, 1.3], [0.4, 1.2], [3.9, 1.5]]) {
      line(ctx, '#5f8a5a', 0.1, `M${x} ${y}q.2-.2.4 0t.4 0M${x + 0.1} ${y + 0.14}q.2-.16.4 0t.4 .04`);
    }
    for (const [x, y] of [[-1.2, 1.5], [2, 2.1], [-2.6, 1.9]]) {
      fill(ctx, '#f7d9c4', `M${x} ${y}q-.2-.02-.2-.16q.1-.14.2-.12t.2.12q0 .14-.2.16Z`);
    }
  },

  balloon(ctx, { grass }) {
    patch(ctx, grass.lip, 0, 0.28, 4.3, 2.85, 0);
    oval(ctx, 0, 0.2, 4.1, 2.7, grass.sunny);
    for (const [radius, style] of [[3.5, '#ffffff'], [3.3, grass.meadow], [2.2, '#ffffff'], [2.02, grass.sunny]]) {
      oval(ctx, 0, 0.2, radius, radius * 0.66, style);
    }
    for (let i = 0; i < 12; i++) {
      const turn = i * Math.PI / 6;
      oval(ctx, Math.cos(turn) * 4.1, 0.2 + Math.sin(turn) * 2.7, 0.14, 0.1, i % 2 ? '#ef476f' : '#ffd166');
    }
  },

  oak(ctx, { grass }) {
    patch(ctx, grass.lush, 0, 0.25, 4.6, 3, 2);
    patch(ctx, grass.floor, 0, 0.3, 3.4, 2, 3);
    worn(ctx, 0.2, 1.1, 1.4, 0.9);
    strew(44, 3.5, 4.4, 11, (x, y, roll) => flower(ctx, x, y, roll, ['#ffffff', '#ffe38a', '#f7b5cd', '#b9a7ee']));
    strew(16, 1.4, 3, 12, (x, y, roll) => oval(ctx, x, y, 0.09, 0.06, ['#5f914b', '#a98a4a'][roll % 2], roll));
  },

  toadstool(ctx, { grass }) {
    patch(ctx, grass.floor, 0, 0.25, 4.5, 2.9, 1);
    patch(ctx, grass.leaf, 0, 0.25, 3.2, 2, 2);
    worn(ctx, 0.1, 1.1, 1.1, 1, { edge: '#6d6248', earth: '#8a7c5c', worn: '#9b8d6a' });
    strew(18, 3.9, 4.2, 13, (x, y, roll) => {
      oval(ctx, x, y + 0.1, 0.06, 0.1, '#efe5cf');
      oval(ctx, x, y, 0.17, 0.12, ['#d9534f', '#7a64b4', '#45aaa2'][roll % 3]);
      oval(ctx, x - 0.05, y - 0.03, 0.04, 0.03, '#fff6ea');
    });
    strew(20, 2.4, 3.6, 14, (x, y, roll) => flower(ctx, x, y, roll, ['#dff0ff', '#f4f1ff']));
  },

  head(ctx, { grass }) {
    patch(ctx, grass.lip, 0, 0.2, 4.3, 2.7, 2);
    patch(ctx, grass.lush, 0, 0.14, 4.1, 2.5, 2);
    paving(ctx, COOL, [[1.6, 8], [2.4, 12], [3.2, 16]], 5, 0.3);
    strew(14, 2.6, 4, 16, (x, y, roll) => flower(ctx, x, y, roll, ['#fff6dc', '#ff9aa8', '#ffd166']));
  },
};
