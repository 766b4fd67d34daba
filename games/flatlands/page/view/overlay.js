// The grid overlay. Squares are channels, and the overlay shows which of them the page holds and why.
// It is drawn over the ground and under the walkers and their names.

import { BORDERS } from '../borders.js';
import { AMBER } from './palette.js';
import { textOf } from './text.js';

/** @typedef {import('../state.js').Overlay} Overlay */
/** @typedef {import('../state.js').State} State */

const FLASH_MS = 600, DROPPED_MS = 2000;
const DROPPED_COLOUR = '#ff7d9c', HELD_COLOUR = '#ffd166';
const UNDER = 'rgba(16, 22, 32, 0.55)';   // under every line, so that it is visible on any
                                          // ground
const UNHELD = 'rgba(16, 22, 32, 0.42)';
const SURROUND = 3;                       // tiles shown beyond the drop margin
const BEHIND = '#141a24', BEHIND_WORDS = 0.86;  // under words, and its opacity

/** Return the device px per tile at which the whole drop margin is in view; at most `tile`.
 * @param {State} state */
export function overlayTile({ viewport, margins }, tile, width, height) {
  const beyond = 2 * (margins.drop + SURROUND);
  const fits = Math.min(width / (viewport.w + beyond), height / (viewport.h + beyond));
  return Math.max(6, Math.min(tile, Math.floor(fits)));
}

/** Draw squares, margins and flashes.
 * @param {State} state @param {Overlay} overlay  that of the state, not null */
export function drawOverlay(ctx, state, overlay, screen, dpr) {
  const { side } = state.replica, { held } = overlay;
  const x0 = screen.x(held.c0 * side), y0 = screen.y(held.r0 * side);
  const x1 = screen.x((held.c1 + 1) * side), y1 = screen.y((held.r1 + 1) * side);
  ctx.fillStyle = UNHELD;
  ctx.fillRect(0, 0, screen.width, y0);
  ctx.fillRect(0, y1, screen.width, screen.height - y1);
  ctx.fillRect(0, y0, x0, y1 - y0);
  ctx.fillRect(x1, y0, screen.width - x1, y1 - y0);
  drawGridLines(ctx, screen, side, dpr);
  for (let row = held.r0; row <= held.r1; row++) {
    for (let col = held.c0; col <= held.c1; col++) drawHeld(ctx, overlay, screen, side, col, row);
  }
  ctx.setLineDash([]);
  drawHeldLines(ctx, held, screen, side, dpr);
  for (const { col, row, age } of overlay.dropped) {
    if (age < DROPPED_MS) drawDropped(ctx, screen, side, col, row, 1 - age / DROPPED_MS, dpr);
  }
  const mine = box(screen, side, overlay.mine.col, overlay.mine.row);
  outlineBox(ctx, mine.x, mine.y, mine.size, mine.size, HELD_COLOUR, 3.5 * dpr);
  drawMargins(ctx, state, screen, dpr);
}

function box(screen, side, col, row) {
  const x = screen.x(col * side), y = screen.y(row * side);
  return { x, y, size: Math.round(side * screen.tile) };
}

function drawGridLines(ctx, screen, side, dpr) {
  const left = Math.floor(screen.tilesX(0) / side), top = Math.floor(screen.tilesY(0) / side);
  ctx.strokeStyle = 'rgba(255, 255, 255, 0.4)';
  ctx.lineWidth = dpr;
  ctx.setLineDash([3 * dpr, 5 * dpr]);
  ctx.beginPath();
  for (let col = left; screen.x(col * side) < screen.width; col++) {
    ctx.moveTo(screen.x(col * side) + 0.5, 0);
    ctx.lineTo(screen.x(col * side) + 0.5, screen.height);
  }
  for (let row = top; screen.y(row * side) < screen.height; row++) {
    ctx.moveTo(0, screen.y(row * side) + 0.5);
    ctx.lineTo(screen.width, screen.y(row * side) + 0.5);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Draw a held square, which glows amber just after a message came on its channel. */
function drawHeld(ctx, overlay, screen, side, col, row) {
  const square = overlay.squares.get(col + ':' + row);
  const glow = square === undefined ? 0 : Math.max(0, 1 - square.flash / FLASH_MS);
  if (glow <= 0) return;
  const { x, y, size } = box(screen, side, col, row);
  ctx.globalAlpha = glow * 0.42;
  ctx.fillStyle = AMBER;
  ctx.fillRect(x, y, size, size);
  ctx.globalAlpha = 1;
}

function drawHeldLines(ctx, held, screen, side, dpr) {
  for (const [style, width] of [[UNDER, 4 * dpr], [HELD_COLOUR, 2 * dpr]]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    const left = screen.x(held.c0 * side), right = screen.x((held.c1 + 1) * side);
    const top = screen.y(held.r0 * side), bottom = screen.y((held.r1 + 1) * side);
    for (let col = held.c0; col <= held.c1 + 1; col++) {
      ctx.moveTo(screen.x(col * side), top);
      ctx.lineTo(screen.x(col * side), bottom);
    }
    for (let row = held.r0; row <= held.r1 + 1; row++) {
      ctx.moveTo(left, screen.y(row * side));
      ctx.lineTo(right, screen.y(row * side));
    }
    ctx.stroke();
  }
}

function drawDropped(ctx, screen, side, col, row, left, dpr) {
  const { x, y, size } = box(screen, side, col, row);
  ctx.globalAlpha = left;
  ctx.fillStyle = 'rgba(255, 125, 156, 0.28)';
  ctx.fillRect(x, y, size, size);
  outlineBox(ctx, x, y, size, size, DROPPED_COLOUR, 2 * dpr);
  ctx.globalAlpha = 1;
}

function outlineBox(ctx, x, y, w, h, style, width) {
  ctx.lineWidth = width + width;
  ctx.strokeStyle = UNDER;
  ctx.strokeRect(x, y, w, h);
  ctx.lineWidth = width;
  ctx.strokeStyle = style;
  ctx.strokeRect(x, y, w, h);
}

/** Return the viewport grown by a margin, in device px.
 * @param {State} state @param {'drop' | 'lead' | null} margin */
function borderBox({ viewport, margins, here }, screen, margin) {
  const grown = margin === null ? 0 : margins[margin];
  return { x: screen.x(here.x - viewport.w / 2 - grown),
    y: screen.y(here.y - viewport.h / 2 - grown),
    w: Math.round((viewport.w + 2 * grown) * screen.tile),
    h: Math.round((viewport.h + 2 * grown) * screen.tile) };
}

/** Draw the viewport, and the viewport grown by the lead margin and by the drop margin. */
function drawMargins(ctx, state, screen, dpr) {
  for (const { margin, colour, dash } of BORDERS) {
    const { x, y, w, h } = borderBox(state, screen, margin);
    ctx.setLineDash([]);
    ctx.strokeStyle = UNDER;
    ctx.lineWidth = 5 * dpr;
    ctx.strokeRect(x, y, w, h);
    ctx.setLineDash(dash.map((length) => length * dpr));
    ctx.strokeStyle = colour;
    ctx.lineWidth = 3 * dpr;
    ctx.strokeRect(x, y, w, h);
  }
  ctx.setLineDash([]);
}

/** Write on each of these lines what it is: at the middle of its first side where no panel would
 * cover the word. `dpr` is device px per css px for words, and `pageDpr` for panels.
 * @param {State} state */
export function drawBorderWords(ctx, state, screen, dpr, pageDpr) {
  for (const { margin, word, colour } of BORDERS) {
    const { x, y, w, h } = borderBox(state, screen, margin);
    const text = textOf(word, { size: 12, weight: 800, colour, dpr });
    const halfW = text.w / 2 + 5 * dpr, halfH = text.h / 2;
    const places = [[x + w / 2, y + h], [x + w / 2, y], [x, y + h / 2], [x + w, y + h / 2]];
    const place = places.find(([atX, atY]) => screen.isFree(state.panels, pageDpr,
      atX - halfW, atY - halfH, atX + halfW, atY + halfH));
    if (place === undefined) continue;
    const left = Math.round(place[0] - halfW), top = Math.round(place[1] - halfH);
    ctx.globalAlpha = BEHIND_WORDS;
    ctx.fillStyle = BEHIND;
    ctx.beginPath();
    ctx.roundRect(left, top, 2 * halfW, 2 * halfH, halfH);
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.drawImage(text.canvas, left + Math.round(5 * dpr), top);
  }
}

/** Write the channel name, number of players and messages per second into each held square; `side` is
 * the length of its side in tiles.
 * @param {Overlay} overlay */
export function drawOverlayLabels(ctx, overlay, side, screen, dpr) {
  const { held, dropped, squares, mine } = overlay;
  for (let row = held.r0; row <= held.r1; row++) {
    for (let col = held.c0; col <= held.c1; col++) {
      const name = col + ':' + row, own = col === mine.col && row === mine.row;
      drawLabel(ctx, screen, side, col, row, squares.get(name), own, 1, dpr);
    }
  }
  for (const { col, row, age } of dropped) {
    if (age < DROPPED_MS) drawLabel(ctx, screen, side, col, row, null, false,
      1 - age / DROPPED_MS, dpr);
  }
}

/** Write a square's label; `square` is null if it was just dropped, undefined if not known yet. */
function drawLabel(ctx, screen, side, col, row, square, own, alpha, dpr) {
  const { x, y, size } = box(screen, side, col, row), pad = 6 * dpr;
  if (x + size < 0 || y + size < 0 || x > screen.width || y > screen.height) return;
  const small = size < 120 * dpr;
  const name = textOf('sq ' + col + ':' + row, { size: small ? 11 : 13, dpr,
    colour: square === null ? DROPPED_COLOUR : own ? HELD_COLOUR : '#ffffff' });
  const says = square === null ? 'dropped' : square === undefined ? '…'
    : square.people + ' here · ' + rateOf(square.rate) + '/s';
  const line = textOf(says, { size: small ? 10 : 12, weight: 500, colour: '#e4e9f0', dpr });
  const width = Math.max(name.w, line.w) + 2 * pad, height = name.h + line.h + pad;
  // Keep the label inside the screen, as far as the square allows, so that both are visible.
  const left = Math.min(Math.max(x + pad, pad), x + size - width - pad);
  const top = Math.min(Math.max(y + pad, pad), y + size - height - pad);
  ctx.globalAlpha = alpha * BEHIND_WORDS;
  ctx.fillStyle = BEHIND;
  ctx.beginPath();
  ctx.roundRect(left, top, width, height, 6 * dpr);
  ctx.fill();
  ctx.globalAlpha = alpha;
  ctx.drawImage(name.canvas, Math.round(left + pad), Math.round(top + pad / 2));
  ctx.drawImage(line.canvas, Math.round(left + pad), Math.round(top + pad / 2 + name.h));
  ctx.globalAlpha = 1;
}

function rateOf(rate) {
  return rate >= 10 || rate === 0 ? String(Math.round(rate)) : rate.toFixed(1);
}
