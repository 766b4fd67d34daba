// The page of defence: the castle, the gates, towers, monsters, and how a player builds.

import { HINT, join } from './game.js';

const CASTLE = [18, 0], GATES = [[-24, -9], [-24, 9]], BENDS = [-8, 4];     // as in game.py
const COST = 10;                          // gold
const LOOK_EVERY = 3000;                  // ms between two requests for what the player has
const HIT_SHOWN = 400;                    // ms for which a monster that was hit is bright
const REACH = 4;                          // tiles within which a tower hits

const [canvas] = document.querySelectorAll('canvas'), [button] = document.querySelectorAll('button');
const [castle, line] = document.querySelectorAll('#castle, #line');
let gold = 0, lives = 0;
/** @type {Map<number, [number, number]>} Id of a monster -> its health, and node time until which it is bright. */
const hits = new Map();

/** Build a tower on the tile where the player stands. */
function build() {
  const { me } = game;
  if (me !== null) game.do.build(Math.floor(me.x), Math.floor(me.y));
}

const game = join({ canvas, keys: { Space: build, Enter: build } });

game.on.line((text) => {
  line.textContent = text === HINT ? 'Walk beside the way of the monsters, and build towers there: Space, or the button.' : text;
});
game.on.message('castle', (left, round) => {
  lives = left;
  castle.textContent = left > 0 ? `Round ${round} · the castle has ${left} lives` : 'The castle has fallen. It will stand again soon.';
});
game.on.message('purse', (has) => {
  gold = has;
  button.textContent = `Build a tower (${COST} of ${gold} gold)`;
  button.disabled = gold < COST;
});
game.on.begun(() => game.do.look());
setInterval(() => {
  game.do.look();
  const there = new Set(game.movers('Monster').map(({ id }) => id));
  for (const id of hits.keys()) if (!there.has(id)) hits.delete(id);
}, LOOK_EVERY);
button.addEventListener('click', () => {
  build();
  canvas.focus();
});

/** Whether a tile is on the way of the monsters, roughly. */
function isWay(x, y) {
  return GATES.some(([left, row]) => {
    if (x >= left && x <= BENDS[1]) return Math.abs(y - row) < 1;
    const part = (x - BENDS[1]) / (CASTLE[0] - BENDS[1]);
    return part > 0 && part <= 1 && Math.abs(y - (row + (CASTLE[1] - row) * part)) < 1;
  });
}

game.draw.ground((ctx, x, y) => {
  if (isWay(x, y)) ctx.fillStyle = '#3d352a';
  else ctx.fillStyle = (x + y) % 2 === 0 ? '#1c2620' : '#1f2a23';
  ctx.fillRect(x, y, 1.02, 1.02);
});
game.draw.thing('Tower', (ctx, { values }) => {
  ctx.fillStyle = '#8d99ae';
  ctx.fillRect(-0.35, -0.45, 0.7, 0.9);
  ctx.fillStyle = '#5c677d';
  for (const x of [-0.35, -0.08, 0.19]) ctx.fillRect(x, -0.6, 0.16, 0.2);
  ctx.strokeStyle = 'rgb(141 153 174 / 18%)';
  ctx.lineWidth = 0.05;
  ctx.beginPath();
  ctx.arc(0, 0, REACH, 0, 7);
  ctx.stroke();
  ctx.fillStyle = game.draw.coloured(parseInt(values.by.slice(0, 4), 16) || 1);
  ctx.fillRect(-0.1, -0.2, 0.2, 0.3);
});
game.draw.mover('Monster', (ctx, { id, values: { health, most } }) => {
  const now = game.clock.now(), [before, until] = hits.get(id) ?? [health, 0];
  const bright = health < before ? now + HIT_SHOWN : until;
  hits.set(id, [health, bright]);
  game.draw.disc(0.4, bright > now ? '#ffb4a2' : '#b23a48', '#14181c');
  ctx.fillStyle = '#14181c';
  ctx.fillRect(-0.2, -0.12, 0.12, 0.12);
  ctx.fillRect(0.08, -0.12, 0.12, 0.12);
  ctx.fillRect(-0.5, -0.72, 1, 0.14);
  ctx.fillStyle = '#80b918';
  ctx.fillRect(-0.48, -0.7, 0.96 * health / most, 0.1);
});
game.draw.player((_ctx, { id, name, own }) => {
  game.draw.disc(0.35, game.draw.coloured(id), own ? '#fff' : '#14181c');
  game.draw.label(own ? '' : name, 0, -0.6);
});
game.draw.over((ctx) => {
  const [x, y] = CASTLE;
  ctx.fillStyle = lives > 0 ? '#cbb26a' : '#5a5344';
  ctx.fillRect(x - 1, y - 1.2, 3, 3.2);
  ctx.fillStyle = lives > 0 ? '#e6cf8b' : '#6b6455';
  for (const at of [-1.2, 0.1, 1.4]) ctx.fillRect(x + at, y - 2, 0.9, 1.2);
  ctx.fillStyle = '#14181c';
  ctx.fillRect(x + 0.1, y + 0.6, 0.8, 1.4);
  for (const [gateX, gateY] of GATES) game.draw.label('gate', gateX + 0.5, gateY - 0.4);
});

// Tells again.js that the page has begun.
document.documentElement.dataset.begun = '';
