// The map in the corner: the ground around the player with one pixel per tile, north up.

import { faceOf, isDeer } from '../faces.js';
import { Ordered } from '../ordered.js';
import { Regions } from '../regions.js';
import { CHUNK } from '../terrain.js';
import { miniatureOf } from './miniature.js';
import { COATS, MAP_COLOURS } from './palette.js';
import { UNDRAWN } from './relief.js';
import { canvasOf, contextOf } from './sprite.js';

const SHOWN = 160;                        // tiles that the map shows, each way
const KEPT = 16;                          // chunks of ground that are cached, each way
const BUILD_MS = 4;                       // ms that one call may spend on new ground
const FIRST_BUILD_MS = 30;
const HOME = 0.5;                         // tiles, both ways
const LANDMARK = 20;                      // css px: the height of the picture of one
const TAU = Math.PI * 2;

/** Draws something on the map: `toX` and `toY` return the px of a place in tiles, and `now` is 0 if nothing is to move.
 * @typedef {(map: Minimap, toX: (tile: number) => number, toY: (tile: number) => number, now: number) => void} Layer */

export class Minimap {
  constructor(canvas) {
    this.canvas = canvas;
    /** @type {import('../terrain.js').Terrain | null} The ground that is drawn. */
    this.terrain = null;
    this.regions = new Regions(0);
    this.ctx = contextOf(canvas);
    this.ground = canvasOf(KEPT * CHUNK, KEPT * CHUNK);
    this.groundCtx = contextOf(this.ground);
    this.image = this.groundCtx.createImageData(CHUNK, CHUNK);
    this.known = new Map();               // place in the ring -> the 'cx:cy' drawn there
    this.missing = true;                  // true if some visible ground is not drawn yet
    this.c0 = this.r0 = NaN;              // chunk in the upper left corner
    this.size = 0;                        // device px at each side
    this.dpr = 1;
    /** @type {Map<string, (map: Minimap, px: number, py: number, id: string) => void>} By the name of a kind of thing: draws one. */
    this.kinds = new Map();
    // What else is drawn: under the things, under the walkers, and over both.
    /** @type {Ordered<Layer>} */
    this.under = new Ordered();
    /** @type {Ordered<Layer>} */
    this.layers = new Ordered();
    /** @type {Ordered<Layer>} */
    this.over = new Ordered();
    this.resize(160, 1);
  }

  /** `side` is in css px; `dpr` is device px per css px. */
  resize(cssSize, dpr) {
    this.size = Math.round(cssSize * dpr);
    this.dpr = dpr;
    this.canvas.width = this.canvas.height = this.size;
    this.canvas.style.width = this.canvas.style.height = cssSize + 'px';
  }

  /** @param {import('../state.js').State} state */
  render({ terrain, here: { x, y }, viewport, walkers, things, marks, now, still }) {
    const { ctx, size } = this, scale = size / SHOWN;
    if (terrain !== this.terrain) {
      this.terrain = terrain;
      this.regions = new Regions(terrain.seed);
      this.known.clear();
      this.missing = true;
    }
    this.#drawGround(terrain, x, y, scale);
    const toX = (tile) => size / 2 + (tile - x) * scale;
    const toY = (tile) => size / 2 + (tile - y) * scale;
    this.#drawPlaza(toX(HOME), toY(HOME), still ? 0 : now);
    for (const mark of marks) {
      const picture = miniatureOf(mark.kind, Math.round(LANDMARK * this.dpr));
      const px = toX(mark.foot + HOME), py = toY(mark.y + HOME);
      ctx.drawImage(picture, Math.round(px - picture.width / 2), Math.round(py - picture.height * 0.8));
    }
    const draw = (layers) => layers.all.forEach((layer) => layer(this, toX, toY, still ? 0 : now));
    draw(this.under);
    for (const { thing, x: atX, y: atY, alpha } of things.values()) {
      if (alpha > 0) this.#drawThing(thing, toX(atX), toY(atY));
    }
    draw(this.layers);
    for (const walker of walkers) {
      const px = toX(walker.x), py = toY(walker.y);
      if (walker.own || px < 0 || py < 0 || px > size || py > size) continue;
      if (isDeer(walker)) this.dot(px, py, 1.7 * this.dpr, COATS[0].light);
      else this.dot(px, py, 2.4 * this.dpr, faceOf(walker.id, walker.look).colour);
    }
    draw(this.over);
    ctx.strokeStyle = 'rgba(20, 26, 36, 0.6)';
    ctx.lineWidth = 3 * this.dpr;
    const w = viewport.w * scale, h = viewport.h * scale;
    ctx.strokeRect(size / 2 - w / 2, size / 2 - h / 2, w, h);
    ctx.strokeStyle = '#ffffff';
    ctx.lineWidth = 1.4 * this.dpr;
    ctx.strokeRect(size / 2 - w / 2, size / 2 - h / 2, w, h);
    for (const { own, id, look } of walkers) {
      if (own) this.dot(size / 2, size / 2, 3.4 * this.dpr, faceOf(id, look).colour, '#ffffff');
    }
  }

  /** Draw the cached ground. It is a ring in both directions: a chunk's place in it never changes. */
  #drawGround(terrain, x, y, scale) {
    const { ctx, size } = this, half = SHOWN / 2;
    this.#readChunks(terrain, x - half, y - half);
    const side = KEPT * CHUNK;
    const left = Math.floor(x - half), top = Math.floor(y - half);
    const atX = mod(left, side), atY = mod(top, side);
    const shiftX = (left - (x - half)) * scale, shiftY = (top - (y - half)) * scale;
    ctx.fillStyle = UNDRAWN;
    ctx.fillRect(0, 0, size, size);
    ctx.imageSmoothingEnabled = true;
    ctx.imageSmoothingQuality = 'high';
    const width = SHOWN + 1, splitX = Math.min(side - atX, width);
    const splitY = Math.min(side - atY, width);
    for (const [sx, w, dx] of [[atX, splitX, 0], [0, width - splitX, splitX]]) {
      for (const [sy, h, dy] of [[atY, splitY, 0], [0, width - splitY, splitY]]) {
        if (w <= 0 || h <= 0) continue;
        ctx.drawImage(this.ground, sx, sy, w, h, dx * scale + shiftX, dy * scale + shiftY,
          w * scale, h * scale);
      }
    }
  }

  /** Draw the newly visible chunks, from the middle outwards, for a limited time. */
  #readChunks(terrain, left, top) {
    const c0 = Math.floor(left / CHUNK), r0 = Math.floor(top / CHUNK);
    const count = Math.ceil(SHOWN / CHUNK) + 1;
    const until = performance.now() + (this.known.size === 0 ? FIRST_BUILD_MS : BUILD_MS);
    if (c0 === this.c0 && r0 === this.r0 && !this.missing) return;
    this.c0 = c0;
    this.r0 = r0;
    this.missing = false;
    for (let ring = 0; ring <= count; ring += 2) {
      for (let row = 0; row < count; row++) {
        for (let col = 0; col < count; col++) {
          const far = Math.max(Math.abs(2 * col - count + 1), Math.abs(2 * row - count + 1));
          if (far !== ring && far !== ring + 1) continue;
          if (performance.now() > until) {
            this.missing = true;
            return;
          }
          this.#readChunk(terrain, c0 + col, r0 + row);
        }
      }
    }
  }

  #readChunk(terrain, cx, cy) {
    const px = mod(cx, KEPT) * CHUNK, py = mod(cy, KEPT) * CHUNK, place = px + ':' + py;
    const key = cx + ':' + cy;
    if (this.known.get(place) === key) return;
    this.known.set(place, key);
    const { kinds, woods } = terrain.chunk(cx, cy), { data } = this.image;
    for (let i = 0; i < kinds.length; i++) {
      const row = Math.floor(i / CHUNK);
      const region = this.regions.at(cx * CHUNK + i - row * CHUNK, cy * CHUNK + row, woods[i]);
      const [red, green, blue] = MAP_COLOURS[region][kinds[i]];
      data[4 * i] = red;
      data[4 * i + 1] = green;
      data[4 * i + 2] = blue;
      data[4 * i + 3] = 255;
    }
    this.groundCtx.putImageData(this.image, px, py);
  }

  /** Draw the plaza as a star, or at the edge an arrow that points to it. */
  #drawPlaza(px, py, now) {
    const { ctx, size, dpr } = this, edge = 9 * dpr;
    if (px > edge && py > edge && px < size - edge && py < size - edge) {
      this.dot(px, py, 5 * dpr, '#ffd166', '#5d4128');
      return;
    }
    const dx = px - size / 2, dy = py - size / 2, turn = Math.atan2(dy, dx);
    const share = (size / 2 - edge) / Math.max(Math.abs(dx), Math.abs(dy));
    const pulse = 1 + 0.08 * Math.sin(now / 400);
    ctx.save();
    ctx.translate(size / 2 + dx * share, size / 2 + dy * share);
    ctx.rotate(turn);
    ctx.scale(dpr * pulse, dpr * pulse);
    ctx.beginPath();
    ctx.moveTo(7.5, 0);
    ctx.lineTo(-4.5, 5.5);
    ctx.lineTo(-2, 0);
    ctx.lineTo(-4.5, -5.5);
    ctx.closePath();
    ctx.lineJoin = 'round';
    ctx.strokeStyle = '#5d4128';
    ctx.lineWidth = 3;
    ctx.stroke();
    ctx.fillStyle = '#ffd166';
    ctx.fill();
    ctx.restore();
  }

  /** Draw a thing. */
  #drawThing({ type, id }, px, py) {
    this.kinds.get(type)?.(this, px, py, id);
  }

  /** Draw a dot, with an edge. */
  dot(x, y, radius, colour, edge = 'rgba(20, 26, 36, 0.75)') {
    const { ctx, dpr } = this;
    ctx.fillStyle = edge;
    ctx.beginPath();
    ctx.arc(x, y, radius + 1.1 * dpr, 0, TAU);
    ctx.fill();
    ctx.fillStyle = colour;
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, TAU);
    ctx.fill();
  }
}

const mod = (number, by) => number - by * Math.floor(number / by);
