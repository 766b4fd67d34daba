// What walkers say, and the signs of their emotes, in bubbles with a tail: above everything else on the
// canvas, inside the screen, and beside the panels. Those of people are white; those of clockwork walkers
// are small and grey, and are shown only where they cover no face and nothing that people say.

import { drawEmote } from './emotes.js';
import { canvasOf, contextOf } from './sprite.js';
import { FONT, isRightToLeft, widthOf, wrap } from './text.js';

const TAIL = 8, SHADE = 3;                // css px
/** @typedef {{ size: number, line: number, widest: number, padX: number, padY: number, round: number,
 * sign: number, ink: string, paper: string }} Look  Css px: of letters, lines, the text, the room around it,
 * the corners, and the sign of an emote; and colours. */
/** @type {Look} */
const PEOPLE = { size: 14, line: 19, widest: 230, padX: 12, padY: 7, round: 12, sign: 26, ink: '#1d2430',
  paper: '#ffffff' };
/** @type {Look} */
const CLOCKWORK = { size: 12, line: 15, widest: 170, padX: 8, padY: 4, round: 8, sign: 18, ink: '#3d4753',
  paper: '#d5dae0' };
const FADE_MS = 450, POP_MS = 140;
const ABOVE = 1.2;                        // tiles from the feet to the tail's tip
const ROWS = 3;                           // of a text at most
const GAP = 4;                            // css px to the edge of the screen
const LONGEST_TAIL = 18;                  // css px
const LOWER = 2;                          // tiles: a place below the wanted one counts as so much farther
const HIGHER = 8;                         // a clockwork walker's place above the wanted one: so many times as far.
                                          // Over another head it would be taken for what that one says
const ASTRAY = 4.5;                       // tiles from its place at which a clockwork walker's bubble is not shown
const FACE = { up: 1, down: 0.35, half: 0.34 };      // tiles from the feet up, and to both sides

/** @param {{ text: string, emote: number }} saying @param {Look} look */
function bubbleOf({ text, emote }, look, dpr) {
  const { padX, padY, line, sign } = look, font = '600 ' + look.size + 'px ' + FONT;
  const rows = wrap(text, font, look.widest, ROWS);
  const widest = rows.reduce((most, row) => Math.max(most, widthOf(row, font)), 12);
  const w = emote !== 0 ? sign + 2 * padY : Math.ceil(Math.min(widest, look.widest)) + 2 * padX;
  const h = (emote !== 0 ? sign : rows.length * line) + 2 * padY;
  const canvas = canvasOf((w + 2 * SHADE) * dpr, (h + 2 * SHADE) * dpr);
  const ctx = contextOf(canvas);
  ctx.scale(dpr, dpr);
  ctx.translate(SHADE, SHADE);
  for (const { down, style } of [{ down: 2, style: 'rgba(20, 26, 36, 0.22)' },
    { down: 0, style: look.paper }]) {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.roundRect(0, down, w, h, look.round);
    ctx.fill();
  }
  if (emote !== 0) {
    ctx.translate(w / 2, h / 2);
    ctx.scale(sign, sign);
    drawEmote(ctx, emote);
  }
  ctx.font = font;
  ctx.fillStyle = look.ink;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'center';
  rows.forEach((row, i) => {
    ctx.direction = isRightToLeft(row) ? 'rtl' : 'ltr';
    ctx.fillText(row, w / 2, padY + (i + 0.5) * line + 0.5);
  });
  return { canvas, text, emote, dpr, look, empty: rows.length === 0 && emote === 0 };
}

export class Speech {
  constructor() {
    /** @type {{ left: number, top: number, width: number, height: number }[]} What the bubbles of this
     * frame must not cover, in device px: first the panels and the own face, then bubbles. `count` are in use. */
    this.taken = [];
    this.count = this.panels = 0;         // the latter: so many of them are not bubbles
  }

  /** `dpr` is device px per css px for words, and `pageDpr` for the page's panels. */
  draw(ctx, state, screen, order, dpr, pageDpr) {
    this.count = 0;
    for (const { left, top, right, bottom } of state.panels) {
      this.#keep(left * pageDpr, top * pageDpr, (right - left) * pageDpr, (bottom - top) * pageDpr);
    }
    for (const { walker, px, py } of order) if (walker.own) this.#keepFace(px, py, screen);
    this.panels = this.count;
    this.#drawThose(ctx, state, screen, order, false, dpr);
    if (!order.some(({ clockwork, walker }) => clockwork && walker.saying?.shown)) return;
    for (const { deer, px, py } of order) if (!deer) this.#keepFace(px, py, screen);
    this.#drawThose(ctx, state, screen, order, true, dpr);
  }

  /** Keep the face of a walker whose feet are at a device px. */
  #keepFace(px, py, { tile }) {
    this.#keep(px - FACE.half * tile, py - FACE.up * tile, 2 * FACE.half * tile, (FACE.up - FACE.down) * tile);
  }

  /** Draw the bubbles of clockwork walkers, or of all others, from the front to the back, so that those of
   * the nearest walkers keep their places. */
  #drawThose(ctx, state, screen, order, clockwork, dpr) {
    const look = clockwork ? CLOCKWORK : PEOPLE;
    for (let i = order.length - 1; i >= 0; i--) {
      const memory = order[i], { walker } = memory, { saying } = walker;
      if (saying === null) {
        memory.bubble = null;
        continue;
      }
      if (memory.clockwork !== clockwork || !saying.shown || walker.alpha < 0.05) continue;
      if (memory.bubble === null || memory.bubble.text !== saying.text
        || memory.bubble.emote !== saying.emote || memory.bubble.dpr !== dpr) {
        memory.bubble = bubbleOf(saying, look, dpr);
      }
      if (memory.bubble.empty) continue;
      const pop = state.still ? 1 : Math.min(1, (state.now - saying.at) / POP_MS);
      ctx.globalAlpha = Math.min(1, (saying.until - state.now) / FADE_MS) * walker.alpha * pop;
      this.#drawBubble(ctx, screen, memory, dpr, Math.round((1 - pop) * 6 * dpr));
    }
    ctx.globalAlpha = 1;
  }

  #drawBubble(ctx, screen, memory, dpr, rise) {
    const { canvas, look } = memory.bubble, gap = GAP * dpr, tail = TAIL * dpr, shade = SHADE * dpr;
    const { width, height } = canvas, headY = memory.py - ABOVE * screen.tile;
    const tipX = Math.min(Math.max(memory.px, gap + 24 * dpr), screen.width - gap - 24 * dpr);
    const tipY = Math.max(headY, height + tail);
    const box = this.#placeOf(screen, gap,
      Math.min(Math.max(Math.round(tipX - width / 2), gap), screen.width - width - gap),
      Math.round(tipY - tail - height + shade), width, height, memory.clockwork);
    if (box === null) return;
    const inner = { left: box.left + shade, top: box.top + shade + rise,
      right: box.left + width - shade, bottom: box.top + height - shade + rise };
    drawTail(ctx, inner, tipX, tipY + rise, look, dpr);
    ctx.drawImage(canvas, box.left, box.top + rise);
  }

  /** Keep a place of that size that is clear of panels and of other bubbles, as near to the wanted one
   * as there is one, and return it. In a crowd it may cover bubbles, but no panel and not the own face. One that `yields`
   * gets null where nothing is free near by. */
  #placeOf(screen, gap, left, top, width, height, yields) {
    const { count, panels } = this;
    if (yields) {
      const free = this.#freePlace(screen, gap, left, top, width, height, count, true);
      return free === null ? null : this.#keep(Math.round(free.x), Math.round(free.y), width, height);
    }
    const { x, y } = this.#freePlace(screen, gap, left, top, width, height, count)
      ?? this.#freePlace(screen, gap, left, top, width, height, panels) ?? { x: left, y: top };
    return this.#keep(Math.round(x), Math.round(y), width, height);
  }

  /** Return the nearest place that is clear of the first `count` of those that are taken, or null. */
  #freePlace(screen, gap, left, top, width, height, count, yields = false) {
    if (!this.#isTaken(left, top, width, height, count)) return { x: left, y: top };
    let place = null, least = Infinity;
    for (let i = 0; i < 4 * count; i++) {
      const other = this.taken[i >> 2], side = i & 3;
      const x = side === 0 ? other.left - width : side === 1 ? other.left + other.width : left;
      const y = side === 2 ? other.top - height : side === 3 ? other.top + other.height : top;
      if (x < gap || y < 0 || x + width > screen.width - gap || y + height > screen.height) continue;
      // Below its place a bubble would cover who speaks.
      const up = yields ? HIGHER : 1;
      const cost = Math.abs(x - left) + (y > top ? y - top + LOWER * screen.tile : up * (top - y));
      if (yields && Math.hypot(x - left, y - top) > ASTRAY * screen.tile) continue;
      if (cost >= least || this.#isTaken(x, y, width, height, count)) continue;
      least = cost;
      place = { x, y };
    }
    return place;
  }

  #isTaken(left, top, width, height, count) {
    for (let i = 0; i < count; i++) {
      const box = this.taken[i];
      if (left < box.left + box.width && box.left < left + width
        && top < box.top + box.height && box.top < top + height) return true;
    }
    return false;
  }

  #keep(left, top, width, height) {
    if (this.taken.length === this.count) this.taken.push({ left: 0, top: 0, width: 0, height: 0 });
    return Object.assign(this.taken[this.count++], { left, top, width, height });
  }
}

/** Draw the tail of a bubble from the side of its box that looks to (tipX, tipY). Where the bubble had
 * to give way it only points there. */
function drawTail(ctx, { left, top, right, bottom }, tipX, tipY, look, dpr) {
  const round = look.round * dpr, half = look.round / 2 * dpr, inset = 2 * dpr;
  const upright = tipY >= bottom || tipY <= top;
  if (!upright && tipX >= left && tipX <= right) return;
  const x = upright ? Math.min(Math.max(tipX, left + round), right - round)
    : tipX < left ? left + inset : right - inset;
  const y = upright ? (tipY >= bottom ? bottom - inset : top + inset)
    : Math.min(Math.max(tipY, top + round), bottom - round);
  const far = Math.hypot(tipX - x, tipY - y) || 1, part = Math.min(1, LONGEST_TAIL * dpr / far);
  ctx.fillStyle = look.paper;
  ctx.beginPath();
  ctx.moveTo(x - (upright ? half : 0), y - (upright ? 0 : half));
  ctx.lineTo(x + (upright ? half : 0), y + (upright ? 0 : half));
  ctx.lineTo(x + (tipX - x) * part, y + (tipY - y) * part);
  ctx.fill();
}
