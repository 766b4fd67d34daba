// The ground, as pieces that are painted once and then copied to the screen in each frame. Memory
// limits how many pieces are kept, and time limits how many are painted in a frame.

import { Bridges } from './bridges.js';
import { paintPiece } from './piece.js';
import { MAP_COLOURS } from './palette.js';
import { canvasOf, contextOf, Lru, spriteOf } from './sprite.js';
import { PROPS } from './props.js';
import { PAD, Window } from './window.js';

const MEMORY = 96 * 2 ** 20;              // bytes of pieces that are kept, or more
const PIECE_PX = 320;                     // device px: if 16 tiles are wider than this, a piece has 8
const REACH = 3;                          // tiles that a prop may cover beyond its own tile
const AROUND = 8;                         // tiles around a cleared place in which something may change
const NO_PIECE = null;
const NO_WOOD = 32768;                    // where groves do not matter

/** @typedef {{ footY: number, sprite: import('./sprite.js').Sprite, x: number, y: number, moving: Mark | null }} Cover
 * A prop that stands: its feet and its upper left corner in device px. It may be the `moving` part of a mark. */
/** @typedef {{ prop: import('./props.js').Prop, footX: number, footY: number, x: number, y: number,
 * sprite: import('./sprite.js').Sprite, moves: boolean }} Mark  A prop of a landmark, or its moving part. */

export class Ground {
  /** `tile` is whole device px per tile.
   * @param {import('../terrain.js').Terrain} terrain @param {number} tile
   * @param {import('./moving.js').MovingParts} parts */
  constructor(terrain, tile, parts) {
    this.terrain = terrain;
    this.tile = tile;
    this.parts = parts;
    this.tiles = tile * 16 <= PIECE_PX ? 16 : 8;
    this.side = this.tiles * tile;
    this.window = new Window(terrain, this.tiles);
    this.bridges = new Bridges(terrain);
    this.sprites = [];
    this.spare = [];
    this.bytes = this.side * this.side * 4;
    this.pieces = new Lru(MEMORY, (piece) => {
      if (this.spare.length < 8) this.spare.push(piece.canvas);
    });
    this.previews = new Lru(400);
    this.grid = [];
    this.heading = { x: 0, y: 0, cameraX: 0, cameraY: 0 };
    this.missing = 0;
    /** @type {Set<string>} The pieces 'col:row' whose props have changed since they were painted. */
    this.stale = new Set();
    this.regrown = 0;                     // how many changes to what people have left were seen
    /** @type {Map<string, { x: number, y: number }>} The places around which nothing stands. */
    this.cleared = new Map();
    /** @type {{ at: Cover[], count: number }} The props that cover one
     * walker: the first `count` entries. */
    this.covers = { at: [], count: 0 };
    /** @type {Mark[]} The props, and their moving parts, of landmarks in or close to view. */
    this.marks = [];
  }

  /** Return the picture of a prop by its number (index into PROPS plus 1). */
  sprite(number) {
    let sprite = this.sprites[number];
    if (sprite === undefined) {
      const { box, paint } = PROPS[number - 1];
      sprite = this.sprites[number] = spriteOf(this.tile, box, paint);
    }
    return sprite;
  }

  /** Let nothing grow around these places, in tiles, and only around them. The pieces around places that change
   * are painted again, one in a frame.
   * @param {{ x: number, y: number }[]} places */
  clear(places) {
    const { tiles, window, cleared, pieces } = this, of = new Map(places.map((each) => [`${each.x} ${each.y}`, each]));
    if (of.size === cleared.size && [...of.keys()].every((key) => cleared.has(key))) return;
    for (const [key, { x, y }] of [...of, ...cleared]) {
      if (of.has(key) && cleared.has(key)) continue;
      for (let col = Math.floor((x - AROUND) / tiles); col <= Math.floor((x + AROUND) / tiles); col++) {
        for (let row = Math.floor((y - AROUND) / tiles); row <= Math.floor((y + AROUND) / tiles); row++) {
          if (pieces.entries.has(`${col}:${row}`)) this.stale.add(`${col}:${row}`);
        }
      }
    }
    this.cleared = of;
    window.cleared = places;
  }

  /** Paint again, one in a frame, the pieces on which people have left something since the last call.
   * @param {import('../grown.js').Grown} grown */
  regrow(grown) {
    const { changes, forgotten } = grown, { tiles, pieces } = this;
    if (this.regrown < forgotten) for (const key of pieces.entries.keys()) this.stale.add(key);
    for (const { x, y } of changes.slice(Math.max(this.regrown - forgotten, 0))) {
      for (let col = Math.floor((x - PAD) / tiles); col <= Math.floor((x + PAD) / tiles); col++) {
        for (let row = Math.floor((y - PAD) / tiles); row <= Math.floor((y + PAD) / tiles); row++) {
          if (pieces.entries.has(`${col}:${row}`)) this.stale.add(`${col}:${row}`);
        }
      }
    }
    this.regrown = forgotten + changes.length;
    this.window.grown = grown;
  }

  /** Draw the ground under the screen. Paint missing pieces for at most `budget` ms, those nearest to
   * the middle first. If none is missing, paint one that will be needed next. */
  draw(ctx, screen, budget) {
    const { side, tiles } = this, { tile } = screen;
    const left = Math.floor((screen.baseX - Math.ceil(screen.left / tile)) / tiles);
    const top = Math.floor((screen.baseY - Math.ceil(screen.top / tile)) / tiles);
    const right = Math.floor((screen.baseX
      + Math.floor((screen.width - screen.left) / tile)) / tiles);
    const bottom = Math.floor((screen.baseY
      + Math.floor((screen.height - screen.top) / tile)) / tiles);
    this.#rearrange(left - 1, top - 1, right - left + 3, bottom - top + 3);
    this.#paintMissing(screen, left, top, right, bottom, budget);
    ctx.imageSmoothingEnabled = true;
    for (let row = top; row <= bottom; row++) {
      for (let col = left; col <= right; col++) {
        const piece = this.#pieceAt(col, row);
        const x = (col * tiles - screen.baseX) * tile + screen.left;
        const y = (row * tiles - screen.baseY) * tile + screen.top;
        if (piece !== NO_PIECE) ctx.drawImage(piece.canvas, x, y);
        else ctx.drawImage(this.#preview(col, row), x, y, side, side);
      }
    }
    this.#findMarks(screen);
  }

  #findMarks({ baseX, baseY, left, top, tile }) {
    this.marks.length = 0;
    for (const piece of this.grid) {
      if (piece === NO_PIECE) continue;
      for (const { number, x, y } of piece.marks) {
        const footX = (piece.x0 - baseX) * tile + left + x;
        const footY = (piece.y0 - baseY) * tile + top + y;
        const prop = PROPS[number - 1], sprite = this.sprite(number);
        this.marks.push({ prop, sprite, footX, footY, x: footX - sprite.ax, y: footY - sprite.ay, moves: false });
        if (prop.moving !== undefined) this.marks.push(this.parts.at(prop, footX, footY));
      }
    }
  }

  /** Draw again, within a rectangle only, the props that stand in front of feet at y = `feet` (device
   * px) and cover the rectangle. Return whether there were any. */
  cover(ctx, screen, left, top, right, bottom, feet) {
    const { tile } = screen, { covers } = this;
    const fromX = Math.floor(screen.tilesX(left)) - 1, toX = Math.floor(screen.tilesX(right)) + 1;
    const fromY = Math.floor(screen.tilesY(feet)), toY = Math.floor(screen.tilesY(bottom)) + REACH;
    covers.count = 0;
    for (let y = fromY; y <= toY; y++) {
      const row = Math.floor(y / this.tiles), inRow = (y - row * this.tiles) * this.tiles;
      for (let x = fromX; x <= toX; x++) {
        const col = Math.floor(x / this.tiles), piece = this.#pieceAt(col, row);
        if (piece === NO_PIECE) continue;
        const at = inRow + x - col * this.tiles;
        if (piece.props[at] === 0) continue;
        const footX = (piece.x0 - screen.baseX) * tile + screen.left + piece.xs[at];
        const footY = (piece.y0 - screen.baseY) * tile + screen.top + piece.ys[at];
        if (footY <= feet) continue;
        const sprite = this.sprite(piece.props[at]);
        const x0 = footX - sprite.ax, y0 = footY - sprite.ay;
        if (x0 >= right || y0 >= bottom || x0 + sprite.w <= left || y0 + sprite.h <= top) continue;
        this.#keepCover(footY, sprite, x0, y0, null);
      }
    }
    for (const mark of this.marks) {
      const { sprite, footY, x, y } = mark;
      if (footY > feet && x < right && y < bottom && x + sprite.w > left && y + sprite.h > top) {
        this.#keepCover(footY, sprite, x, y, mark.moves ? mark : null);
      }
    }
    for (let i = 0; i < covers.count; i++) {
      const { sprite, x, y, moving } = covers.at[i];
      if (moving !== null) {
        this.parts.drawWithin(ctx, moving, left, top, right, bottom);
        continue;
      }
      const x0 = Math.max(x, left), y0 = Math.max(y, top);
      const w = Math.min(x + sprite.w, right) - x0, h = Math.min(y + sprite.h, bottom) - y0;
      ctx.drawImage(sprite.canvas, x0 - x, y0 - y, w, h, x0, y0, w, h);
    }
    return covers.count > 0;
  }

  /** Insert a prop into the covers of one walker, which are sorted from the farthest on. */
  #keepCover(footY, sprite, x, y, moving) {
    const { at } = this.covers;
    let i = this.covers.count++;
    if (at.length <= i) at.push({ footY, sprite, x, y, moving });
    const own = at[i];
    for (; i > 0 && at[i - 1].footY > footY; i--) at[i] = at[i - 1];
    at[i] = own;
    own.footY = footY;
    own.sprite = sprite;
    own.x = x;
    own.y = y;
    own.moving = moving;
  }

  /** Call visit(piece, x, y) for each piece that is painted and visible, or at most `margin` device px
   * away; x, y is its corner in device px. */
  eachPiece(screen, visit, margin = 0) {
    for (const piece of this.grid) {
      if (piece === NO_PIECE) continue;
      const x = (piece.x0 - screen.baseX) * screen.tile + screen.left;
      const y = (piece.y0 - screen.baseY) * screen.tile + screen.top;
      if (x - margin < screen.width && y - margin < screen.height && x + this.side > -margin
        && y + this.side > -margin) visit(piece, x, y);
    }
  }

  /** Return on which sides of a tile there is water, as the bits of SIDES in shore.js, or 0 if it is unknown yet. */
  shoreAt(x, y) {
    const { tiles } = this, col = Math.floor(x / tiles), row = Math.floor(y / tiles), piece = this.#pieceAt(col, row);
    return piece === NO_PIECE ? 0 : piece.shores[(y - row * tiles) * tiles + x - col * tiles];
  }

  #pieceAt(col, row) {
    const x = col - this.gridLeft, y = row - this.gridTop;
    if (x < 0 || y < 0 || x >= this.gridCols || y >= this.gridRows) return NO_PIECE;
    return this.grid[y * this.gridCols + x];
  }

  /** Keep the pieces near the screen in a grid, so that a frame need not look them up by name. */
  #rearrange(left, top, cols, rows) {
    if (left === this.gridLeft && top === this.gridTop && cols === this.gridCols
      && rows === this.gridRows) return;
    this.gridLeft = left;
    this.gridTop = top;
    this.gridCols = cols;
    this.gridRows = rows;
    // Keep twice as much as the screen needs, however large it is.
    this.pieces.limit = Math.max(MEMORY, 2 * cols * rows * this.bytes);
    this.grid.length = cols * rows;
    for (let row = 0; row < rows; row++) {
      for (let col = 0; col < cols; col++) {
        const piece = this.pieces.get((left + col) + ':' + (top + row));
        this.grid[row * cols + col] = piece === undefined ? NO_PIECE : piece;
      }
    }
  }

  #paintMissing(screen, left, top, right, bottom, budget) {
    const { heading } = this, { tile } = screen, until = performance.now() + budget;
    const moveX = screen.baseX - screen.left / tile - heading.cameraX;
    const moveY = screen.baseY - screen.top / tile - heading.cameraY;
    if (Math.abs(moveX) + Math.abs(moveY) < 2) {
      heading.x = heading.x * 0.9 + moveX;
      heading.y = heading.y * 0.9 + moveY;
    }
    heading.cameraX += moveX;
    heading.cameraY += moveY;
    const middleX = (left + right) / 2, middleY = (top + bottom) / 2;
    for (let painted = 0; ; painted++) {
      let best = -1, least = Infinity, seen = false;
      for (let i = 0; i < this.grid.length; i++) {
        if (this.grid[i] !== NO_PIECE) continue;
        const row = Math.floor(i / this.gridCols), col = i - row * this.gridCols;
        const x = this.gridLeft + col - middleX, y = this.gridTop + row - middleY;
        const visible = col > 0 && row > 0 && col < this.gridCols - 1 && row < this.gridRows - 1;
        const cost = x * x + y * y + (visible ? 0 : 1000)
          - (visible ? 0 : 20 * (x * heading.x + y * heading.y));
        if (cost < least) {
          least = cost;
          best = i;
          seen = visible;
        }
      }
      this.missing = seen ? 1 : 0;
      if (best < 0) return this.#paintStale();
      // A piece that is not yet in view waits for a frame with spare time, which paints one.
      if (!seen && painted > 0) return;
      this.#paint(best);
      if (performance.now() > until) return;
    }
  }

  #paintStale() {
    const index = this.stale.size === 0 ? -1
      : this.grid.findIndex((_, i) => this.stale.has(this.#nameOf(i)));
    if (index >= 0) this.#paint(index);
  }

  #nameOf(index) {
    const row = Math.floor(index / this.gridCols), col = index - row * this.gridCols;
    return (this.gridLeft + col) + ':' + (this.gridTop + row);
  }

  #paint(index) {
    const row = Math.floor(index / this.gridCols), col = index - row * this.gridCols;
    const x0 = (this.gridLeft + col) * this.tiles, y0 = (this.gridTop + row) * this.tiles;
    const canvas = this.grid[index]?.canvas ?? this.spare.pop() ?? canvasOf(this.side, this.side);
    this.window.look(x0, y0);
    const piece = paintPiece(canvas, this, this.window, this.bridges), name = this.#nameOf(index);
    this.pieces.set(name, piece, this.bytes);
    this.stale.delete(name);
    this.grid[index] = piece;
  }

  /** Draw a piece with one pixel per tile, until it is painted. */
  #preview(col, row) {
    const key = col + ':' + row, known = this.previews.get(key);
    if (known !== undefined) return known;
    const { tiles } = this, canvas = canvasOf(tiles, tiles), ctx = contextOf(canvas);
    const image = ctx.createImageData(tiles, tiles);
    for (let i = 0; i < tiles * tiles; i++) {
      const y = Math.floor(i / tiles);
      const tx = col * tiles + i - y * tiles, ty = row * tiles + y;
      const region = this.window.land.at(tx, ty, NO_WOOD);
      image.data.set(MAP_COLOURS[region][this.terrain.kind(tx, ty)], 4 * i);
      image.data[4 * i + 3] = 255;
    }
    ctx.putImageData(image, 0, 0);
    return this.previews.set(key, canvas);
  }
}
