// The page of snake: bodies, heads, food, and how a player begins again.

import { HINT, join } from './game.js';

const BOARD_EVERY = 3000;                 // ms between two requests for the board
const NECK_LASTS = 1000;                  // ms of its way drawn behind a head, until the ground shows them
const BITE = 1;                           // tiles: what is this near to its head, the player's snake has eaten
const EATEN_WITHIN = 1000;                // ms within which the server says so, or it is seen again
const COLOURS = 255;
const LEAP = 2;                           // tiles in one frame: a head that moves farther was put there
/** @type {Map<number, [number, number, number][]>} Id of a player -> its last places, as node time, x, y. */
const ways = new Map();
/** @type {Map<string, number>} Id of what the player's snake has eaten -> node time until which it is hidden. */
const bitten = new Map();
let restarts = false;                     // until the server has put the snake elsewhere

const [canvas] = document.querySelectorAll('canvas'), [button] = document.querySelectorAll('button');
const [line, board] = document.querySelectorAll('#line, #board');
/** @param {number} id  That of a player. */
const colourOf = (id) => id % COLOURS + 1;

/** Begin again: the button goes at once. */
function restart() {
  if (!game.me?.values.fallen || restarts) return;
  game.do.restart({ effect: () => { restarts = true; }, undo: () => { restarts = false; } });
}

const game = join({ canvas, turns: true, keys: { Space: restart, Enter: restart } });

game.on.line((text) => {
  line.textContent = text === HINT ? 'Turn with the arrow keys, or touch where to go.' : text;
});
game.on.event('Fell', (player, { colour }) => {
  const other = game.players.find(({ id }) => colourOf(id) === colour)?.name ?? 'another snake';
  if (player?.own) line.textContent = `You ran into ${other}. Press Space, or the button, to play again.`;
  else if (player && !game.me?.values.fallen) line.textContent = `${player.name} ran into ${other}.`;
});
game.on.message('board', (rows) => board.replaceChildren(...rows.map(([name, eaten]) => {
  const row = document.createElement('li'), number = document.createElement('span');
  row.textContent = name;
  number.textContent = `${eaten}`;
  row.append(number);
  return row;
})));
game.on.begun(() => game.do.board());
setInterval(() => {
  game.do.board();
  for (const id of ways.keys()) if (game.player(id) === null) ways.delete(id);
  for (const [id, until] of bitten) if (until < game.clock.now()) bitten.delete(id);
}, BOARD_EVERY);
game.on.frame(() => {
  const fallen = game.me?.values.fallen ?? false;
  restarts &&= fallen;
  button.hidden = !fallen || restarts;
});
button.addEventListener('click', restart);

game.draw.ground((ctx, x, y) => {
  ctx.fillStyle = (x + y) % 2 === 0 ? '#1a1f24' : '#1d2329';
  ctx.fillRect(x, y, 1.02, 1.02);
});
game.draw.cells('bodies', (ctx, colour, x, y) => {
  ctx.fillStyle = game.draw.coloured(colour);
  ctx.beginPath();
  ctx.roundRect(x, y, 1, 1, 0.25);
  ctx.fill();
});

/** Return a function that draws food, unless the player's snake has just come by: far from the server, that hears of it
 * much later.
 * @param {number} radius @param {string} colour @param {string} edge
 * @returns {(ctx: CanvasRenderingContext2D, thing: import('./game.js').Thing) => void} */
const food = (radius, colour, edge) => (ctx, { id, x, y }) => {
  const { me } = game, now = game.clock.now();
  const bites = me !== null && !me.values.fallen && Math.hypot(x - me.x, y - me.y) <= BITE;
  if (bites && !bitten.has(id)) bitten.set(id, now + EATEN_WITHIN);
  if (!((bitten.get(id) ?? 0) > now)) game.draw.disc(radius, colour, edge);
};
game.draw.thing('Food', food(0.22, '#ffd166', '#8a6a1f'));
game.draw.thing('Crumb', food(0.18, '#f3f0e8', '#77726a'));
game.draw.player((ctx, { id, name, own, x, y, values }) => {
  const now = game.clock.now(), colour = game.draw.coloured(colourOf(id));
  const way = (ways.get(id) ?? []).filter(([at]) => at > now - NECK_LASTS), last = way.at(-1);
  if (last && Math.hypot(last[1] - x, last[2] - y) > LEAP) way.length = 0;
  way.push([now, x, y]);
  ways.set(id, way);
  if (values.fallen) ctx.globalAlpha = 0.4;
  else {
    ctx.strokeStyle = colour;
    ctx.lineWidth = 0.7;
    ctx.lineJoin = ctx.lineCap = 'round';
    ctx.beginPath();
    for (const [, beforeX, beforeY] of way) ctx.lineTo(beforeX - x, beforeY - y);
    ctx.stroke();
  }
  game.draw.disc(0.5, colour, own ? '#fff' : '#14181c');
  // Its eyes look where it goes.
  const [, fromX, fromY] = way[0], angle = Math.atan2(y - fromY, x - fromX);
  ctx.fillStyle = '#14181c';
  for (const side of [-0.6, 0.6]) {
    ctx.fillRect(0.3 * Math.cos(angle + side) - 0.07, 0.3 * Math.sin(angle + side) - 0.07, 0.14, 0.14);
  }
  game.draw.label(own ? '' : name, 0, -0.8);
});

// Tells again.js that the page has begun.
document.documentElement.dataset.begun = '';
