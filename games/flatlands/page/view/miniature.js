// Small pictures of landmarks for maps: each kind as it stands in the world, but with an edge.

import { LANDMARKS } from './landmarks.js';
import { canvasOf, contextOf } from './sprite.js';

const EDGE = '#2b2118', RIM = 1.2;        // px

/** @type {Map<string, HTMLCanvasElement>} By kind and size. */
const made = new Map();

/** Return the picture of a kind of landmark, at most `size` device px high and wide. Its feet are in the middle
 * of the lower edge. It is made once.
 * @returns {HTMLCanvasElement} */
export function miniatureOf(kind, size) {
  const key = kind + size;
  let canvas = made.get(key);
  if (canvas === undefined) made.set(key, canvas = outlined(paint(kind, size), RIM));
  return canvas;
}

/** The box of all parts of each kind of landmark, with what moves, in tiles from its feet. */
export const EXTENTS = Object.fromEntries(Object.entries(LANDMARKS).map(([kind, parts]) => {
  const boxes = parts.flatMap(({ x, y, box, moving }) => [{ x, y, box },
    ...(moving === undefined ? [] : [{ x: x + moving.x, y: y + moving.y, box: moving.box }])]);
  return [kind, { left: Math.min(...boxes.map(({ x, box }) => x + box.left)),
    top: Math.min(...boxes.map(({ y, box }) => y + box.top)),
    right: Math.max(...boxes.map(({ x, box }) => x + box.right)),
    bottom: Math.max(...boxes.map(({ y, box }) => y + box.bottom)) }];
}));

function paint(kind, size) {
  const { left, top, right, bottom } = EXTENTS[kind], half = Math.max(-left, right);
  const scale = (size - 2 * RIM) / Math.max(2 * half, bottom - top);
  const canvas = canvasOf(2 * half * scale + 2 * RIM, (bottom - top) * scale + 2 * RIM), ctx = contextOf(canvas);
  ctx.translate(canvas.width / 2, RIM - top * scale);
  ctx.scale(scale, scale);
  for (const { x, y, paint: draw, moving } of [...LANDMARKS[kind]].sort((a, b) => a.y - b.y)) {
    ctx.save();
    ctx.translate(x, y);
    ctx.save();
    draw(ctx);
    ctx.restore();
    if (moving !== undefined) {
      ctx.translate(moving.x, moving.y);
      ctx.rotate(moving.rest ?? 0);
      moving.paint(ctx);
    }
    ctx.restore();
  }
  return canvas;
}

/** Return a picture with an edge around what it shows. */
function outlined(picture, rim) {
  const canvas = canvasOf(picture.width, picture.height), ctx = contextOf(canvas);
  for (let i = 0; i < 8; i++) {
    ctx.drawImage(picture, rim * Math.cos(i * Math.PI / 4), rim * Math.sin(i * Math.PI / 4));
  }
  ctx.globalCompositeOperation = 'source-in';
  ctx.fillStyle = EDGE;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.globalCompositeOperation = 'source-over';
  ctx.drawImage(picture, 0, 0);
  return canvas;
}
