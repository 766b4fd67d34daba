// The flag of the place that was chosen on the map of everybody.

/** Draw a flag whose foot is at (x, y). */
export function drawFlag(ctx, x, y, size) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size, size);
  ctx.lineCap = ctx.lineJoin = 'round';
  for (const { style, width } of [{ style: 'rgba(14, 24, 38, 0.85)', width: 5 },
    { style: '#ffffff', width: 2 }]) {
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
    if (width === 5) ctx.stroke();
  }
  ctx.fillStyle = '#ff7d9c';
  ctx.fill();
  ctx.restore();
}
