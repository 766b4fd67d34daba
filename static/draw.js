// Draws a game on a canvas: ground, cells, things and players, plainly, or by functions of its page. All is in
// tiles: a page draws a thing or a player around (0, 0), where one tile reaches from -0.5 to 0.5.

import { BARRED, Chunks } from './chunks.js';
import { Terrain } from './terrain.js';

const FREE = '#2b2f36', LINE = '#343942', DARK = '#14161a';
// By the kind of a tile of terrain(), DEEP to PLATEAU.
const LAND = ['#1d3557', '#2a5078', '#7d7250', '#33502f', '#26402a', '#4c4f55', '#6b5f4a', '#6f5637', '#5c6a4a',
  '#3d5a38'];
// The server sends 96 x 64 tiles at most, and a tile that is seen in part counts as a whole one.
const WIDEST = 95, HIGHEST = 63;
// How long it takes until a player who walks past the end of a wall is drawn where it is, ms.
const SETTLES = 80;
const ASIDE = [[-1, -1], [1, -1], [-1, 1], [1, 1]];
const FONT = '13px system-ui, sans-serif', EDGE = 3;    // css px

/** @typedef {CanvasRenderingContext2D} Ctx */

const valuesOf = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(', ');

export class Draw {
  /** `tile`, `bounds` and `body` are as `join` takes them.
   * @param {import('./client.js').Client} game @param {HTMLCanvasElement} canvas
   * @param {number} tile @param {number[] | null} bounds @param {number} body */
  constructor(game, canvas, tile, bounds, body) {
    this.game = game;
    this.canvas = canvas;
    this.least = tile;
    this.bounds = bounds;
    this.body = body;
    /** @type {Map<number, [number, number]>} How far from where it is a player is drawn, in tiles. */
    this.aside = new Map();
    this.drawnAt = 0;                     // node time, ms, of the last frame
    this.tile = tile;                     // css px: larger if the screen would show more than the server sends
    // Of the canvas, in css px: where it is in the window, and how large; and the px of a css px.
    this.box = { left: 0, top: 0, width: 0, height: 0, ratio: 0 };
    /** Functions of the page that have failed. @type {Set<Function>} */
    this.faulty = new Set();
    this.ctx = /** @type {Ctx} */ (canvas.getContext('2d'));
    /** The tiles at the left and at the top of the canvas. */
    this.left = this.top = 0;
    this.pieces = {
      /** @type {((ctx: Ctx, x: number, y: number) => void) | null} */
      ground: null,
      /** @type {Map<string, (ctx: Ctx, value: number, x: number, y: number) => void>} */
      cells: new Map(),
      /** @type {Map<string, (ctx: Ctx, thing: import('./client.js').Thing) => void>} */
      things: new Map(),
      /** @type {Map<string, (ctx: Ctx, mover: import('./client.js').Mover) => void>} */
      movers: new Map(),
      /** @type {(ctx: Ctx, player: import('./client.js').Player) => void} */
      player: (ctx, player) => this.#player(player),
      /** @type {(ctx: Ctx, now: number) => void} */
      over: () => {},
    };
  }

  /** Draw the ground by `draw(ctx, x, y)`, which is called for each tile that can be seen. */
  ground(draw) {
    this.pieces.ground = draw;
  }

  /** Draw the tiles of a layer of cells with values above 0 by `draw(ctx, value, x, y)`. */
  cells(name, draw) {
    this.pieces.cells.set(name, draw);
  }

  /** Draw a kind of things by `draw(ctx, thing)`. */
  thing(type, draw) {
    this.pieces.things.set(type, draw);
  }

  /** Draw a kind of movers by `draw(ctx, mover)`. */
  mover(type, draw) {
    this.pieces.movers.set(type, draw);
  }

  /** Draw players by `draw(ctx, player)`. */
  player(draw) {
    this.pieces.player = draw;
  }

  /** Draw something over all else by `draw(ctx, now)`, in the world's tiles. */
  over(draw) {
    this.pieces.over = draw;
  }

  /** Write a text at (x, y), in tiles from the (0, 0) of what is drawn now. */
  label(text, x = 0, y = 0) {
    const { ctx, tile } = this;
    if (text === '') return;
    ctx.save();
    ctx.translate(x, y);
    ctx.scale(1 / tile, 1 / tile);
    ctx.font = FONT;
    ctx.textAlign = 'center';
    ctx.lineWidth = EDGE;
    ctx.strokeStyle = DARK;
    ctx.fillStyle = '#fff';
    ctx.strokeText(text, 0, 0);
    ctx.fillText(text, 0, 0);
    ctx.restore();
  }

  /** Draw a disc around (0, 0). */
  disc(radius, colour, edge = DARK) {
    const { ctx } = this;
    ctx.beginPath();
    ctx.arc(0, 0, radius, 0, 7);
    ctx.fillStyle = colour;
    ctx.fill();
    ctx.lineWidth = 0.08;
    ctx.strokeStyle = edge;
    ctx.stroke();
  }

  /** Return a colour for a number, unlike those of the numbers next to it. */
  coloured(number) {
    return `hsl(${(number * 137.5) % 360} 62% 62%)`;
  }

  /** Return the place, in tiles, under a place on the page, in css px. */
  placeAt(x, y) {
    return [this.left + (x - this.box.left) / this.tile, this.top + (y - this.box.top) / this.tile];
  }

  /** Fit the canvas to its place in the page; return how many tiles around its player the server is to send:
   * those that it shows, or twice as many with bounds, where the player may be at the edge.
   * @returns {[number, number]} */
  fit() {
    const { canvas } = this, { left, top, width, height } = canvas.getBoundingClientRect();
    const before = this.box, ratio = devicePixelRatio;
    this.box = { left, top, width, height, ratio };
    if (width !== before.width || height !== before.height || ratio !== before.ratio) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      // Without a size in its style, a canvas is as many css px large as it has px.
      if (canvas.getBoundingClientRect().width !== width) {
        Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
      }
      this.tile = Math.max(this.least, width / this.#most(0, WIDEST), height / this.#most(1, HIGHEST));
    }
    return [this.#wanted(0, width / this.tile), this.#wanted(1, height / this.tile)];
  }

  /** Return how many tiles along an axis lie within the bounds. */
  #wide(axis) {
    return this.bounds === null ? Infinity : this.bounds[axis + 2] - this.bounds[axis];
  }

  /** Return how many tiles along an axis the screen may show, if the server sends `sent`. */
  #most(axis, sent) {
    return this.bounds === null || 2 * this.#wide(axis) <= sent ? sent : sent / 2;
  }

  /** Return how many tiles along an axis the server is to send, if the screen shows `shown`. */
  #wanted(axis, shown) {
    return this.bounds === null ? shown : 2 * Math.min(shown, this.#wide(axis));
  }

  /** Return what is in the middle of the screen along an axis, if the player is at a place. */
  #middle(axis, own, shown) {
    if (this.bounds === null) return own;
    const low = this.bounds[axis], high = this.bounds[axis + 2];
    return high - low <= shown ? (low + high) / 2 : Math.min(Math.max(own, low + shown / 2), high - shown / 2);
  }

  /** Draw each frame from now on. */
  begin() {
    requestAnimationFrame(() => this.begin());
    this.game.advance();
    this.game.look(...this.fit());
    this.#draw();
  }

  #draw() {
    const { ctx, game, tile, pieces } = this, now = game.clock.now(), { width, height, ratio } = this.box;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = FREE;
    ctx.fillRect(0, 0, width, height);
    if (game.id === 0) return;
    const [ownX, ownY] = game.walk.drawn(now);
    const middleX = this.#middle(0, ownX, width / tile), middleY = this.#middle(1, ownY, height / tile);
    // In whole px, so that no seams are seen between tiles.
    const left = Math.round(width / 2 - middleX * tile), top = Math.round(height / 2 - middleY * tile);
    this.left = -left / tile;
    this.top = -top / tile;
    ctx.translate(left, top);
    ctx.scale(tile, tile);
    const gap = 1 / tile;
    for (let y = Math.floor(this.top); y * tile + top < height; y++) {
      for (let x = Math.floor(this.left); x * tile + left < width; x++) {
        if (pieces.ground !== null) this.#by(pieces.ground, x, y);
        else {
          ctx.fillStyle = this.#landAt(x, y);
          ctx.fillRect(x, y, 1 - gap, 1 - gap);
        }
      }
    }
    for (const [what, , name] of game.kinds) {
      if (what !== 'cells') continue;
      const draw = pieces.cells.get(name);
      game.cells(name).each((x, y, value) => {
        if (draw !== undefined) return this.#by(draw, value, x, y);
        ctx.fillStyle = this.coloured(value);
        ctx.fillRect(x, y, 1 - gap, 1 - gap);
      });
    }
    for (const thing of game.things()) {
      this.#at(thing, pieces.things.get(thing.type) ?? (() => {
        this.disc(0.2, '#f1e6d0');
        this.label(`${thing.type} ${valuesOf(thing.values)}`, 0, -0.4);
      }));
    }
    for (const mover of game.movers()) {
      this.#at(mover, pieces.movers.get(mover.type) ?? (() => {
        this.disc(0.3, this.coloured(mover.id));
        this.label(`${mover.type} ${valuesOf(mover.values)}`, 0, -0.5);
      }));
    }
    const { players } = game, before = this.aside, late = Math.exp((this.drawnAt - now) / SETTLES);
    this.drawnAt = now;
    this.aside = new Map(players.map(({ id, x, y }) => {
      const to = this.#clear(x, y), from = before.get(id) ?? to;
      return [id, [to[0] + (from[0] - to[0]) * late, to[1] + (from[1] - to[1]) * late]];
    }));
    for (const player of players) this.#at(player, pieces.player, this.aside.get(player.id));
    this.#by(pieces.over, now);
  }

  /** Return how far from a place a player is drawn there, so that its body is not in the walls around it.
   * @returns {[number, number]} */
  #clear(x, y) {
    const { game, body } = this, column = Math.floor(x), row = Math.floor(y);
    const walls = (dx, dy) => game.blocked(column + dx, row + dy);
    const between = (at, low, high) => Math.min(Math.max(at, low ? body : 0), high ? 1 - body : 1);
    if (body === 0 || walls(0, 0)) return [0, 0];
    let toX = column + between(x - column, walls(-1, 0), walls(1, 0));
    let toY = row + between(y - row, walls(0, -1), walls(0, 1));
    for (const [dx, dy] of ASIDE) {
      if (!walls(dx, dy) || walls(dx, 0) || walls(0, dy)) continue;
      // Away from the corner.
      const cornerX = column + (dx > 0 ? 1 : 0), cornerY = row + (dy > 0 ? 1 : 0);
      const far = Math.hypot(toX - cornerX, toY - cornerY), less = Math.max(body - far, 0);
      toX += less * (far > 0 ? (toX - cornerX) / far : -dx * Math.SQRT1_2);
      toY += less * (far > 0 ? (toY - cornerY) / far : -dy * Math.SQRT1_2);
    }
    return [toX - x, toY - y];
  }

  /** Draw something at its place, or so far from it. */
  #at(what, draw, [aside, below] = [0, 0]) {
    this.ctx.save();
    this.ctx.translate(what.x + aside, what.y + below);
    this.#by(draw, what);
    this.ctx.restore();
  }

  /** Draw something by a function of the page. If it throws, the console shows that once, and all else is drawn. */
  #by(draw, ...what) {
    try {
      draw(this.ctx, ...what);
    } catch (error) {
      if (!this.faulty.has(draw)) reportError(error);
      this.faulty.add(draw);
    }
  }

  #player({ id, name, own, values, saying }) {
    this.disc(0.35, this.coloured(id), own ? '#fff' : DARK);
    this.label(name, 0, -0.6);
    this.label(valuesOf(values), 0, 0.95);
    if (saying !== null) this.label(`“${saying}”`, 0, -1.3);
  }

  /** Return the colour of the ground of a tile. */
  #landAt(x, y) {
    const { ground } = this.game;
    if (ground === null) return LINE;
    if (ground instanceof Terrain) return LAND[ground.kind(x, y)];
    const value = ground instanceof Chunks ? ground.value(x, y) : null;
    if (value === null) return FREE;
    if (value >= BARRED) return `hsl(${(value - BARRED) * 137.5 % 360} 15% 12%)`;
    return value === 0 ? LINE : `hsl(${value * 137.5 % 360} 25% 30%)`;
  }
}
