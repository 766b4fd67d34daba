// Shapes that several props are made of, in tiles, in flat colours and lit from the left.

/** The colours of openings and iron, and of lit panes. */
export const DARK = '#3c4654', GLASS = '#ffe9ac';

/** Fill a polygon through these corners. */
export function polygon(ctx, style, ...points) {
  ctx.fillStyle = style;
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.fill();
}

/** Fill a shape that is given as SVG gives paths, in tiles. */
export function fill(ctx, style, path) {
  ctx.fillStyle = style;
  ctx.fill(new Path2D(path));
}

/** Draw lines that are given as SVG gives paths, `width` tiles wide and with round ends. */
export function line(ctx, style, width, path) {
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.lineCap = ctx.lineJoin = 'round';
  ctx.stroke(new Path2D(path));
}

/** Fill a shape in three shades: the lighter ones reach to (dx, dy) tiles, and to twice as far, from its
 * edge to the lower right. */
export function lit(ctx, { dark, middle, light }, path, dx, dy) {
  const shape = new Path2D(path);
  ctx.save();
  ctx.fillStyle = dark;
  ctx.fill(shape);
  ctx.clip(shape);
  for (const style of [middle, light]) {
    ctx.translate(-dx, -dy);
    ctx.fillStyle = style;
    ctx.fill(shape);
  }
  ctx.restore();
}

/** Fill a rectangle; its corners are round if a radius, or one for each, is given. What is filled next has
 * the same style.
 * @param {number | number[]} round */
export function box(ctx, style, x, y, width, height, round = 0) {
  ctx.fillStyle = style;
  if (round === 0) return ctx.fillRect(x, y, width, height);
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, round);
  ctx.fill();
}

/** Draw a tower that is `low` tiles wide to each side at its foot and `high` at `top`, lit from the left. */
export function shaft(ctx, low, high, top, { dark, middle, light }) {
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

/** Draw a door with a round top; `x` is its middle. */
export function door(ctx, x, width, height) {
  box(ctx, '#6b4a30', x - width / 2, -height, width, height + 0.05, [width / 2, width / 2, 0, 0]);
  box(ctx, '#8f6441', x - width / 2 + 0.06, 0.06 - height, width - 0.12, height - 0.02,
    [width / 2, width / 2, 0, 0]);
}

/** Draw a dark opening with a round top, its middle at (x, y). */
export function hole(ctx, x, y, width, height) {
  box(ctx, DARK, x - width / 2, y - height / 2, width, height, [width / 2, width / 2, 0, 0]);
}

/** Draw the crown of something as large as a landmark. */
export function canopy(ctx, list, { dark, middle, light }) {
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

/** Draw overlapping discs [x, y, r] as one shape, moved by (dx, dy) and scaled about its middle. */
export function discs(ctx, list, style, dx = 0, dy = 0, grow = 0) {
  ctx.fillStyle = style;
  ctx.beginPath();
  for (const [x, y, r] of list) {
    ctx.moveTo(x + dx + r + grow, y + dy);
    ctx.arc(x + dx, y + dy, Math.max(0.02, r + grow), 0, Math.PI * 2);
  }
  ctx.fill();
}

/** Draw a crown of discs in three shades, with the light from the upper left. */
export function crown(ctx, list, { dark, middle, light }) {
  discs(ctx, list, dark);
  ctx.save();
  ctx.beginPath();
  for (const [x, y, r] of list) {
    ctx.moveTo(x + r, y);
    ctx.arc(x, y, r, 0, Math.PI * 2);
  }
  ctx.clip();
  discs(ctx, list, middle, -0.07, -0.13, -0.03);
  discs(ctx, list, light, -0.17, -0.26, -0.17);
  ctx.restore();
}
