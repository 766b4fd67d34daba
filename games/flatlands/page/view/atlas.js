// Draws the map of everybody: the land, all players, and what this page's player has found. It draws on its
// own canvas, above the world.

import { DOT_FADES, firstOf, hueOf } from '../atlas.js';
import { faceOf } from '../faces.js';
import { PART } from '../landmarks.js';
import { Ordered } from '../ordered.js';
import { drawFlag } from './flag.js';
import { miniatureOf } from './miniature.js';
import { BACKDROP, Relief } from './relief.js';
import { canvasOf, contextOf } from './sprite.js';
import { textOf } from './text.js';

/** @typedef {import('../atlas.js').Dot} Dot */

const PAINT_MS = 5;                       // ms that a frame may spend on painting land
const GLOW = 128;                         // px of the picture of a glow
const FLASH_MS = 900, FLASHES = 3;
const MESSAGE_EVERY = 1000;                  // ms between two messages of the server
const WIDE = 46;                          // css px: the light of wider dots is fainter
const LEAST = 3.5;                        // css px: no dot is drawn smaller than this
const NUMBERS_FROM = 30, NAMES_FROM = 92; // css px of a dot's side
const LINES_FROM = 7, LINES_FULL = 40;    // css px between two lines of the grid
const FLAGS_FROM = 12;                    // css px between two landmarks, about
export const TITLES_FROM = 90;            // and from which on they have names
const LANDMARK = 30;                      // css px: the height of the picture of one
export const INK = '#0e1826';
const GOLD = '#ffd166', SOMEBODY = '#5fd3ff';
const MOST_DPR = 2;
const TAU = Math.PI * 2;

/** A place with a name, in tiles, which is drawn around (px, py), and how far to each side, in css px.
 * @typedef {{ x: number, y: number, label: string, px: number, py: number, w: number, h: number }} Named */
/** @typedef {{ atlas: import('../atlas.js').Atlas, gaze: import('../atlas.js').Gaze,
 * terrain: import('../terrain.js').Terrain, side: number, now: number, still: boolean,
 * here: { x: number, y: number } | null, ownId: number | null, ownLook: number,
 * aim: { x: number, y: number } | null, marked: Dot | null, cross: boolean, shown: number,
 * found: import('../landmarks.js').Landmark[], named: Named[],
 * channels: boolean }} Picture
 * What is drawn. `here` is this page's player, `aim` where an arrow leads,
 * both in tiles; `marked` is the dot under the pointer; `cross` shows the middle, which the keys move;
 * `shown` is 0 .. 1; what has a name is added to `named`; `channels` shows the grid, and which server has most players of a square. */

export class AtlasView {
  constructor(canvas) {
    this.canvas = canvas;
    this.ctx = contextOf(canvas, { alpha: true });
    this.relief = new Relief();
    this.glows = new Map();
    this.dpr = 1;
    /** @type {() => { x: number, y: number }[]} Returns the tiles of the landmarks that are shown. */
    this.tilesFound = () => [];
    /** @type {Ordered<() => string | null>} The names of landmarks that other words on the map contain. */
    this.said = new Ordered();
    /** @type {Ordered<() => { x: number, y: number } | null>} Places, in tiles, that are kept in sight if they are not far away. */
    this.sights = new Ordered();
    /** @type {Ordered<(ctx: any, picture: Picture, dpr: number) => void>} What else is drawn, under the landmarks, */
    this.under = new Ordered();
    /** @type {Ordered<(ctx: any, picture: Picture, dpr: number) => void>} and over everybody, but under this page's player. */
    this.layers = new Ordered();
  }

  resize(cssWidth, cssHeight, dpr) {
    this.dpr = Math.min(dpr, MOST_DPR);
    this.canvas.width = Math.max(1, Math.round(cssWidth * this.dpr));
    this.canvas.height = Math.max(1, Math.round(cssHeight * this.dpr));
  }

  /** Draw one frame. @param {Picture} picture */
  render(picture) {
    const { ctx, dpr } = this, { gaze, atlas, side, shown } = picture;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.globalCompositeOperation = 'source-over';
    ctx.clearRect(0, 0, gaze.width, gaze.height);
    this.canvas.style.opacity = String(shown);
    ctx.fillStyle = BACKDROP;
    ctx.fillRect(0, 0, gaze.width, gaze.height);
    this.relief.draw(ctx, picture.terrain, gaze, side, PAINT_MS);
    if (picture.channels) drawGrid(ctx, gaze);
    const dots = [...atlas.dots.values()].map((dot) => placed(dot, gaze))
      .filter(({ x, y, reach }) => x > -reach && y > -reach && x < gaze.width + reach
        && y < gaze.height + reach);
    for (const layer of this.under.all) layer(ctx, picture, dpr);
    drawFound(ctx, picture, dpr, this.said.all.map((say) => say()));
    for (const at of dots) this.#drawGlow(at, picture);
    for (const at of dots) drawCore(ctx, at, picture);
    for (const at of dots) drawWords(ctx, at, picture, dpr);
    drawPlaza(ctx, picture);
    for (const layer of this.layers.all) layer(ctx, picture, dpr);
    if (picture.here !== null) drawOwn(ctx, picture);
    if (picture.aim !== null) drawAim(ctx, picture);
    if (picture.marked !== null) drawMarked(ctx, placed(picture.marked, gaze));
    if (picture.cross) drawCross(ctx, gaze);
  }

  #drawGlow(at, { now, still, channels }) {
    const { ctx } = this, { dot, x, y, side, alpha } = at;
    const flash = flashOf(dot, now, still), crowd = dot.people + dot.computers / 2;
    // Large squares are bright enough by themselves.
    const calm = Math.min(WIDE / Math.max(side, 1), 1);
    const bright = Math.min(0.3 + 0.16 * Math.log2(1 + crowd), 0.95) * calm;
    const grows = (1 + 0.12 * Math.log2(1 + crowd) * calm) * (1 + 0.14 * flash * calm);
    const radius = Math.max(side * 0.85, 11) * grows;
    ctx.globalAlpha = alpha * Math.min(bright * (0.62 + 0.5 * flash), 1);
    ctx.drawImage(this.#glow(colourOf(dot, channels)), x - radius, y - radius, 2 * radius, 2 * radius);
    ctx.globalAlpha = 1;
  }

  /** Return the picture of a round glow in a colour; each is made once. */
  #glow(colour) {
    let canvas = this.glows.get(colour);
    if (canvas === undefined) {
      canvas = canvasOf(GLOW, GLOW);
      const ctx = contextOf(canvas), middle = GLOW / 2;
      const light = ctx.createRadialGradient(middle, middle, 0, middle, middle, middle);
      for (const [at, alpha] of [[0, 'cc'], [0.18, '99'], [0.45, '3d'], [0.75, '10'], [1, '00']]) {
        light.addColorStop(Number(at), colour + alpha);
      }
      ctx.fillStyle = light;
      ctx.fillRect(0, 0, GLOW, GLOW);
      this.glows.set(colour, canvas);
    }
    return canvas;
  }
}

/** Return where a dot is on the screen, in css px: its middle, its side, how far its light reaches, and
 * how visible it is. */
function placed(dot, gaze) {
  const wide = 2 ** dot.grain, side = wide * gaze.scale;
  const { x, y } = gaze.toScreen(firstOf(dot.col, dot.grain) + wide / 2,
    firstOf(dot.row, dot.grain) + wide / 2);
  const come = Math.min((performance.now() - dot.since) / DOT_FADES, 1);
  const left = dot.gone === null ? 1 : 1 - (performance.now() - dot.gone) / DOT_FADES;
  return { dot, x, y, side, reach: Math.max(side, 12) * 2, alpha: Math.max(Math.min(come, left), 0) };
}

/** Return how brightly a dot flashes, 0 .. 1. The server sends once a second how many messages there were, so
 * their flashes are spread over a second, which begins at another moment for each dot. */
function flashOf({ col, row, batches, batchesAt }, now, still) {
  if (batches === 0) return 0;
  const count = still ? 1 : Math.min(batches, FLASHES);
  let flash = 0;
  const first = still ? 0 : Math.abs(Math.sin(col * 12.9898 + row * 78.233)) * MESSAGE_EVERY / count;
  for (let i = 0; i < count; i++) {
    const age = now - batchesAt - first - i * MESSAGE_EVERY / count;
    if (age >= 0 && age < FLASH_MS) flash = Math.max(flash, (1 - age / FLASH_MS) ** 2);
  }
  return flash;
}

/** Draw the square itself, and a heart of light in it: white for people, brass for clockwork. */
function drawCore(ctx, { dot, x, y, side, alpha }, { now, still, channels }) {
  const flash = flashOf(dot, now, still), hue = colourOf(dot, channels);
  if (side > 8) {
    const inset = Math.min(side * 0.06, 3), wide = side - 2 * inset;
    ctx.beginPath();
    ctx.roundRect(x - wide / 2, y - wide / 2, wide, wide, Math.min(side * 0.16, 10));
    ctx.globalAlpha = alpha * 0.42;
    ctx.fillStyle = INK;
    ctx.fill();
    ctx.globalAlpha = alpha * (0.1 + 0.4 * flash);
    ctx.fillStyle = hue;
    ctx.fill();
    ctx.globalAlpha = alpha * (0.75 + 0.25 * flash);
    ctx.strokeStyle = hue;
    ctx.lineWidth = Math.min(1 + side / 60, 2);
    ctx.stroke();
  }
  if (side < NUMBERS_FROM) {
    const crowd = dot.people > 0 ? dot.people : dot.computers / 2;
    const radius = Math.min(Math.max(LEAST * 0.5 + 0.55 * Math.sqrt(crowd), 1.4),
      Math.max(side * 0.34, 2.6)) * (1 + 0.25 * flash);
    ctx.globalAlpha = alpha;
    for (const { colour, more } of [{ colour: INK, more: 1.4 },
      { colour: dot.people > 0 ? '#ffffff' : '#e8c07a', more: 0 }]) {
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.arc(x, y, radius + more, 0, TAU);
      ctx.fill();
    }
  }
  ctx.globalAlpha = 1;
}

/** Write the number of people into a dot that has room for it, and the name of its square. */
function drawWords(ctx, { dot, x, y, side, alpha }, { channels }, dpr) {
  if (side < NUMBERS_FROM) return;
  const size = Math.min(Math.max(side * 0.3, 12), 40);
  const number = textOf(String(dot.people > 0 ? dot.people : dot.computers), { dpr,
    size: Math.round(size), colour: dot.people > 0 ? '#ffffff' : '#f0cf94', outline: INK });
  ctx.globalAlpha = alpha;
  const named = side >= NAMES_FROM, up = named ? side * 0.12 : 0;
  put(ctx, number, x, y - up, dpr);
  const below = [channels && dot.grain === 0 ? `sq ${dot.col}:${dot.row}` : '',
    dot.people > 0 && dot.computers > 0 ? `+ ${dot.computers} clockwork` : ''];
  below.forEach((line, i) => {
    if (!named || line === '') return;
    put(ctx, textOf(line, { size: side > 130 ? 15 : 12, weight: 600, dpr, widest: side - 10,
      colour: i === 0 ? '#dfe6ee' : '#f0cf94' }), x, y + side * (0.2 + 0.14 * i), dpr);
  });
  ctx.globalAlpha = 1;
}

function put(ctx, { canvas, w, h }, x, y, dpr) {
  ctx.drawImage(canvas, x - w / dpr / 2, y - h / dpr / 2, w / dpr, h / dpr);
  return { px: x, py: y, w: w / dpr / 2, h: h / dpr / 2 };
}

/** Return the colour of a dot: with `channels` that of the server that has most of its players. */
function colourOf({ node }, channels) {
  return channels ? hueOf(node) : SOMEBODY;
}

/** Draw the landmarks that this page's player has found, with names. A name is below the
 * picture, or above it if the player is below. */
function drawFound(ctx, { gaze, side, found, here, named }, dpr, said) {
  const tile = gaze.scale / side, own = here === null ? null : gaze.toScreen(here.x / side, here.y / side);
  for (const { x, y, kind, name } of PART * tile < FLAGS_FROM ? [] : found) {
    const at = gaze.toScreen((x + 0.5) / side, (y + 0.5) / side);
    const picture = miniatureOf(kind, Math.round(LANDMARK * dpr)), wide = picture.width / dpr, high = picture.height / dpr;
    const place = { x: x + 0.5, y: y + 0.5, label: name };
    ctx.drawImage(picture, at.x - wide / 2, at.y + 4 - high, wide, high);
    named.push({ ...place, px: at.x, py: at.y + 4 - high / 2, w: wide / 2, h: high / 2 });
    if (PART * tile < TITLES_FROM || said.includes(name)) continue;
    const title = textOf(name, { size: 14, weight: 600, colour: '#ffffff', outline: INK, dpr });
    const covered = own !== null && Math.abs(own.x - at.x) < title.w / dpr / 2 + 12 && Math.abs(own.y - at.y - 13) < 20;
    named.push({ ...place, ...put(ctx, title, at.x, covered ? at.y - high - 6 : at.y + 13, dpr) });
  }
}

/** Write the name of a place around (x, y); return how far to each side, in css px. */
export function nameAt(ctx, name, x, y, size, dpr) {
  return put(ctx, textOf(name, { size, weight: 600, colour: '#ffffff', outline: INK, dpr }), x, y, dpr);
}

/** Draw the borders of squares, and of the sheets of each level, faint where they are dense. */
function drawGrid(ctx, gaze) {
  for (let level = 0; level < 8; level++) {
    const wide = 16 ** level, gap = wide * gaze.scale;
    if (gap < LINES_FROM || gap > 40 * Math.max(gaze.width, gaze.height)) continue;
    const shown = Math.min((gap - LINES_FROM) / (LINES_FULL - LINES_FROM), 1);
    ctx.strokeStyle = `rgba(14, 24, 38, ${(level === 0 ? 0.2 : 0.4) * shown})`;
    ctx.lineWidth = level === 0 ? 1 : 1.4;
    ctx.beginPath();
    const grain = 4 * level, from = gaze.toWorld(0, 0), to = gaze.toWorld(gaze.width, gaze.height);
    const shift = -firstOf(0, grain);
    for (let col = Math.ceil((from.x + shift) / wide); col <= (to.x + shift) / wide; col++) {
      const { x } = gaze.toScreen(firstOf(col, grain), 0);
      ctx.moveTo(Math.round(x) + 0.5, 0);
      ctx.lineTo(Math.round(x) + 0.5, gaze.height);
    }
    for (let row = Math.ceil((from.y + shift) / wide); row <= (to.y + shift) / wide; row++) {
      const { y } = gaze.toScreen(0, firstOf(row, grain));
      ctx.moveTo(0, Math.round(y) + 0.5);
      ctx.lineTo(gaze.width, Math.round(y) + 0.5);
    }
    ctx.stroke();
  }
}

/** Draw a small house where the plaza is. */
function drawPlaza(ctx, { gaze, side, named }) {
  const { x, y } = gaze.toScreen(0.5 / side, 0.5 / side);
  named.push({ x: 0.5, y: 0.5, label: 'The plaza', px: x, py: y, w: 7, h: 7 });
  ctx.save();
  ctx.translate(x, y - 1);
  ctx.beginPath();
  ctx.moveTo(0, -7);
  ctx.lineTo(7.5, 0.5);
  ctx.lineTo(5, 0.5);
  ctx.lineTo(5, 7);
  ctx.lineTo(-5, 7);
  ctx.lineTo(-5, 0.5);
  ctx.lineTo(-7.5, 0.5);
  ctx.closePath();
  ctx.lineJoin = 'round';
  ctx.lineWidth = 3;
  ctx.strokeStyle = 'rgba(14, 24, 38, 0.8)';
  ctx.stroke();
  ctx.fillStyle = GOLD;
  ctx.fill();
  ctx.restore();
}

/** Draw a ring, which breathes, around this page's player. */
function drawOwn(ctx, { gaze, here, side, ownId, ownLook, now, still }) {
  const { x, y } = gaze.toScreen(here.x / side, here.y / side);
  const breath = still ? 0 : Math.sin(now / 450) * 1.5;
  for (const { style, width } of [{ style: 'rgba(14, 24, 38, 0.75)', width: 5 },
    { style: '#ffffff', width: 2.2 }]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(x, y, 10 + breath, 0, TAU);
    ctx.stroke();
  }
  ctx.fillStyle = ownId === null ? '#ffffff' : faceOf(ownId, ownLook).colour;
  ctx.beginPath();
  ctx.arc(x, y, 4.5, 0, TAU);
  ctx.fill();
}

/** Draw a flag where the arrow leads. */
function drawAim(ctx, { gaze, aim, side }) {
  const { x, y } = gaze.toScreen(aim.x / side, aim.y / side);
  drawFlag(ctx, x, y, 1);
}

function drawMarked(ctx, { x, y, side }) {
  const wide = Math.max(side, 16) + 4;
  ctx.strokeStyle = '#ffffff';
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.roundRect(x - wide / 2, y - wide / 2, wide, wide, Math.min(wide * 0.2, 11));
  ctx.stroke();
}

/** Draw the middle of the screen: the place that the Enter key means. */
function drawCross(ctx, { width, height }) {
  const x = Math.round(width / 2) + 0.5, y = Math.round(height / 2) + 0.5;
  ctx.strokeStyle = 'rgba(255, 255, 255, 0.75)';
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    ctx.moveTo(x + dx * 7, y + dy * 7);
    ctx.lineTo(x + dx * 17, y + dy * 17);
  }
  ctx.stroke();
}
