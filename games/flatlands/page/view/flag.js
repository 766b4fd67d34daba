// The flag of the place that was chosen on the map of everybody.

const EDGE = 'rgba(14, 24, 38, 0.85)', POLE = '#ffffff', CLOTH = '#ff7d9c';

/** Draw a flag whose foot is at (x, y), 22 * `size` px high. */
export function drawFlag(ctx, x, y, size) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size, size);
  ctx.lineCap = ctx.lineJoin = 'round';
  for (const { style, width } of [{ style: EDGE, width: 5 }, { style: POLE, width: 2 }]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(0, 0);
    ctx.lineTo(0, -22);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(1, -22);
    ctx.lineTo(15, -17);
    ctx.lineTo(1, -12);
    ctx.closePath();
    if (style === EDGE) ctx.stroke();
  }
  ctx.fillStyle = CLOTH;
  ctx.fill();
  ctx.restore();
}
