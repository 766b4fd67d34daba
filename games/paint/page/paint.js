// The page of paint the floor: its colours, its rounds, its board, and what mushrooms look like.

import { HINT, join } from './game.js';

const COLOURS = ['#343942', '#e8524a', '#f2a13b', '#f4dc5b', '#63b75a', '#4fb3c6', '#5a7de0', '#a06ad6', '#e57fb5'];
const SPILL = 2;                          // tiles to each side
const SPARKS = 10_000;                    // ms for which a mushroom makes a player faster
const SHOWN_FOR = 8000;                   // ms for which a sentence is shown
const WET_FOR = 1000;                     // ms within which the server says that a tile was painted
const LEAP = 2;                           // tiles in one frame: a player that moves farther was put there
const NAMES = ['', 'red', 'orange', 'yellow', 'green', 'turquoise', 'blue', 'violet', 'pink'];
const CONFETTI = 140, FALLS = 4000;       // pieces; ms
/** @type {Map<number, number>} Id of a player -> node time until which it has sparks. */
const sparks = new Map();
/** @type {Map<string, number>} What this player has just painted, before the server says so: "x,y" of a tile -> node time
 * until which it is shown in the player's colour. */
const wet = new Map();
let last = '', lastX = NaN, lastY = NaN;  // where the player was in the last frame
let ends = 0, first = 0;                  // node time at which the round ends; and what its values have added to a colour
let playing = false;                      // whether the round was on when the board came last
let won = -Infinity, winner = 0;          // node time at which the last round ended, and the colour that won it
/** @type {[number, number, string][]} Colour, number of its tiles, and names of its players, the most tiles first. */
let rows = [];

const [canvas] = document.querySelectorAll('canvas'), [line, clock, board] = document.querySelectorAll('#line, #clock, #board');
const [field] = document.querySelectorAll('input');
/** @param {number} x @param {number} y */
const tileAt = (x, y) => `${Math.floor(x)},${Math.floor(y)}`;
/** @param {string[]} tiles */
const paint = (tiles) => tiles.forEach((tile) => wet.set(tile, game.clock.now() + WET_FOR));
/** Return the colour in which a tile is shown that has this one. @param {number} colour @param {number} x @param {number} y */
const shown = (colour, x, y) => COLOURS[wet.has(`${x},${y}`) ? game.me?.values.colour ?? colour : colour] ?? COLOURS[0];
/** Return the colour of a value on the floor, or 0 if that is paint of an earlier round. @param {number} value */
const colourOf = (value) => value > first && value < first + COLOURS.length ? value - first : 0;

/** Spill paint, which is seen at once, and wiped off if the server refuses that. */
function spill() {
  if (game.me === null || game.clock.now() > ends) return;
  const { x, y } = game.me, reach = [...Array(2 * SPILL + 1).keys()].map((n) => n - SPILL);
  const tiles = reach.flatMap((dx) => reach.map((dy) => tileAt(x + dx, y + dy))).filter((tile) => !wet.has(tile));
  game.do.spill(SPILL, { effect: () => paint(tiles), undo: () => tiles.forEach((tile) => wet.delete(tile)) });
}

let fading = 0;
const game = join({
  canvas,
  keys: { Space: spill },
  // A player that touches itself spills paint.
  tap: (x, y) => game.me !== null && Math.hypot(x - game.me.x, y - game.me.y) < 1 && (spill(), true),
});

game.on.line((text, stays) => {
  line.textContent = text === HINT ? `${HINT} Press Space, or tap your player, to spill paint.` : text;
  clearTimeout(fading);
  if (!stays) fading = setTimeout(() => { line.textContent = ''; }, SHOWN_FOR);
});
game.on.event('Sparks', (player, values, id) => sparks.set(id, game.clock.now() + SPARKS));
game.on.message('board', (left, values, some) => {
  [ends, first, rows] = [game.clock.now() + left, values, some];
  board.replaceChildren(...rows.map(([colour, tiles, names]) => {
    const row = document.createElement('li'), spot = document.createElement('i'), who = document.createElement('bdi');
    const number = document.createElement('b');
    row.className = colour === game.me?.values.colour ? 'own' : '';
    who.textContent = names;
    number.textContent = `${tiles}`;
    spot.style.background = COLOURS[colour];
    row.append(who, number, spot);
    return row;
  }));
  if (playing && left <= 0) celebrate();
  playing = left > 0;
});

/** Say who has won, with a bell and confetti. */
function celebrate() {
  if (rows.length === 0) return;
  const [[colour, tiles, names]] = rows;
  [won, winner] = [game.clock.now(), colour];
  line.textContent = `${names === '' ? 'Nobody who is still here' : names} won with ${NAMES[colour]}: ${tiles} tiles.`;
  clearTimeout(fading);
  ring();
}

/** Ring a bell. A page may sound only after it was touched. */
function ring() {
  if (!navigator.userActivation?.hasBeenActive) return;
  const context = new AudioContext();
  for (const [tone, after] of [[784, 0], [1046.5, 0.18], [1568, 0.36]]) {
    const bell = context.createOscillator(), volume = context.createGain(), at = context.currentTime + after;
    bell.frequency.value = tone;
    volume.gain.setValueAtTime(0.12, at);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + 1.4);
    bell.connect(volume).connect(context.destination);
    bell.start(at);
    bell.stop(at + 1.4);
  }
  setTimeout(() => context.close(), 2500);
}

/** Show how long the round lasts, or when the next one begins. */
setInterval(() => {
  const left = Math.ceil((ends - game.clock.now()) / 1000);
  clock.textContent = ends === 0 ? '' : left > 0 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}` : 'Pause';
}, 250);

// The name can be changed at any time.
game.on.begun(() => { field.value = game.identity.name; });
field.addEventListener('change', () => {
  game.appear(field.value);
  field.value = game.identity.name;
  field.blur();
});
field.addEventListener('keydown', (event) => {
  // Its letters must not walk.
  event.stopPropagation();
  if (event.key === 'Enter') field.blur();
});

// The server paints each tile to which a player comes. That is seen at once, too.
game.on.frame((now) => {
  if (game.me === null) return;
  const { x, y, values } = game.me, tile = tileAt(x, y);
  if (tile !== last && Math.hypot(x - lastX, y - lastY) < LEAP && now < ends) paint([tile]);
  [last, lastX, lastY] = [tile, x, y];
  for (const [each, until] of wet) {
    const [column, row] = each.split(',').map(Number);
    if (until < now || colourOf(game.cells('floor').at(column, row)) === values.colour) wet.delete(each);
  }
});
game.draw.ground((ctx, x, y) => {
  ctx.fillStyle = shown(0, x, y);
  ctx.fillRect(x, y, 0.96, 0.96);
});
game.draw.cells('floor', (ctx, value, x, y) => {
  ctx.fillStyle = shown(colourOf(value), x, y);
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

// Confetti in the colour that has won.
game.draw.over((ctx, now) => {
  const part = (now - won) / FALLS;
  if (game.me === null || part >= 1) return;
  const { x, y } = game.me;
  for (let n = 0; n < CONFETTI; n++) {
    const angle = n * 2.4, far = 3 + n % 13;
    ctx.fillStyle = COLOURS[n % 3 === 0 ? n % COLOURS.length || 1 : winner];
    ctx.fillRect(x + far * Math.cos(angle), y - 9 + far * Math.sin(angle) / 2 + 16 * part * (0.6 + n % 7 / 10), 0.22, 0.14);
  }
});

// Tells again.js that the page has begun.
document.documentElement.dataset.begun = '';
