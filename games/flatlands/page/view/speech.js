// What walkers say, and the signs of their emotes, in bubbles with a tail: above everything else on the
// canvas, inside the screen, beside the panels and beside faces. Those of people are white; those of clockwork walkers
// are smaller, with a grey outline, and are shown only where they cover nothing that people say.

import { drawEmote } from './emotes.js';
import { canvasOf, contextOf } from './sprite.js';
import { FONT, isRightToLeft, widthOf, wrap } from './text.js';

const TAIL = 8, SHADE = 3, RIM = 1.5;     // css px
/** @typedef {{ size: number, line: number, widest: number, padX: number, padY: number, round: number,
 * sign: number, ink: string, paper: string, rim: string | null }} Look  In css px: letters, lines, the text's width, the room
 * around it, the corners, and the sign of an emote; and colours. */
/** @type {Look} */
const PEOPLE = { size: 13, line: 18, widest: 210, padX: 11, padY: 5, round: 11, sign: 22, ink: '#1d2430',
  paper: '#ffffff', rim: null };
/** @type {Look} */
const CLOCKWORK = { size: 12, line: 15, widest: 170, padX: 8, padY: 3, round: 8, sign: 16, ink: '#3d4753',
  paper: '#e6e9ed', rim: '#8b95a1' };
const FADE_MS = 450, POP_MS = 140;
const ABOVE = 1.2;                        // tiles from the feet to the tail's tip
const ROWS = 3;                           // of a text, at most
const GAP = 4;                            // css px to the edge of the screen
const LONGEST_TAIL = 18;                  // css px
const LOWER = 2;                          // tiles: a place below the wanted one counts as this much farther
const HIGHER = 8;                         // factor by which a place above the wanted one counts as farther for clockwork.
                                          // Over another head, a bubble would seem to be what that one says
const ASTRAY = 4.5;                       // tiles from its place from which on a clockwork walker's bubble is not shown
// Tiles from the feet up, down, and to both sides.
const FACE = { up: 1, down: -0.35, half: 0.34 }, OWN = { up: 1.1, down: 1, half: 0.5 };
const PASSES = 0.5;                       // the pace from which on a walker is only passing

/** @param {import('../state.js').Saying} saying @param {Look} look */
function bubbleOf(saying, look, dpr) {
  const { text, emote } = saying, { padX, padY, line, sign } = look, font = '600 ' + look.size + 'px ' + FONT;
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
  if (look.rim !== null) {
    ctx.strokeStyle = look.rim;
    ctx.lineWidth = RIM;
    ctx.stroke();
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
  return { canvas, saying, dpr, look, dx: 0, dy: 0, empty: rows.length === 0 && emote === 0 };
}

/** @typedef {{ left: number, top: number, width: number, height: number }} Place  Device px. */

export class Speech {
  constructor() {
    /** @type {Place[]} What bubbles must not cover: panels, and the player's walker with its name; */
    this.fixed = [];
    /** @type {Place[]} what those of people may cover in a crowd, and those of clockwork never: faces of standing walkers; */
    this.faces = [];
    /** @type {Place[]} and the bubbles of this frame. */
    this.bubbles = [];
  }

  /** Draw what is said: by people before clockwork, and from the front to the back, so that bubbles of the nearest walkers
   * keep their places. `dpr` is device px per css px for words, and `pageDpr` for the page's panels. */
  draw(ctx, state, screen, order, dpr, pageDpr) {
    const speaking = order.filter(({ walker: { saying, alpha } }) => saying !== null && saying.shown && alpha >= 0.05)
      .reverse();
    if (speaking.length === 0) return;
    this.fixed = state.panels.map(({ left, top, right, bottom }) => ({ left: left * pageDpr, top: top * pageDpr,
      width: (right - left) * pageDpr, height: (bottom - top) * pageDpr }));
    this.faces = [];
    this.bubbles = [];
    for (const { deer, walker, pace, px, py } of order) {
      if (walker.own) this.fixed.push(boxAround(OWN, px, py, screen));
      else if (!deer && pace < PASSES) this.faces.push(boxAround(FACE, px, py, screen));
    }
    for (const clockwork of [false, true]) {
      for (const memory of speaking) if (memory.clockwork === clockwork) this.#drawBubble(ctx, state, screen, memory, dpr);
    }
    ctx.globalAlpha = 1;
  }

  #drawBubble(ctx, state, screen, memory, dpr) {
    const { walker: { saying, alpha }, clockwork } = memory;
    if (memory.bubble === null || memory.bubble.saying !== saying || memory.bubble.dpr !== dpr) {
      memory.bubble = bubbleOf(saying, clockwork ? CLOCKWORK : PEOPLE, dpr);
    }
    if (memory.bubble.empty) return;
    const { canvas, look } = memory.bubble, gap = GAP * dpr, tail = TAIL * dpr, shade = SHADE * dpr;
    const { width, height } = canvas, headY = memory.py - ABOVE * screen.tile;
    const tipX = Math.min(Math.max(memory.px, gap + 24 * dpr), screen.width - gap - 24 * dpr);
    const tipY = Math.max(headY, height + tail);
    const box = this.#placeOf(screen, gap, memory,
      { left: Math.min(Math.max(Math.round(tipX - width / 2), gap), screen.width - width - gap),
        top: Math.round(tipY - tail - height + shade), width, height });
    if (box === null) return;
    const pop = state.still ? 1 : Math.min(1, (state.now - saying.at) / POP_MS), rise = Math.round((1 - pop) * 6 * dpr);
    ctx.globalAlpha = Math.min(1, (saying.until - state.now) / FADE_MS) * alpha * pop;
    drawTail(ctx, { left: box.left + shade, top: box.top + shade + rise, right: box.left + width - shade,
      bottom: box.top + height - shade + rise }, tipX, tipY + rise, look, dpr);
    ctx.drawImage(canvas, box.left, box.top + rise);
  }

  /** Choose a clear place for a bubble, as near to the wanted one as possible, note that it is taken, and return it. To keep calm, a
   * bubble does not leave a clear place for a nearer one. In a crowd a person's bubble may cover faces, or even bubbles, but a
   * clockwork walker's is not shown: then return null.
   * @param {Place} wanted @returns {Place | null} */
  #placeOf(screen, gap, { bubble, clockwork }, wanted) {
    const { fixed, faces, bubbles } = this, kept = moved(wanted, bubble.dx, bubble.dy);
    const said = [...fixed, ...bubbles], all = [...said, ...faces];
    // At the wanted place it may reach beyond the screen, as the speaker does.
    const clear = (place, taken) => (isWithin(place, screen, gap) || (place.left === wanted.left && place.top === wanted.top))
      && !taken.some((box) => covers(place, box));
    let place = clear(kept, all) ? kept : freePlace(wanted, all, ASTRAY * screen.tile, clockwork ? HIGHER : 1, clear, screen);
    if (place === null && clockwork) return null;
    place ??= clear(kept, said) ? kept : freePlace(wanted, said, Infinity, 1, clear, screen)
      ?? freePlace(wanted, fixed, Infinity, 1, clear, screen) ?? wanted;
    bubble.dx = place.left - wanted.left;
    bubble.dy = place.top - wanted.top;
    bubbles.push(place);
    return place;
  }
}

/** Return a box of tiles around feet at the device px (px, py). */
function boxAround({ up, down, half }, px, py, { tile }) {
  return { left: px - half * tile, top: py - up * tile, width: 2 * half * tile, height: (up + down) * tile };
}

const moved = ({ left, top, width, height }, x, y) =>
  ({ left: Math.round(left + x), top: Math.round(top + y), width, height });

/** @param {Place} one @param {Place} other */
function covers(one, other) {
  return one.left < other.left + other.width && other.left < one.left + one.width
    && one.top < other.top + other.height && other.top < one.top + one.height;
}

/** @param {Place} place */
function isWithin({ left, top, width, height }, screen, gap) {
  return left >= gap && top >= 0 && left + width <= screen.width - gap && top + height <= screen.height;
}

/** Return the place nearest to the wanted one that is clear of all places taken, beside, above or below one of them, and at most `reach`
 * device px away; null if there is none. A way up costs `up` times as much, and one down more, since it may cover the speaker.
 * @param {Place} wanted @param {Place[]} taken @param {(place: Place, taken: Place[]) => boolean} clear
 * @returns {Place | null} */
function freePlace(wanted, taken, reach, up, clear, { tile }) {
  const { left, top, width, height } = wanted;
  const near = taken.filter((box) => box.left < left + width + reach && box.left + box.width > left - reach
    && box.top < top + height + reach && box.top + box.height > top - reach);
  if (clear(wanted, near)) return wanted;
  let place = null, least = Infinity;
  for (const other of near) {
    for (const [x, y] of [[other.left - width - left, 0], [other.left + other.width - left, 0],
      [0, other.top - height - top], [0, other.top + other.height - top]]) {
      const cost = Math.abs(x) + (y > 0 ? y + LOWER * tile : -y * up);
      if (cost >= least || Math.hypot(x, y) > reach) continue;
      const at = moved(wanted, x, y);
      if (!clear(at, near)) continue;
      least = cost;
      place = at;
    }
  }
  return place;
}

/** Draw the tail of a bubble from the side of its box that looks to (tipX, tipY). If the bubble had
 * to give way, it only points there. */
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
  ctx.lineTo(x + (tipX - x) * part, y + (tipY - y) * part);
  ctx.lineTo(x + (upright ? half : 0), y + (upright ? 0 : half));
  ctx.fill();
  if (look.rim === null) return;
  ctx.strokeStyle = look.rim;
  ctx.lineWidth = RIM * dpr;
  ctx.lineJoin = 'round';
  ctx.stroke();
}
