// The borders between kinds of ground as smooth closed curves. They are found by marching squares over
// values sampled at tile centres, and drawn as quadratic curves through the middles of the sides.

const MAX_SMOOTHING = 0.16;               // tiles by which smoothing may move a corner

let ring = new Float32Array(0), nexts = new Int32Array(0);
let xs = new Float32Array(1024), ys = new Float32Array(1024);

/** @typedef {Path2D | 'all' | null} Outline  A path in tiles, 'all' for
 * everywhere, or null for nowhere. */

/** Return the outline of the area where `values` are positive. These are side x side samples, the first
 * at tile `first` + 0.5 both ways. A corner between an inside and an outside sample lies where the
 * values cross zero, but no nearer than `near` and no farther than `far` of the way to the outside
 * sample, so that the curve agrees with the tiles.
 * @returns {Outline} */
export function outline(values, side, first, near, far) {
  let inside = 0;
  const size = side * side;
  for (let i = 0; i < size; i++) if (values[i] > 0) inside++;
  if (inside === 0) return null;
  if (inside === size) return 'all';
  const width = side + 2;
  surround(values, side, width);
  march(width);
  const path = new Path2D();
  for (let edge = 0; edge < 2 * width * width; edge++) {
    if (nexts[edge] >= 0) trace(path, edge, width, first - 0.5, near, far);
  }
  return path;
}

/** Copy the samples, and surround them with outside ones, so that every outline is closed. */
function surround(values, side, width) {
  if (ring.length < width * width) {
    ring = new Float32Array(width * width);
    nexts = new Int32Array(2 * width * width);
  }
  ring.fill(-1);
  nexts.fill(-1);
  for (let j = 0; j < side; j++) {
    for (let i = 0; i < side; i++) ring[(j + 1) * width + i + 1] = values[j * side + i];
  }
}

/** Link the edges that the outline crosses. Edge 2k runs from sample k to the right, and edge 2k + 1
 * down. At most one piece of outline leaves an edge, so one number per edge is enough. */
function march(width) {
  for (let j = 0; j < width - 1; j++) {
    for (let i = 0; i < width - 1; i++) {
      const k = j * width + i;
      const a = ring[k], b = ring[k + 1], c = ring[k + width + 1], d = ring[k + width];
      const corners = (a > 0 ? 1 : 0) + (b > 0 ? 2 : 0) + (c > 0 ? 4 : 0) + (d > 0 ? 8 : 0);
      if (corners === 0 || corners === 15) continue;
      const top = 2 * k, left = 2 * k + 1, right = 2 * (k + 1) + 1, bottom = 2 * (k + width);
      switch (corners) {
        case 1: nexts[left] = top; break;
        case 2: nexts[top] = right; break;
        case 4: nexts[right] = bottom; break;
        case 8: nexts[bottom] = left; break;
        case 3: nexts[left] = right; break;
        case 6: nexts[top] = bottom; break;
        case 12: nexts[right] = left; break;
        case 9: nexts[bottom] = top; break;
        case 14: nexts[top] = left; break;
        case 13: nexts[right] = top; break;
        case 11: nexts[bottom] = right; break;
        case 7: nexts[left] = bottom; break;
        case 5:
          if (a + b + c + d > 0) { nexts[right] = top; nexts[left] = bottom; }
          else { nexts[left] = top; nexts[right] = bottom; }
          break;
        default:
          if (a + b + c + d > 0) { nexts[top] = left; nexts[bottom] = right; }
          else { nexts[top] = right; nexts[bottom] = left; }
      }
    }
  }
}

/** Follow one closed outline from `start`, remove its links, and add it to the path. */
function trace(path, start, width, first, near, far) {
  let count = 0;
  for (let edge = start; edge >= 0;) {
    const k = Math.floor(edge / 2), down = edge - 2 * k;
    const other = down ? k + width : k + 1;
    const here = ring[k], there = ring[other];
    const out = here > 0 ? here / (here - there) : there / (there - here);
    const kept = Math.min(Math.max(out, near), far), at = here > 0 ? kept : 1 - kept;
    const row = Math.floor(k / width);
    if (count === xs.length) {
      xs = longer(xs);
      ys = longer(ys);
    }
    xs[count] = first + k - row * width + (down ? 0 : at);
    ys[count++] = first + row + (down ? at : 0);
    const next = nexts[edge];
    nexts[edge] = -1;
    edge = next;
  }
  count--;                                // the last edge is the first one again
  smooth(count);
  let beforeX = xs[count - 1], beforeY = ys[count - 1];
  path.moveTo((beforeX + xs[0]) / 2, (beforeY + ys[0]) / 2);
  for (let i = 0; i < count; i++) {
    const after = i + 1 === count ? 0 : i + 1;
    path.quadraticCurveTo(xs[i], ys[i], (xs[i] + xs[after]) / 2, (ys[i] + ys[after]) / 2);
  }
  path.closePath();
}

/** Move each corner a little towards the middle between its neighbours. */
function smooth(count) {
  const firstX = xs[0], firstY = ys[0];
  let beforeX = xs[count - 1], beforeY = ys[count - 1];
  for (let i = 0; i < count; i++) {
    const x = xs[i], y = ys[i];
    const afterX = i + 1 === count ? firstX : xs[i + 1];
    const afterY = i + 1 === count ? firstY : ys[i + 1];
    let moveX = (beforeX + afterX) / 4 - x / 2, moveY = (beforeY + afterY) / 4 - y / 2;
    const length = Math.hypot(moveX, moveY);
    if (length > MAX_SMOOTHING) {
      moveX *= MAX_SMOOTHING / length;
      moveY *= MAX_SMOOTHING / length;
    }
    xs[i] = x + moveX;
    ys[i] = y + moveY;
    beforeX = x;
    beforeY = y;
  }
}

function longer(values) {
  const more = new Float32Array(values.length * 2);
  more.set(values);
  return more;
}
