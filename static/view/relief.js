// The land as the map of everybody shows it: from far above and at night, so that lights stand out.
// It is painted in pieces, a few in each frame, and kept.

import { DEEP, GRASS, PATH, PLATEAU, ROCK, SAND, WATER, WOOD } from '../terrain.js';
import { canvasOf, contextOf, Lru } from './sprite.js';

const PIECE = 64;                         // samples at each side of a piece
const SAMPLE = 3;                         // css px: the least between two samples
const KEPT = 700;                         // pieces
const FAINT = 40, GONE = 160;             // tiles per sample: from the first on land is fainter, and
                                          // from the second on it would only be noise
const NIGHT = { [DEEP]: [13, 27, 43], [WATER]: [18, 37, 56], [SAND]: [62, 60, 50],
  [GRASS]: [34, 50, 44], [WOOD]: [27, 43, 37], [ROCK]: [48, 53, 60], [PATH]: [60, 60, 52],
  [PLATEAU]: [57, 63, 66] };

export const BACKDROP = '#0e1826';

export class Relief {
  constructor() {
    /** @type {import('../terrain.js').Terrain | null} */
    this.terrain = null;
    this.pieces = new Lru(KEPT);
  }

  /** Draw the land under the screen, and paint what is missing for at most `ms`. `gaze` is in squares of
   * `side` tiles; `ctx` draws in css px. */
  draw(ctx, terrain, gaze, side, ms) {
    if (terrain !== this.terrain) {
      this.terrain = terrain;
      this.pieces = new Lru(KEPT);
    }
    const tile = gaze.scale / side;       // css px
    const level = Math.max(0, Math.ceil(Math.log2(SAMPLE / tile))), sample = 2 ** level;
    const shown = Math.min(Math.max(Math.log(GONE / sample) / Math.log(GONE / FAINT), 0), 1);
    if (shown === 0) return;
    const until = performance.now() + ms, span = PIECE * sample, size = span * tile;
    const middleX = gaze.x * side, middleY = gaze.y * side;
    const c0 = Math.floor((middleX - gaze.width / 2 / tile) / span);
    const c1 = Math.floor((middleX + gaze.width / 2 / tile) / span);
    const r0 = Math.floor((middleY - gaze.height / 2 / tile) / span);
    const r1 = Math.floor((middleY + gaze.height / 2 / tile) / span);
    ctx.globalAlpha = shown;
    ctx.imageSmoothingEnabled = true;
    ctx.imageSmoothingQuality = 'high';
    for (const [col, row] of fromTheMiddle(c0, r0, c1, r1)) {
      const x = (col * span - middleX) * tile + gaze.width / 2;
      const y = (row * span - middleY) * tile + gaze.height / 2;
      let piece = this.pieces.get(level + ':' + col + ':' + row);
      if (piece === undefined && performance.now() < until) {
        piece = this.pieces.set(level + ':' + col + ':' + row,
          paint(terrain, col * span, row * span, sample));
      }
      // A hair more than its place, so that no line is seen between two pieces.
      if (piece !== undefined) ctx.drawImage(piece, x, y, size + 0.6, size + 0.6);
      else this.#drawCoarser(ctx, level, col, row, x, y, size);
    }
    ctx.globalAlpha = 1;
  }

  /** Draw a part of a piece of another level, if there is one, until the right one is painted. */
  #drawCoarser(ctx, level, col, row, x, y, size) {
    for (let up = 1; up <= 4; up++) {
      const parts = 2 ** up, above = [Math.floor(col / parts), Math.floor(row / parts)];
      const piece = this.pieces.get((level + up) + ':' + above[0] + ':' + above[1]);
      if (piece === undefined) continue;
      const part = PIECE / parts;
      ctx.drawImage(piece, (col - above[0] * parts) * part, (row - above[1] * parts) * part,
        part, part, x, y, size + 0.6, size + 0.6);
      return;
    }
  }
}

/** Return the columns and rows of a rectangle, those in the middle first. */
function fromTheMiddle(c0, r0, c1, r1) {
  const found = [], x = (c0 + c1) / 2, y = (r0 + r1) / 2;
  for (let row = r0; row <= r1; row++) {
    for (let col = c0; col <= c1; col++) found.push([col, row]);
  }
  return found.sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
}

function paint(terrain, left, top, sample) {
  const canvas = canvasOf(PIECE, PIECE), ctx = contextOf(canvas);
  const image = ctx.createImageData(PIECE, PIECE), { data } = image;
  for (let i = 0; i < PIECE * PIECE; i++) {
    const row = Math.floor(i / PIECE), x = left + (i - row * PIECE) * sample;
    const [red, green, blue] = NIGHT[terrain.sketch(x, top + row * sample)];
    data[4 * i] = red;
    data[4 * i + 1] = green;
    data[4 * i + 2] = blue;
    data[4 * i + 3] = 255;
  }
  ctx.putImageData(image, 0, 0);
  return canvas;
}
