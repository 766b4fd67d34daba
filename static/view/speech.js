// What walkers say, and the signs of their emotes, in white bubbles with a tail, above everything else and inside the screen.

import { drawEmote } from './emotes.js';
import { canvasOf, contextOf } from './sprite.js';
import { FONT, isRightToLeft, widthOf, wrap } from './text.js';

const SIZE = 14, LINE = 19;               // css px
const WIDEST = 230;                       // css px of text
const PAD_X = 12, PAD_Y = 7, TAIL = 8, ROUND = 12, SHADE = 3;        // css px
const FADE_MS = 450, POP_MS = 140;
const ABOVE = 1.2;                        // tiles from the feet to the tail's tip
const GAP = 4;                            // css px between bubbles, and to the screen's edge
const SIGN = 26;                          // css px of the sign of an emote
const INK = '#1d2430', PAPER = '#ffffff';

/** @param {{ text: string, emote: number }} saying */
function bubbleOf({ text, emote }, dpr) {
  const font = '600 ' + SIZE + 'px ' + FONT;
  const rows = wrap(text, font, WIDEST, 2);
  const widest = rows.reduce((most, row) => Math.max(most, widthOf(row, font)), 12);
  const w = emote !== 0 ? SIGN + 2 * PAD_Y : Math.ceil(Math.min(widest, WIDEST)) + 2 * PAD_X;
  const h = (emote !== 0 ? SIGN : rows.length * LINE) + 2 * PAD_Y;
  const canvas = canvasOf((w + 2 * SHADE) * dpr, (h + 2 * SHADE) * dpr);
  const ctx = contextOf(canvas);
  ctx.scale(dpr, dpr);
  ctx.translate(SHADE, SHADE);
  for (const { down, style } of [{ down: 2, style: 'rgba(20, 26, 36, 0.22)' },
    { down: 0, style: PAPER }]) {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.roundRect(0, down, w, h, ROUND);
    ctx.fill();
  }
  if (emote !== 0) {
    ctx.translate(w / 2, h / 2);
    ctx.scale(SIGN, SIGN);
    drawEmote(ctx, emote);
  }
  ctx.font = font;
  ctx.fillStyle = INK;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'center';
  rows.forEach((row, i) => {
    ctx.direction = isRightToLeft(row) ? 'rtl' : 'ltr';
    ctx.fillText(row, w / 2, PAD_Y + (i + 0.5) * LINE + 0.5);
  });
  return { canvas, text, emote, dpr, empty: rows.length === 0 && emote === 0 };
}

export class Speech {
  constructor() {
    this.drawn = [];
    this.count = 0;
  }

  draw(ctx, state, screen, order, dpr) {
    this.count = 0;
    // From the front to the back, so that the bubbles of the nearest walkers keep their places.
    for (let i = order.length - 1; i >= 0; i--) {
      const memory = order[i], { walker } = memory, { saying } = walker;
      if (saying === null) {
        memory.bubble = null;
        continue;
      }
      if (walker.alpha < 0.05) continue;
      if (memory.bubble === null || memory.bubble.text !== saying.text
        || memory.bubble.emote !== saying.emote || memory.bubble.dpr !== dpr) {
        memory.bubble = bubbleOf(saying, dpr);
      }
      if (memory.bubble.empty) continue;
      const pop = state.still ? 1 : Math.min(1, (state.now - saying.at) / POP_MS);
      ctx.globalAlpha = Math.min(1, (saying.until - state.now) / FADE_MS) * walker.alpha * pop;
      this.#drawBubble(ctx, screen, memory, dpr, Math.round((1 - pop) * 6 * dpr));
    }
    ctx.globalAlpha = 1;
  }

  #drawBubble(ctx, screen, memory, dpr, rise) {
    const { canvas } = memory.bubble, gap = GAP * dpr, tail = TAIL * dpr, shade = SHADE * dpr;
    const tipX = Math.min(Math.max(memory.px, gap + 24 * dpr), screen.width - gap - 24 * dpr);
    const tipY = Math.max(memory.py - ABOVE * screen.tile, canvas.height + tail);
    const left = Math.min(Math.max(Math.round(tipX - canvas.width / 2), gap),
      screen.width - canvas.width - gap);
    let top = Math.round(tipY - tail - canvas.height + shade);
    for (let tries = 0; tries < 3; tries++) {
      const other = this.#overlapping(left, top, canvas.width, canvas.height);
      if (other === null) break;
      top = Math.max(gap, other.top - canvas.height - 1);
    }
    this.#keep(left, top, canvas.width, canvas.height);
    const bottom = top + canvas.height - shade;
    ctx.fillStyle = PAPER;
    ctx.beginPath();
    ctx.moveTo(tipX - 6 * dpr, bottom - dpr + rise);
    ctx.lineTo(tipX + 6 * dpr, bottom - dpr + rise);
    ctx.lineTo(tipX, Math.max(tipY, bottom + tail - 2 * dpr) + rise);
    ctx.fill();
    ctx.drawImage(canvas, left, top + rise);
  }

  #overlapping(left, top, width, height) {
    for (let i = 0; i < this.count; i++) {
      const box = this.drawn[i];
      if (left < box.left + box.width && box.left < left + width
        && top < box.top + box.height && box.top < top + height) return box;
    }
    return null;
  }

  #keep(left, top, width, height) {
    if (this.drawn.length === this.count) this.drawn.push({ left: 0, top: 0, width: 0, height: 0 });
    const box = this.drawn[this.count++];
    box.left = left;
    box.top = top;
    box.width = width;
    box.height = height;
  }
}
