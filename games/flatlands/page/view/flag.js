// Flags: of the place that was chosen on the map of everybody, and of landmarks on the minimap.

/** The colours of the place's flag, and how many times as wide its lines are. */
const AIM = { edge: 'rgba(14, 24, 38, 0.85)', pole: '#ffffff', cloth: '#ff7d9c', bold: 1 };
/** Those of a landmark's flag, which is small. */
export const LANDMARK_FLAG = { edge: '#2b2118', pole: '#f3e2bd', cloth: '#ffd166', bold: 1.7 };

/** Draw a flag whose foot is at (x, y), 22 * `size` px high. */
export function drawFlag(ctx, x, y, size, { edge, pole, cloth, bold } = AIM) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size, size);
  ctx.lineCap = ctx.lineJoin = 'round';
  for (const { style, width } of [{ style: edge, width: 5 }, { style: pole, width: 2 }]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width * bold;
    ctx.beginPath();
    ctx.moveTo(0, 0);
    ctx.lineTo(0, -22);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(1, -22);
    ctx.lineTo(15, -17);
    ctx.lineTo(1, -12);
    ctx.closePath();
    if (style === edge) ctx.stroke();
  }
  ctx.fillStyle = cloth;
  ctx.fill();
  ctx.restore();
}
