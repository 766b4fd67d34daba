// The page of paint the floor: its colours, its board, and what mushrooms look like.

import { HINT, join } from './game.js';

const COLOURS = ['#2b2f36', '#e8524a', '#f2a13b', '#f4dc5b', '#63b75a', '#4fb3c6', '#5a7de0', '#a06ad6', '#e57fb5'];
const SPILL = 2;                          // tiles to each side
const SPARKS = 10_000;                    // ms for which a mushroom makes a player faster
const SHOWN_FOR = 8000;                   // ms for which a sentence is shown
const sparks = new Map();                 // id of a player -> node time until which it has sparks

/** Return the page's element for a selector; it must exist. @returns {any} */
const part = (selector) => document.querySelector(selector);
const spill = () => game.do.spill(SPILL);

const game = join({
  canvas: part('canvas'),
  keys: { Space: spill },
  // A player that touches itself spills paint.
  tap: (x, y) => game.me !== null && Math.hypot(x - game.me.x, y - game.me.y) < 1 && (spill(), true),
});

let fading = 0;
game.on.line((text, stays) => {
  part('#line').textContent = text === HINT ? `${HINT} Press Space, or tap your player, to spill paint.` : text;
  clearTimeout(fading);
  if (!stays) fading = setTimeout(() => { part('#line').textContent = ''; }, SHOWN_FOR);
});
game.on.event('Sparks', (player, values, id) => sparks.set(id, game.clock.now() + SPARKS));
game.on.message('board', (rows) => part('#board').replaceChildren(...rows.map(([colour, tiles]) => {
  const row = document.createElement('li'), spot = document.createElement('i');
  row.className = colour === game.me?.values.colour ? 'own' : '';
  row.textContent = tiles;
  spot.style.background = COLOURS[colour];
  row.append(spot);
  return row;
})));

game.draw.cells('floor', (ctx, colour, x, y) => {
  ctx.fillStyle = COLOURS[colour];
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
  for (let n = 0; sparks.get(id) > now && n < 6; n++) {
    const angle = now / 300 + n * Math.PI / 3, far = 0.7 + 0.1 * Math.sin(now / 90 + n);
    ctx.fillRect(far * Math.cos(angle) - 0.07, far * Math.sin(angle) - 0.07, 0.14, 0.14);
  }
  game.draw.disc(0.4, COLOURS[values.colour ?? 0], own ? '#fff' : '#14161a');
  game.draw.label(name, 0, -0.6);
});

// Tells again.js that the page has begun.
document.documentElement.dataset.begun = '';
