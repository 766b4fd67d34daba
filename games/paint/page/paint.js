// The page of paint the floor: its colours, its board, and what mushrooms look like.

import { HINT, join } from './game.js';

const COLOURS = ['#343942', '#e8524a', '#f2a13b', '#f4dc5b', '#63b75a', '#4fb3c6', '#5a7de0', '#a06ad6', '#e57fb5'];
const SPILL = 2;                          // tiles to each side
const SPARKS = 10_000;                    // ms for which a mushroom makes a player faster
const SHOWN_FOR = 8000;                   // ms for which a sentence is shown
const WET_FOR = 1000;                     // ms within which the server says that a tile was painted
const LEAP = 2;                           // tiles in one frame: a player that moves farther was put there
/** @type {Map<number, number>} Id of a player -> node time until which it has sparks. */
const sparks = new Map();
/** @type {Map<string, number>} What this player has just painted, before the server says so: "x,y" of a tile -> node time
 * until which it is shown in the player's colour. */
const wet = new Map();
let last = '', lastX = NaN, lastY = NaN;  // where the player was in the last frame

const [canvas] = document.querySelectorAll('canvas'), [line, board] = document.querySelectorAll('#line, #board');
/** @param {number} x @param {number} y */
const tileAt = (x, y) => `${Math.floor(x)},${Math.floor(y)}`;
/** @param {string[]} tiles */
const paint = (tiles) => tiles.forEach((tile) => wet.set(tile, game.clock.now() + WET_FOR));
/** Return the colour in which a tile is shown that has this one. @param {number} colour @param {number} x @param {number} y */
const shown = (colour, x, y) => COLOURS[wet.has(`${x},${y}`) ? game.me?.values.colour ?? colour : colour];

/** Spill paint, which is seen at once, and wiped off if the server refuses that. */
function spill() {
  if (game.me === null) return;
  const { x, y } = game.me, reach = [...Array(2 * SPILL + 1).keys()].map((n) => n - SPILL);
  const tiles = reach.flatMap((dx) => reach.map((dy) => tileAt(x + dx, y + dy))).filter((tile) => !wet.has(tile));
  game.do.spill(SPILL, { effect: () => paint(tiles), undo: () => tiles.forEach((tile) => wet.delete(tile)) });
}

const game = join({
  canvas,
  keys: { Space: spill },
  // A player that touches itself spills paint.
  tap: (x, y) => game.me !== null && Math.hypot(x - game.me.x, y - game.me.y) < 1 && (spill(), true),
});

let fading = 0;
game.on.line((text, stays) => {
  line.textContent = text === HINT ? `${HINT} Press Space, or tap your player, to spill paint.` : text;
  clearTimeout(fading);
  if (!stays) fading = setTimeout(() => { line.textContent = ''; }, SHOWN_FOR);
});
game.on.event('Sparks', (player, values, id) => sparks.set(id, game.clock.now() + SPARKS));
game.on.message('board', (rows) => board.replaceChildren(...rows.map(([colour, tiles]) => {
  const row = document.createElement('li'), spot = document.createElement('i');
  row.className = colour === game.me?.values.colour ? 'own' : '';
  row.textContent = `${tiles}`;
  spot.style.background = COLOURS[colour];
  row.append(spot);
  return row;
})));

// The server paints each tile to which a player comes. That is seen at once, too.
game.on.frame((now) => {
  if (game.me === null) return;
  const { x, y, values } = game.me, tile = tileAt(x, y);
  if (tile !== last && Math.hypot(x - lastX, y - lastY) < LEAP) paint([tile]);
  [last, lastX, lastY] = [tile, x, y];
  for (const [each, until] of wet) {
    const [column, row] = each.split(',').map(Number);
    if (until < now || game.cells('floor').at(column, row) === values.colour) wet.delete(each);
  }
});
game.draw.ground((ctx, x, y) => {
  ctx.fillStyle = shown(0, x, y);
  ctx.fillRect(x, y, 0.96, 0.96);
});
game.draw.cells('floor', (ctx, colour, x, y) => {
  ctx.fillStyle = shown(colour, x, y);
  ctx.fillRect(x, y, 0.96, 0.96);
});
game.draw.thing('Mushroom', (ctx) => {
  ctx.fillStyle = '#f1e6d0';
  ctx.fillRect(-0.1, -0.14, 0.2, 0.36);
  ctx.fillStyle = '#c8423b';
  ctx.beginPath();
  ctx.ellipse(0, -0.1, 0.32, 0.22, 0, Math.PI, 0);
  ctx.fill();
});
game.draw.player((ctx, { id, name, own, values }) => {
  const now = game.clock.now();
  ctx.fillStyle = '#ffe9a8';
  for (let n = 0; (sparks.get(id) ?? 0) > now && n < 6; n++) {
    const angle = now / 300 + n * Math.PI / 3, far = 0.7 + 0.1 * Math.sin(now / 90 + n);
    ctx.fillRect(far * Math.cos(angle) - 0.07, far * Math.sin(angle) - 0.07, 0.14, 0.14);
  }
  game.draw.disc(0.4, COLOURS[values.colour], own ? '#fff' : '#14161a');
  game.draw.label(name, 0, -0.6);
});

// Tells again.js that the page has begun.
document.documentElement.dataset.begun = '';
