// The names of landmarks, and what a signpost shows a player that stands at it. Both are words over the world.

import { BELOW, isCovered } from './marks.js';
import { EXTENTS } from './miniature.js';
import { canvasOf, contextOf, Lru } from './sprite.js';
import { FONT, textOf, widthOf } from './text.js';

const NAME_SIZE = 15, SIZE = 13, LINE = 21;              // css px
const RULE = 7;                           // css px between directions and courses
const PAD_X = 12, PAD_Y = 8, ROUND = 9, FAR_GAP = 14, ARROW = 20;     // css px
const ABOVE = 1.95;                       // tiles from a post to its board
const UNDER = 0.4, BESIDE = 0.6;          // tiles from a post to its board, if that is below or beside it
const OWN = { half: 0.5, up: 1.2, down: 1 };      // tiles around the feet of the player's walker
const GOLD = '#ffe9b0', OUTLINE = 'rgba(20, 26, 36, 0.92)';
const BOARD = '#f3e2bd', EDGE = '#8a6239', INK = '#3f2c1b', ARROWS = '#a2552c';
const COURSE = '#1f6f8b', CHOSEN = 'rgba(255, 209, 102, 0.85)';

/** What stands above the courses. */
const RACE = 'Race to';

const boards = new Lru(8);

/** Where the rows of courses are on the board of this frame, in device px. */
const offered = { left: 0, right: 0, top: 0, line: 0, count: 0 };

/** Return the index of the course under a device px, or null. */
export function courseAt(x, y) {
  const { left, right, top, line, count } = offered, index = Math.floor((y - top) / line);
  return x >= left && x < right && index >= 0 && index < count ? index : null;
}

/** Draw the names of the landmarks in view and the board of the signpost that is read. `dpr` is device
 * px per css px for words, and `pageDpr` for the page's panels. */
export function drawPlaces(ctx, state, screen, dpr, pageDpr) {
  for (const mark of state.marks) {
    // If a panel covers it, an arrow says its name.
    if (mark.name !== state.aim?.label
      && isCovered(state, screen.x(mark.foot + 0.5), screen.y(mark.y + 0.5), screen.tile, pageDpr)) continue;
    const name = textOf(mark.name, { size: NAME_SIZE, weight: 800, colour: GOLD, outline: OUTLINE, dpr });
    const x = screen.x(mark.foot + 0.5) - (name.w >> 1);
    const top = screen.y(mark.y + 0.5 + EXTENTS[mark.kind].top) - name.h, below = screen.y(mark.y + 0.5 + BELOW);
    // The name is over it, or below it if a panel covers the place above or the screen ends there.
    const y = [top, below].find((each) => screen.isFree(state.panels, pageDpr, x, each, x + name.w, each + name.h)) ?? top;
    if (x < screen.width && y < screen.height && x + name.w > 0 && y + name.h > 0) {
      ctx.drawImage(name.canvas, x, y);
    }
  }
  const { sign } = state;
  offered.count = 0;
  if (sign === null || sign.directions.length + sign.courses.length === 0) return;
  // If there is no room for all of it, courses are left out: the key begins a race all the same.
  const all = boardOf(sign.directions, sign.courses, sign.chosen, dpr), room = boardPlace(all, state, screen, pageDpr);
  const count = room.free || sign.directions.length === 0 ? sign.courses.length : 0;
  const board = count > 0 ? all : boardOf(sign.directions, [], -1, dpr);
  const { x, y } = count > 0 ? room : boardPlace(board, state, screen, pageDpr);
  ctx.drawImage(board, x, y);
  const line = LINE * dpr;
  const top = y + board.height - (4 + PAD_Y) * dpr - count * line;
  Object.assign(offered, { left: x, right: x + board.width, top, line, count });
}

/** Return where a board is drawn: above its post, below or beside it, or below the player's walker, but where
 * it covers neither the walker nor its name; `free` says whether no panel covers it there. */
function boardPlace({ width, height }, { sign, here, panels }, screen, pageDpr) {
  const { tile } = screen, postX = screen.x(sign.x + 0.5), foot = screen.y(sign.y + 0.5);
  const high = sign.x === 0 && sign.y === 0 ? 2 * ABOVE - 0.8 : ABOVE;
  const left = postX - (width >> 1), beside = Math.round(BESIDE * tile);
  const ownX = screen.x(here.x), ownY = screen.y(here.y);
  const places = [[left, foot - Math.round(high * tile) - height], [left, foot + Math.round(UNDER * tile)],
    [postX + beside, foot - (height >> 1)], [postX - beside - width, foot - (height >> 1)],
    [left, ownY + Math.ceil(OWN.down * tile)]];
  const clear = places.filter(([x, y]) => ownX <= x - OWN.half * tile || ownX >= x + width + OWN.half * tile
    || ownY + OWN.down * tile <= y || ownY - OWN.up * tile >= y + height);
  const found = clear.find(([x, y]) => screen.isFree(panels, pageDpr, x, y, x + width, y + height));
  const [x, y] = found ?? clear[0];
  return { x, y, free: found !== undefined };
}

/** Return the picture of a board with a line for each direction, and for each course, one of which may be chosen. A course shows
 * how fast it was run, if that is known, instead of how long it is. */
function boardOf(directions, courses, chosen, dpr) {
  const key = JSON.stringify([directions, courses, chosen, dpr]), known = boards.get(key);
  if (known !== undefined) return known;
  const font = `700 ${SIZE}px ${FONT}`, first = directions.length, rule = first > 0 && courses.length > 0 ? RULE : 0;
  const heading = courses.length > 0 ? [{ name: RACE, away: '', turn: NaN }] : [];
  const rows = [...directions, ...heading, ...courses].map(({ name, away, turn, best = String(away) }) => ({ name, away: best, turn }));
  const names = Math.max(...rows.map(({ name }) => widthOf(name, font)));
  const fars = Math.max(...rows.map(({ away }) => widthOf(away, font)));
  const w = Math.ceil(2 * PAD_X + ARROW + names + FAR_GAP + fars), h = rows.length * LINE + 2 * PAD_Y + rule;
  const canvas = canvasOf((w + 4) * dpr, (h + 6) * dpr), ctx = contextOf(canvas);
  ctx.scale(dpr, dpr);
  for (const { x, y, style } of [{ x: 2, y: 5, style: 'rgba(20, 26, 36, 0.3)' },
    { x: 2, y: 2, style: BOARD }]) {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.roundRect(x, y, w, h, ROUND);
    ctx.fill();
  }
  ctx.strokeStyle = EDGE;
  ctx.lineWidth = 2;
  ctx.stroke();
  ctx.font = font;
  ctx.textBaseline = 'middle';
  rows.forEach(({ name, away, turn }, i) => {
    const y = 2 + PAD_Y + (i + 0.5) * LINE + (i < first ? 0 : rule), style = i < first ? ARROWS : COURSE;
    ctx.fillStyle = EDGE;
    if (i === first && rule > 0) ctx.fillRect(2 + PAD_X, y - (LINE + RULE) / 2 - 0.5, w - 2 * PAD_X, 1);
    ctx.fillStyle = CHOSEN;
    if (chosen >= 0 && i === first + 1 + chosen) ctx.fillRect(4, y - LINE / 2, w - 4, LINE);
    const left = 2 + PAD_X + (Number.isNaN(turn) ? 0 : ARROW);
    if (!Number.isNaN(turn)) drawArrow(ctx, 2 + PAD_X + 6, y, turn, style);
    ctx.fillStyle = i < first ? INK : COURSE;
    ctx.textAlign = 'left';
    ctx.fillText(name, left, y + 0.5);
    ctx.textAlign = 'right';
    ctx.fillText(away, 2 + w - PAD_X, y + 0.5);
  });
  return boards.set(key, canvas);
}

/** Draw an arrow; `turn` is in eighths from the east, clockwise. */
function drawArrow(ctx, x, y, turn, style) {
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(turn * Math.PI / 4);
  ctx.fillStyle = style;
  ctx.beginPath();
  for (const [px, py] of [[7, 0], [0, -5.5], [0, -2], [-7, -2], [-7, 2], [0, 2], [0, 5.5]]) {
    ctx.lineTo(px, py);
  }
  ctx.fill();
  ctx.restore();
}
