// The pictures of what people plant, except the lantern, as props like those of view/props.js; and the mark on the
// tile where the next one would stand.

import { LEAVES, ROCK_TONES } from '../view/palette.js';
import { crown, fill, lit } from '../view/shapes.js';
import { oval } from '../view/sprite.js';

/** The heads of a bed of flowers. */
const HEADS = [{ x: -0.3, y: -0.22, petals: '#ef6f8e' }, { x: -0.1, y: -0.34, petals: '#ffffff' },
  { x: 0.12, y: -0.26, petals: '#f7c948' }, { x: 0.32, y: -0.32, petals: '#b28df0' }, { x: -0.22, y: -0.05, petals: '#f7c948' },
  { x: 0.02, y: -0.1, petals: '#ef6f8e' }, { x: 0.24, y: -0.06, petals: '#ffffff' }];

export const GARDEN = [
  {
    name: 'flowers', shadow: 0, box: { left: -0.48, top: -0.5, right: 0.48, bottom: 0.2 },
    paint(ctx) {
      oval(ctx, 0, 0, 0.45, 0.17, '#8a6a45');
      oval(ctx, -0.02, -0.03, 0.38, 0.12, '#9c7a52');
      ctx.lineCap = 'round';
      for (const { x, y, petals } of HEADS) {
        ctx.strokeStyle = LEAVES[0].middle;
        ctx.lineWidth = 0.05;
        ctx.beginPath();
        ctx.moveTo(x * 0.9, y + 0.24);
        ctx.lineTo(x, y);
        ctx.stroke();
        for (let i = 0; i < 5; i++) {
          const turn = i * Math.PI * 0.4;
          oval(ctx, x + 0.06 * Math.cos(turn), y + 0.06 * Math.sin(turn), 0.05, 0.05, petals);
        }
        oval(ctx, x, y, 0.04, 0.04, '#e09a2c');
      }
    },
  },
  {
    // It is as wide as a tile, so that several in a row look like one.
    name: 'hedge', shadow: 0.4, box: { left: -0.58, top: -0.86, right: 0.58, bottom: 0.2 },
    paint(ctx) {
      crown(ctx, [[-0.28, -0.16, 0.28], [0.28, -0.16, 0.28], [0, -0.14, 0.3], [-0.26, -0.5, 0.28], [0.26, -0.5, 0.28],
        [0, -0.54, 0.28]], LEAVES[0]);
      for (const [x, y] of [[-0.3, -0.34], [0.06, -0.2], [0.3, -0.5], [-0.06, -0.6]]) oval(ctx, x, y, 0.04, 0.04, '#ffffff');
    },
  },
  {
    name: 'standingStone', shadow: 0.36, box: { left: -0.4, top: -1.1, right: 0.4, bottom: 0.14 },
    paint(ctx) {
      lit(ctx, { dark: ROCK_TONES.face, middle: ROCK_TONES.top, light: ROCK_TONES.rim },
        'M-.3 .06C-.34-.4-.26-.84-.04-1.02C.2-1.04 .32-.6 .32 .04C.1 .12-.14 .12-.3 .06', 0.07, 0.05);
      fill(ctx, 'rgba(90, 120, 80, 0.5)', 'M-.28 .05C-.2-.1 .1-.02 .31 .03C.1 .11-.14 .11-.28 .05');
    },
  },
];

/** Mark the tile on which something would be planted.
 * @param {{ x: number, y: number } | null} bed  its corner @param {import('../view/screen.js').Screen} screen */
export function drawBed(ctx, bed, screen) {
  if (bed === null) return;
  const side = screen.tile, x = screen.x(bed.x), y = screen.y(bed.y);
  ctx.strokeStyle = 'rgba(255, 255, 255, 0.9)';
  ctx.lineWidth = Math.max(2, side / 16);
  ctx.setLineDash([side / 6, side / 8]);
  ctx.strokeRect(x + side * 0.08, y + side * 0.08, side * 0.84, side * 0.84);
  ctx.setLineDash([]);
}
