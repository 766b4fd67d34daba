// Movement as a function of time. It is the twin of world/track.py, which explains what a track is and
// how the next leg of a walk is planned. tests/vectors/track.json makes sure that both give the same
// numbers. So all numbers are whole: use Math.floor(a / b), and no product over 2^53. It never touches
// the page.

export const UNIT = 1024;                 // a position is a whole number of 1/UNIT tile
const REACH = 32 * UNIT - 1;              // the longest leg along one axis: it fits 16 bits
const GOAL_REACH = 256 * UNIT;            // a farther goal counts as this far, along each axis
const ASIDE = 2;                          // tiles that a player goes aside to get past what bars the way
export const SPEED = 5120, DIAGONAL = 3620;   // units per second: straight, and along each axis
                                          // of a diagonal
export const PACE_USUAL = 100;            // how fast most players are, in percent of these

/**
 * A straight walk at a constant speed.
 * @typedef {object} Track
 * @property {number} x         where it begins, in units
 * @property {number} y
 * @property {number} dx        how far it goes, in units
 * @property {number} dy
 * @property {number} start     node time, ms
 * @property {number} duration  ms; 0 if the player stands
 */

/** @typedef {[number, number]} Pair */

/** @typedef {{ heading: Pair } | { goal: Pair } | null} Intent  What a player wants: to
 * walk in a direction ([-1..1, -1..1]), to walk to a position ([x, y] in units), or to stand. */

/** Return the track of a player that stands at (x, y) from time t (ms) on.
 * @returns {Track} */
export function stand(x, y, t) {
  return { x, y, dx: 0, dy: 0, start: t, duration: 0 };
}

/** Return the position [x, y], in whole units, at a whole millisecond.
 * @param {Track} track @returns {Pair} */
export function positionAt(track, t) {
  const passed = t - track.start;
  if (passed >= track.duration) return [track.x + track.dx, track.y + track.dy];
  if (passed <= 0) return [track.x, track.y];
  return [track.x + Math.floor(track.dx * passed / track.duration),
    track.y + Math.floor(track.dy * passed / track.duration)];
}

/** Return the position [x, y] in tiles at any time, not rounded: for drawing only. The track is extended
 * backwards to `before` ms before its start.
 * @param {Track} track @returns {Pair} */
export function drawnAt(track, t, before = 0) {
  const done = track.duration === 0 ? 1
    : Math.min(Math.max(t - track.start, -before) / track.duration, 1);
  return [(track.x + track.dx * done) / UNIT, (track.y + track.dy * done) / UNIT];
}

/** Return the ms after which a track first crosses a border along one axis, or null if it does not:
 * see passing() in world/track.py. */
export function passing(x, dx, duration, border) {
  if (dx > 0) {
    if (x >= border) return 0;
    return x + dx >= border ? Math.ceil((border - x) * duration / dx) : null;
  }
  if (x < border) return 0;
  return x + dx < border ? Math.floor((x - border) * duration / -dx) + 1 : null;
}

/** Return the next track of a player at (x, y) with an intent, from time `start` on, or null if it
 * cannot go any further. `blocked(column, row)` says whether a tile blocks walkers.
 * @param {Intent} intent
 * @returns {Track | null} */
export function leg(blocked, x, y, intent, start, pace = PACE_USUAL) {
  if (intent === null) return null;
  let farX, farY;
  if ('goal' in intent) {
    farX = clamp(intent.goal[0] - x, GOAL_REACH);
    farY = clamp(intent.goal[1] - y, GOAL_REACH);
  } else {
    farX = intent.heading[0] * REACH;
    farY = intent.heading[1] * REACH;
  }
  let [dx, dy, barred] = straight(blocked, x, y, ...shorten(farX, farY), pace);
  if (dx === 0 && dy === 0 && barred !== null) {
    [dx, dy] = slide(blocked, x, y, farX, farY, barred);
    if (dx === 0 && dy === 0 && 'heading' in intent) {
      [dx, dy] = aside(blocked, x, y, intent.heading);
    }
  }
  if (dx === 0 && dy === 0) return null;
  return { x, y, dx, dy, start, duration: durationOf(dx, dy, pace) };
}

/** Return whether the rest of a way, from time `t` on, leads over a blocked tile.
 * @param {Track} track */
export function isBarred(blocked, track, t, pace = PACE_USUAL) {
  const [x, y] = positionAt(track, t), dx = track.x + track.dx - x, dy = track.y + track.dy - y;
  return (dx !== 0 || dy !== 0) && firstBlock(blocked, x, y, dx, dy, pace) !== null;
}

function clamp(d, most) {
  return Math.min(Math.max(d, -most), most);
}

function shorten(dx, dy) {
  const longest = Math.max(Math.abs(dx), Math.abs(dy));
  if (longest <= REACH) return [dx, dy];
  return [part(dx, REACH, longest), part(dy, REACH, longest)];
}

function part(d, numerator, denominator) {
  const whole = Math.floor(Math.abs(d) * numerator / denominator);
  return d < 0 && whole !== 0 ? -whole : whole;
}

/** Return how many ms a displacement in units takes at a pace, rounded up; 0 if there is none. */
export function durationOf(dx, dy, pace = PACE_USUAL, speed = SPEED, diagonal = DIAGONAL) {
  const ax = Math.abs(dx), ay = Math.abs(dy);
  if (ax === ay) return Math.ceil(ax * 1000 / Math.floor(diagonal * pace / PACE_USUAL));
  const distance = ax === 0 || ay === 0 ? ax + ay : Math.floor(Math.sqrt(ax * ax + ay * ay));
  return Math.ceil(distance * 1000 / Math.floor(speed * pace / PACE_USUAL));
}

function straight(blocked, x, y, dx, dy, pace) {
  let barred = null;
  while (dx !== 0 || dy !== 0) {
    const block = firstBlock(blocked, x, y, dx, dy, pace);
    if (block === null) break;
    const [axis, tile] = block;
    if (axis === 'x') {
      const free = dx > 0 ? (tile + 1) * UNIT - 1 - x : tile * UNIT - x;
      dy = part(dy, Math.abs(free), Math.abs(dx));
      dx = free;
    } else {
      const free = dy > 0 ? (tile + 1) * UNIT - 1 - y : tile * UNIT - y;
      dx = part(dx, Math.abs(free), Math.abs(dy));
      dy = free;
    }
    barred = axis;
  }
  return [dx, dy, barred];
}

/** Return the axis along which a way is barred first, and the tile before the obstacle; or null.
 * @returns {['x' | 'y', number] | null} */
function firstBlock(blocked, x, y, dx, dy, pace) {
  const duration = durationOf(dx, dy, pace);
  let col = Math.floor(x / UNIT), row = Math.floor(y / UNIT);
  const lastCol = Math.floor((x + dx) / UNIT), lastRow = Math.floor((y + dy) / UNIT);
  const stepX = dx > 0 ? 1 : -1, stepY = dy > 0 ? 1 : -1;
  const upX = dx > 0 ? 1 : 0, upY = dy > 0 ? 1 : 0;
  while (col !== lastCol || row !== lastRow) {
    const atX = col !== lastCol ? passing(x, dx, duration, (col + upX) * UNIT) : null;
    const atY = row !== lastRow ? passing(y, dy, duration, (row + upY) * UNIT) : null;
    if (atY === null || (atX !== null && atX < atY)) {
      if (blocked(col + stepX, row)) return ['x', col];
      col += stepX;
    } else if (atX === null || atY < atX) {
      if (blocked(col, row + stepY)) return ['y', row];
      row += stepY;
    } else {
      const sideX = blocked(col + stepX, row), sideY = blocked(col, row + stepY);
      if ((sideX && sideY) || blocked(col + stepX, row + stepY)) {
        return sideX ? ['x', col] : ['y', row];
      }
      col += stepX;
      row += stepY;
    }
  }
  return null;
}

function slide(blocked, x, y, farX, farY, barred) {
  const col = Math.floor(x / UNIT), row = Math.floor(y / UNIT);
  if (barred === 'x') {
    const side = col + (farX > 0 ? 1 : -1);
    return [0, along(y, farY, (r) => blocked(col, r), (r) => blocked(side, r))];
  }
  const side = row + (farY > 0 ? 1 : -1);
  return [along(x, farX, (c) => blocked(c, row), (c) => blocked(c, side)), 0];
}

/** Return the step aside after which a barred heading is free: see _aside() in world/track.py.
 * @param {Pair} heading @returns {Pair} */
function aside(blocked, x, y, heading) {
  const [headX, headY] = heading;
  const col = Math.floor(x / UNIT), row = Math.floor(y / UNIT);
  if (headY === 0) return [0, toGap(y, (r) => blocked(col, r), (r) => blocked(col + headX, r))];
  if (headX === 0) return [toGap(x, (c) => blocked(c, row), (c) => blocked(c, row + headY)), 0];
  return [0, 0];
}

function toGap(p, ahead, beside) {
  const tile = Math.floor(p / UNIT);
  let nearest = 0;
  for (const step of [-1, 1]) {
    for (let away = 1; away <= ASIDE; away++) {
      if (ahead(tile + step * away)) break;
      if (beside(tile + step * away)) continue;
      const far = step > 0 ? (tile + away) * UNIT - p : (tile - away + 1) * UNIT - 1 - p;
      if (nearest === 0 || Math.abs(far) < Math.abs(nearest)) nearest = far;
      break;
    }
  }
  return nearest;
}

function along(p, far, ahead, beside) {
  if (far === 0) return 0;
  const step = far > 0 ? 1 : -1;
  far = clamp(far, REACH);
  let tile = Math.floor(p / UNIT);
  for (;;) {
    const first = step > 0 ? (tile + 1) * UNIT : tile * UNIT - 1;
    if ((first - p) * step > far * step) return far;
    if (ahead(tile + step)) return first - step - p;
    tile += step;
    if (!beside(tile)) return first - p;
  }
}
