// The page of paint the floor: draws tiles and players, and lets its own player walk. The connection, the
// clock, the replica and the prediction of the own walk are those of Flatlands.

import { Cells } from './cells.js';
import { Clock } from './clock.js';
import { Identity } from './identity.js';
import { forWindow } from './keep.js';
import { Net } from './net.js';
import * as P from './protocol.js';
import { Replica } from './replica.js';
import { drawnAt, UNIT } from './track.js';
import { Walk } from './walk.js';

const TILE = 28;                          // css px
const COLOURS = ['#2b2f36', '#e8524a', '#f2a13b', '#f4dc5b', '#63b75a', '#4fb3c6', '#5a7de0', '#a06ad6',
  '#e57fb5'];
const GAP = '#343942';
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
  KeyA: [-1, 0], KeyD: [1, 0], KeyW: [0, -1], KeyS: [0, 1] };

const canvas = document.querySelector('canvas'), ctx = canvas.getContext('2d');
const board = document.querySelector('#board'), line = document.querySelector('#line');
const clock = new Clock(), replica = new Replica(), cells = new Cells(), walk = new Walk(() => false);
const SPILL = 2;                          // tiles to each side
const pressed = new Map();                // code of a key that is held -> its direction
const SPARKS = 10_000;                    // ms for which who has eaten a mushroom is faster
const sparks = new Map();                 // id of a player -> node time until which it has sparks
let own = null;                           // id of the own player

const colourOf = (id) => replica.players.get(id)?.values.colour ?? 0;
replica.onEvent = (type, id) => { if (type === 'Sparks') sparks.set(id, clock.now() + SPARKS); };

const url = new URL('ws', new URL('.', location.href.split('#')[0]));
url.protocol = url.protocol.replace('http', 'ws');
const identity = new Identity(forWindow, forWindow, null);
const ownName = identity.name;
identity.name = ownName;                  // it keeps the name that it has made up
const net = new Net(url.href, clock, identity, {
  welcome([, , id, now, , x, y, side, speed, diagonal, , , , , , kinds]) {
    own = id;
    clock.sample(performance.now(), now, performance.now());
    replica.learn(kinds);
    replica.clear();
    cells.squares.clear();
    Object.assign(replica, { side, speed, diagonal });
    walk.begin(x, y, Math.floor(clock.now()));
    line.textContent = 'Walk with the arrow keys, or touch where you want to go. Space, or a touch of yourself, spills.';
  },
  message(message) {
    if (message[0] === P.TOLD && message[1] === 'board') showBoard(message[2][0]);
    cells.apply(message, replica.side);
    replica.apply(message, clock.now());
    const me = replica.players.get(own);
    if (me !== undefined) walk.reconcile(me, clock.now());
  },
  lost() {
    // A server that was killed has told nobody where its players were.
    if (own !== null) net.hello.place = walk.drawn(clock.now()).map((at) => Math.floor(at * UNIT));
    line.textContent = 'The connection is lost: trying again …';
  },
  refused: (code, sentence) => { line.textContent = sentence; },
  takenOver: () => { line.textContent = 'You went on playing in another window.'; },
  error: (code, sentence) => { if (code !== 'flood') line.textContent = sentence; },
  quiet() {}, waiting() {},
});

function showBoard(rows) {
  board.replaceChildren(...rows.map(([colour, tiles]) => {
    const row = document.createElement('li'), spot = document.createElement('i');
    row.className = own !== null && colour === colourOf(own) ? 'own' : '';
    row.textContent = tiles;
    spot.style.background = COLOURS[colour];
    row.append(spot);
    return row;
  }));
}

/** Follow an intent: null stands for a stop. */
function go(intent) {
  if (own === null) return;
  const t = Math.floor(clock.now()), number = walk.follow(intent, t);
  if (intent?.goal) net.act(P.GO, number, t, ...intent.goal);
  else net.act(P.WALK, number, t, ...(intent?.heading ?? [0, 0]));
  line.textContent = '';
}

function steer() {
  const sum = [...pressed.values()].reduce(([x, y], [dx, dy]) => [x + dx, y + dy], [0, 0]);
  const heading = sum.map(Math.sign);
  go(heading.some(Boolean) ? { heading } : null);
}

function spill() {
  if (own !== null) net.act(P.DO, 'spill', [SPILL]);
}

addEventListener('keydown', ({ code, repeat }) => {
  if (code === 'Space' && !repeat) spill();
  if (!(code in KEYS) || repeat) return;
  pressed.set(code, KEYS[code]);
  steer();
});
addEventListener('keyup', ({ code }) => pressed.delete(code) && steer());
addEventListener('blur', () => {
  if (pressed.size > 0) go(null);
  pressed.clear();
});
canvas.addEventListener('pointerdown', ({ clientX, clientY }) => {
  const [x, y] = walk.drawn(clock.now());
  const away = [(clientX - innerWidth / 2) / TILE, (clientY - innerHeight / 2) / TILE];
  // Who touches itself spills.
  if (Math.hypot(...away) < 1) return spill();
  go({ goal: [x + away[0], y + away[1]].map((at) => Math.floor(at * UNIT)) });
});

function viewport() {
  return { width: Math.ceil(innerWidth / TILE), height: Math.ceil(innerHeight / TILE) };
}

function fit() {
  canvas.width = innerWidth * devicePixelRatio;
  canvas.height = innerHeight * devicePixelRatio;
  const { width, height } = viewport();
  Object.assign(net.hello, { width, height });
  if (net.playing) net.send(P.VIEWPORT, width, height);
}

function frame() {
  requestAnimationFrame(frame);
  const now = clock.now(), { side } = replica;
  ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  ctx.fillStyle = COLOURS[0];
  ctx.fillRect(0, 0, innerWidth, innerHeight);
  if (own === null) return;
  walk.advance(now);
  const [x, y] = walk.drawn(now);
  const left = Math.round(innerWidth / 2 - x * TILE), top = Math.round(innerHeight / 2 - y * TILE);
  // The gaps between tiles without paint, by which one sees that one moves.
  ctx.fillStyle = GAP;
  for (let at = left % TILE; at < innerWidth; at += TILE) ctx.fillRect(at - 1, 0, 1, innerHeight);
  for (let at = top % TILE; at < innerHeight; at += TILE) ctx.fillRect(0, at - 1, innerWidth, 1);
  for (const [key, values] of cells.squares) {
    const [, col, row] = key.split(':').map(Number);
    values.forEach((colour, i) => {
      if (colour === 0) return;
      ctx.fillStyle = COLOURS[colour];
      ctx.fillRect(left + (col * side + i % side) * TILE, top + (row * side + Math.floor(i / side)) * TILE,
        TILE - 1, TILE - 1);
    });
  }
  for (const things of replica.things.values()) {
    for (const thing of things) drawMushroom(left + thing.x / UNIT * TILE, top + thing.y / UNIT * TILE);
  }
  for (const { id, name, track } of replica.players.values()) {
    const at = (id === own ? [x, y] : drawnAt(track, now)).map((n, axis) => [left, top][axis] + n * TILE);
    if (sparks.get(id) > now) drawSparks(...at, now);
    drawPlayer(...at, id, name);
  }
}

function drawMushroom(x, y) {
  ctx.fillStyle = '#f1e6d0';
  ctx.fillRect(x - 3, y - 4, 6, 10);
  ctx.fillStyle = '#c8423b';
  ctx.beginPath();
  ctx.ellipse(x, y - 3, 9, 6, 0, Math.PI, 0);
  ctx.fill();
}

function drawSparks(x, y, now) {
  ctx.fillStyle = '#ffe9a8';
  for (let n = 0; n < 6; n++) {
    const angle = now / 300 + n * Math.PI / 3, far = TILE * (0.7 + 0.1 * Math.sin(now / 90 + n));
    ctx.fillRect(x + far * Math.cos(angle) - 2, y + far * Math.sin(angle) - 2, 4, 4);
  }
}

function drawPlayer(x, y, id, name) {
  ctx.beginPath();
  ctx.arc(x, y, TILE * 0.4, 0, 7);
  ctx.fillStyle = COLOURS[colourOf(id)];
  ctx.fill();
  ctx.lineWidth = 3;
  ctx.strokeStyle = id === own ? '#fff' : '#14161a';
  ctx.stroke();
  ctx.font = '600 13px system-ui, sans-serif';
  ctx.textAlign = 'center';
  ctx.strokeStyle = '#14161a';
  ctx.fillStyle = '#fff';
  ctx.strokeText(name, x, y - TILE * 0.6);
  ctx.fillText(name, x, y - TILE * 0.6);
}

document.documentElement.dataset.begun = '';
addEventListener('resize', fit);
net.open({ name: ownName, look: 0, ...viewport(), near: null, place: null });
fit();
frame();
