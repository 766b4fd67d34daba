// The land as the map of everybody shows it: from far above, in the colours of the small map. It is painted
// in pieces, a few in each frame, and kept.

import { MEADOWS, Regions } from '../regions.js';
import { GRASS } from '../terrain.js';
import { MAP_COLOURS } from './palette.js';
import { canvasOf, contextOf, Lru } from './sprite.js';

const PIECE = 64;                         // samples at each side of a piece
const SAMPLE = 3;                         // css px: the least distance between two samples
const KEPT = 700;                         // pieces
const EXACT = 1;                          // the last level whose samples are tiles with all their paths
const SHAPES = [1, 1, 0.9, 0.75, 0.5, 0.3, 0.1];  // how much lakes and woods are seen, by level: farther
                                          // away they are noise, and regions remain
const FAINT = 200, GONE = 1000;           // tiles per sample at which the land begins to fade, and is gone
const NO_WOOD = 32768;                    // where groves do not matter

export const BACKDROP = `rgb(${MAP_COLOURS[MEADOWS][GRASS].join()})`;
/** The colour of land that is not drawn yet, which looks like neither meadow nor sea. */
export const UNDRAWN = '#4a515b';

export class Relief {
  constructor() {
    /** @type {import('../terrain.js').Terrain | null} */
    this.terrain = null;
    this.regions = new Regions(0);
    this.pieces = new Lru(KEPT);
    this.whole = contextOf(canvasOf(1, 1));
  }

  /** Draw the land under the screen, and paint what is missing for at most `ms`. `gaze` is in squares of
   * `side` tiles; `ctx` draws in css px. */
  draw(ctx, terrain, gaze, side, ms) {
    if (terrain !== this.terrain) {
      this.terrain = terrain;
      this.regions = new Regions(terrain.seed);
      this.pieces = new Lru(KEPT);
    }
    const tile = gaze.scale / side;       // css px
    const level = Math.max(0, Math.ceil(Math.log2(SAMPLE / tile))), sample = 2 ** level;
    const shown = Math.min(Math.max(Math.log(GONE / sample) / Math.log(GONE / FAINT), 0), 1);
    if (shown === 0) return;
    const until = performance.now() + ms, span = PIECE * sample;
    const left = gaze.x * side - gaze.width / 2 / tile, top = gaze.y * side - gaze.height / 2 / tile;
    const c0 = Math.floor(left / span), c1 = Math.floor(left / span + gaze.width / tile / span);
    const r0 = Math.floor(top / span), r1 = Math.floor(top / span + gaze.height / tile / span);
    // All pieces are put together and then enlarged as one, so that no lines are seen between them.
    const { whole } = this;
    whole.canvas.width = (c1 - c0 + 1) * PIECE;
    whole.canvas.height = (r1 - r0 + 1) * PIECE;
    for (const [col, row] of fromTheMiddle(c0, r0, c1, r1)) {
      const key = level + ':' + col + ':' + row;
      let piece = this.pieces.get(key);
      if (piece === undefined && performance.now() < until) {
        piece = this.pieces.set(key, this.#paint(terrain, col * span, row * span, level));
      }
      const x = (col - c0) * PIECE, y = (row - r0) * PIECE;
      if (piece !== undefined) whole.drawImage(piece, x, y);
      else this.#drawCoarser(level, col, row, x, y);
    }
    ctx.globalAlpha = shown;
    ctx.imageSmoothingEnabled = true;
    ctx.imageSmoothingQuality = 'high';
    ctx.drawImage(whole.canvas, (c0 * span - left) * tile, (r0 * span - top) * tile,
      whole.canvas.width * sample * tile, whole.canvas.height * sample * tile);
    ctx.globalAlpha = 1;
  }

  /** Draw part of a coarser piece, if there is one, until the right piece is painted; otherwise say that none is. */
  #drawCoarser(level, col, row, x, y) {
    for (let up = 1; up <= 4; up++) {
      const parts = 2 ** up, above = [Math.floor(col / parts), Math.floor(row / parts)];
      const piece = this.pieces.get((level + up) + ':' + above[0] + ':' + above[1]);
      if (piece === undefined) continue;
      const part = PIECE / parts;
      this.whole.drawImage(piece, (col - above[0] * parts) * part, (row - above[1] * parts) * part,
        part, part, x, y, PIECE, PIECE);
      return;
    }
    this.whole.fillStyle = UNDRAWN;
    this.whole.fillRect(x, y, PIECE, PIECE);
  }

  #paint(terrain, left, top, level) {
    const canvas = canvasOf(PIECE, PIECE), ctx = contextOf(canvas), sample = 2 ** level;
    const image = ctx.createImageData(PIECE, PIECE), shapes = SHAPES[level] ?? 0;
    for (let i = 0; i < PIECE * PIECE; i++) {
      const row = Math.floor(i / PIECE), x = left + (i - row * PIECE) * sample, y = top + row * sample;
      const colours = MAP_COLOURS[this.regions.at(x, y, NO_WOOD)];
      const kind = level <= EXACT ? terrain.kind(x, y) : shapes > 0 ? terrain.sketch(x, y) : GRASS;
      const seen = colours[kind], beneath = colours[GRASS];
      for (let k = 0; k < 3; k++) image.data[4 * i + k] = beneath[k] + (seen[k] - beneath[k]) * shapes;
      image.data[4 * i + 3] = 255;
    }
    ctx.putImageData(image, 0, 0);
    return canvas;
  }
}

/** Return the places [column, row] in a rectangle, those in the middle first. */
function fromTheMiddle(c0, r0, c1, r1) {
  const found = [], x = (c0 + c1) / 2, y = (r0 + r1) / 2;
  for (let row = r0; row <= r1; row++) {
    for (let col = c0; col <= c1; col++) found.push([col, row]);
  }
  return found.sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
}
