// The picture of flowers, a prop like those of view/props.js; and the mark on the tile where the next plant would
// stand.

import { LEAVES } from '../view/palette.js';
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
