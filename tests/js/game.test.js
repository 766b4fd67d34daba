// The library for pages, in a browser that only notes what is sent: what may go wrong between a player, a page
// with faults, and a server.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decode } from '../../static/msgpack.js';
import * as P from '../../static/protocol.js';
import { storageOf } from './storage.js';

const OWN = 70_000, sent = [], listeners = {}, faults = [], timers = [];
const listen = (name, act) => (listeners[name] ??= []).push(act);

class Socket {
  static OPEN = 1;

  constructor() {
    this.readyState = Socket.OPEN;
    Socket.last = this;
    queueMicrotask(() => this.onopen());
  }

  send(bytes) {
    sent.push(decode(bytes.buffer));
  }

  close() {}
}

class HTMLElement {}

const box = { left: 100, top: 50, width: 560, height: 280 };
const ctx = new Proxy({}, { get: (has, name) => has[name] ?? (() => {}), set: (has, name, value) => (has[name] = value, true) });
const canvas = () => ({ style: {}, addEventListener: listen, setPointerCapture() {}, getContext: () => ctx,
  getBoundingClientRect: () => ({ ...box }) });
let now = 1_000_000;
performance.now = () => now;
const timer = (again) => (act, ms) => timers[timers.push({ act, at: now + ms, again: again && ms }) - 1];
globalThis.setInterval = timer(true);
globalThis.setTimeout = timer(false);
globalThis.clearTimeout = (one) => timers.includes(one) && timers.splice(timers.indexOf(one), 1);
delete globalThis.BroadcastChannel;
Object.assign(globalThis, { WebSocket: Socket, HTMLElement, localStorage: storageOf(), sessionStorage: storageOf(),
  location: { href: 'http://localhost:8000/' }, addEventListener: listen, devicePixelRatio: 2,
  requestAnimationFrame: () => {}, reportError: (error) => faults.push(error.message),
  fetch: async () => ({ ok: true, arrayBuffer: async () => new Uint8Array(4096).buffer }),
  document: { hidden: false, addEventListener: listen, activeElement: null } });
const { join } = await import('../../static/game.js');

/** Let so many ms pass, and do what is due by then. */
function pass(ms) {
  now += ms;
  for (const due of timers.filter(({ at }) => at <= now)) {
    if (due.again) due.at += due.again;
    else clearTimeout(due);
    due.act();
  }
}

const pressed = (what, code) => listeners[what].at(-1)({ target: null, code, key: code, preventDefault() {} });
const blurred = () => listeners.blur.at(-1)();
const enter = (id, seq, ack = 0, x = 512) => [0, id, seq, ack, `N${id}`, false, id % 200, x, 512, 0, 0, 0, 0, 100, []];

/** Return what is sent of a kind from now on, without the kind. */
const sends = (kind) => sent.splice(0).filter((message) => message[0] === kind).map((message) => message.slice(1));

/** Join a game of these kinds, whose own player stands at (0.5, 0.5); hear(message) receives one. */
async function playing(kinds = [], how = {}, ground = 2) {
  Object.keys(listeners).forEach((name) => delete listeners[name]);
  timers.length = faults.length = 0;
  const game = join({ canvas: canvas(), ...how });
  await game.identity.ready;
  await new Promise((resolve) => queueMicrotask(resolve));
  const hear = (...message) => {
    const { net } = game;
    // Bytes in messages do not matter here.
    if (message[0] === P.WELCOME) Object.assign(net, { playing: true, welcomed: true });
    if (message[0] === P.WELCOME) net.on.welcome(message, performance.now(), null);
    else if (message[0] === P.ERROR) net.on.error(message[1], message[2]);
    else net.on.message(message);
  };
  const welcome = () => {
    hear(P.WELCOME, 3, OWN, Date.now(), 2013, 512, 512, 16, 5120, 3620, 4096, 8192, 40, 25, ground, kinds);
    hear(P.HELD, -1, -1, 1, 1);
    hear(P.SNAPSHOT, 0, 0, Date.now(), [[0, ...enter(OWN, 1)]]);
  };
  welcome();
  return { game, hear, welcome };
}

test('a window that is dragged sends its size once, in whole tiles, and only a valid one', async () => {
  const { game } = await playing();
  pass(300);
  const messages = sent.splice(0);
  const [hello] = messages.filter(([kind]) => kind === P.HELLO);
  assert.deepEqual(hello.slice(3, 5), [20, 10]);
  assert.ok(!messages.some(([kind]) => kind === P.VIEWPORT), 'the hello has it');
  for (let n = 0; n < 80; n++) {
    box.width += 7;
    game.look(...game.draw.fit());
    pass(16);
  }
  pass(300);
  box.width = 560;
  assert.deepEqual(sends(P.VIEWPORT), [[40, 10]]);
  game.look(0, Infinity);
  pass(300);
  assert.deepEqual(sends(P.VIEWPORT), [[1, 65535]]);
});

test('a click counts from the canvas, and no more tiles are drawn than the server sends', async () => {
  const { game } = await playing();
  assert.deepEqual(game.draw.placeAt(100, 50), [game.draw.left, game.draw.top]);
  box.width = 5600;
  assert.ok(game.draw.fit()[0] <= 95 && game.draw.tile > 28);
  box.width = 560;
  assert.deepEqual(game.draw.fit(), [20, 10]);
});

test('within bounds the camera stays at the edge, and the server sends all that is then seen', async () => {
  const { game } = await playing([], { bounds: [0, 0, 40, 8] });
  game.draw.begin();
  assert.deepEqual([game.draw.left + 0, game.draw.top], [0, -1], 'a field that is lower than the screen is in its middle');
  assert.deepEqual(game.draw.fit(), [40, 16]);
  assert.deepEqual(game.draw.placeAt(128, 50), [1, -1]);
  box.width = 5600;
  assert.deepEqual([game.draw.fit()[0], game.draw.tile], [80, 5600 / 95]);
  game.draw.bounds = [-300, 0, 300, 8];
  box.width = 2800;
  assert.deepEqual([game.draw.fit()[0], game.draw.tile], [95, 2800 / 47.5]);
  box.width = 560;
  game.draw.fit();
});

const WALLS = [['cells', 0, 'walls', []], ['solid', 0, 1, []]];

/** Return where players, by their ids, are drawn in the next frame. */
function drawnAt(game) {
  const at = new Map();
  let last = [0, 0];
  ctx.translate = (...place) => { last = place; };
  game.draw.player((_, { id }) => at.set(id, last));
  game.draw.begin();
  delete ctx.translate;
  return at;
}

test('the bodies of players are drawn outside of the walls around them', async () => {
  const { game, hear } = await playing(WALLS), at = [0, 1, 300, 512, 700, 1023];
  const places = at.flatMap((x) => at.map((y) => [1024 + x, 1024 + y]));
  hear(P.SNAPSHOT, 0, 0, Date.now(), places.map(([x, y], i) => [i + 1, ...enter(OWN + 1 + i, 1, 0, x).with(8, y)]));
  for (let walls = 0; walls < 256; walls++) {
    const around = [[0, 0], [1, 0], [2, 0], [0, 1], [2, 1], [0, 2], [1, 2], [2, 2]].filter((_, i) => walls >> i & 1);
    const tiles = new Uint8Array(256);
    for (const [x, y] of around) tiles[y * 16 + x] = 1;
    hear(P.CELLS, 0, 0, 0, true, tiles);
    pass(10_000);
    const drawn = drawnAt(game);
    for (const [i, place] of places.entries()) {
      const [x, y] = drawn.get(OWN + 1 + i), moved = Math.hypot(x - place[0] / 1024, y - place[1] / 1024);
      const gaps = around.map(([column, row]) =>
        Math.hypot(x - Math.min(Math.max(x, column), column + 1), y - Math.min(Math.max(y, row), row + 1)));
      assert.ok(Math.min(...gaps) > 0.4 - 1e-3, `${around} ${place}: ${x} ${y}`);
      assert.ok(moved < 0.6 && (Math.min(...gaps) < 0.41 || moved < 1e-3), `${around} ${place}: ${x} ${y}`);
    }
  }
});

test('a player that comes past the end of a wall is soon drawn where it is, and at once without a body', async () => {
  for (const body of [0.4, 0]) {
    const { game, hear } = await playing(WALLS, { body }), tiles = Uint8Array.of(15, 0, 1);
    hear(P.SNAPSHOT, 0, 0, Date.now(), [[1, ...enter(OWN + 1, 1, 0, 16 * 1024)]]);
    hear(P.CELLS, 0, 0, 0, false, tiles);
    const far = () => drawnAt(game).get(OWN + 1)[0] - 16;
    assert.ok(Math.abs(far() - body) < 1e-6);
    hear(P.CELLS, 0, 0, 0, false, tiles.with(2, 0));
    pass(40);
    const soon = far();
    pass(2000);
    assert.ok(body === 0 ? soon === 0 : soon > 0.1 && soon < 0.3);
    assert.ok(far() < 1e-3);
  }
});

test('a player whose window loses focus stands, even if the server has just refused something', async () => {
  const { game, hear } = await playing();
  pressed('keydown', 'ArrowRight');
  hear(P.SNAPSHOT, 0, 0, Date.now(), [[0, ...enter(OWN, 2, 1)]]);
  hear(P.ERROR, 'flood', 'too often: spill at most once in 5 s');
  sent.length = 0;
  blurred();
  assert.deepEqual(sends(P.WALK).map((walk) => walk.slice(2)), [[0, 0]]);
  assert.equal(game.goes, false);
});

test('a key whose release macOS does not report, because Command was held, walks no farther', async () => {
  for (const what of ['keydown', 'keyup']) {
    const { game } = await playing();
    pressed('keydown', 'KeyD');
    sent.length = 0;
    pressed(what, 'Meta');
    assert.deepEqual(sends(P.WALK).map((walk) => walk.slice(2)), [[0, 0]], what);
    assert.equal(game.goes, false);
    pressed('keydown', 'KeyA');
    assert.deepEqual(sends(P.WALK).map((walk) => walk.slice(2)), [[-1, 0]], what);
  }
});

test('an event that is called keydown but is of no key does nothing', async () => {
  await playing([], { keys: { Space: () => assert.fail() } });
  const document = {};
  for (const event of [{ target: null }, { target: document }, { target: document, code: 'F5', key: 'F5' }]) {
    listeners.keydown.at(-1)({ ...event, preventDefault: () => assert.fail() });
  }
});

test('an action that is requested too often rests for a second, and others do not', async () => {
  const { game, hear } = await playing();
  sent.length = 0;
  assert.equal(game.do.wave(), true);
  pass(2000);
  for (let n = 0; n < 60; n++) {
    if (game.do.spill(n)) hear(P.ERROR, 'flood', 'too often: spill at most once in 5 s');
    pass(100);
  }
  assert.ok(sends(P.DO).length <= 8);
  assert.equal(game.do.wave(), true);
});

/** Return the calls of an effect and of its undo, by `name`, in their order, and what shows it. */
function shown(name = '') {
  const calls = [], note = (what) => () => { calls.push(what + name); };
  return { calls, effect: note('effect'), undo: note('undo') };
}

test('an effect is shown at once, and stays if the action is done', async () => {
  const { game, hear } = await playing(), { calls, ...how } = shown();
  sent.length = 0;
  assert.equal(game.do.place(3, 'x', how), true);
  assert.deepEqual(calls, ['effect']);
  game.do.place(4, 'y');
  const [[ask, number, ...asked], other] = sent.filter(([kind]) => kind === P.ASK || kind === P.DO);
  assert.deepEqual([ask, asked, other], [P.ASK, ['place', [3, 'x']], [P.DO, 'place', [4, 'y']]]);
  hear(P.ANSWER, number, true);
  hear(P.RESYNC);
  game.net.on.lost(null);
  assert.deepEqual(calls, ['effect']);
});

test('an effect is taken back once, if its action is refused, and no other one is', async () => {
  const { game, hear } = await playing(), [first, second] = [shown(' 1'), shown(' 2')];
  sent.length = 0;
  game.do.place(3, first);
  game.do.place(4, second);
  const [one, two] = sends(P.ASK).map(([number]) => number);
  hear(P.ANSWER, two, false);
  assert.deepEqual([first.calls, second.calls], [['effect 1'], ['effect 2', 'undo 2']]);
  hear(P.ANSWER, two, false);
  hear(P.ANSWER, one, true);
  hear(P.ANSWER, one, false);
  assert.deepEqual([first.calls, second.calls], [['effect 1'], ['effect 2', 'undo 2']]);
});

test('effects are taken back when no answer can come any more', async () => {
  const ends = {
    lost: ({ net }) => net.on.lost(null),
    refused: ({ net }) => net.on.refused('banned', 'go'),
    'taken over': ({ net }) => net.on.takenOver(),
    left: (game) => game.leave(),
    'passed to another worker': (game, hear) => hear(P.RESYNC),
    'connected anew': (game, hear, welcome) => welcome(),
  };
  for (const [what, end] of Object.entries(ends)) {
    const { game, hear, welcome } = await playing(), { calls, ...how } = shown();
    game.do.place(3, how);
    end(game, hear, welcome);
    assert.deepEqual(calls, ['effect', 'undo'], what);
    hear(P.ANSWER, game.number, false);
    assert.deepEqual(calls, ['effect', 'undo'], what);
  }
});

test('what is not sent has no effect', async () => {
  const { game, hear } = await playing(), { calls, ...how } = shown();
  game.do.place(1, how);
  hear(P.ERROR, 'flood', 'too often: place at most once in 5 s');
  assert.equal(game.do.place(2, how), false);
  assert.deepEqual(calls, ['effect']);
  pass(2000);
  game.net.playing = false;
  assert.equal(game.do.place(3, how), false);
  assert.deepEqual(calls, ['effect']);
});

test('an undo that fails, or shows another effect, keeps no other one', async () => {
  const { game, hear } = await playing(), { calls, ...how } = shown();
  game.do.place(1, { effect() {}, undo() { throw new Error('undone'); } });
  game.do.place(2, { effect() {}, undo() { game.do.place(3, how); } });
  game.do.place(4, how);
  hear(P.RESYNC);
  assert.deepEqual([faults, calls], [['undone'], ['effect', 'effect', 'undo']]);
});

test('a page that draws by itself joins under the name and with the ticket that it was given', async () => {
  const game = join({ name: 'Ada', ticket: 'paid' }), hellos = [];
  game.net.connect = () => hellos.push(game.net.hello);
  await game.open({}, 20, 10);
  await game.open({ ticket: 'paid again' }, 20, 10);
  assert.deepEqual(hellos.map(({ name, ticket }) => [name, ticket]), [['Ada', 'paid'], ['Ada', 'paid again']]);
});

test('what no server would accept is not sent', async () => {
  const { game } = await playing([], { name: '\u200b' });
  assert.ok(game.net.hello.name.length > 1 && game.identity.name === game.net.hello.name);
  sent.length = 0;
  for (const text of ['x'.repeat(200), '\u200b', ' a\tb\u200b ']) game.say(text);
  assert.deepEqual(sends(P.SAY), [['x'.repeat(120)], ['a b']]);
  for (const place of [[3, NaN], [3], [Infinity, 2]]) assert.throws(() => game.goTo(...place), /give two numbers/);
});

test('a fault in a page is reported, and everything else that came is still there', async () => {
  const { game, hear } = await playing();
  const heard = [];
  game.on.said(() => { throw new Error('said'); });
  game.on.said((player, text) => heard.push(text));
  hear(P.FLUSH, 1, Date.now(), [[0, 0, 0, 0, new Uint8Array(0), [[4, OWN, 'boom'], enter(OWN + 1, 1)]]]);
  assert.deepEqual([faults, heard, game.player(OWN + 1)?.name], [['said'], ['boom'], `N${OWN + 1}`]);
  game.draw.player(() => { throw new Error('drawn'); });
  let over = 0;
  game.draw.over(() => over++);
  game.draw.begin();
  game.draw.begin();
  assert.deepEqual([faults.slice(1), over], [['drawn'], 2]);
});

test('where a game has no walking, keys do nothing, and of two keys the later one counts each time', async () => {
  await playing([['walking', 0, 'none', []]]);
  sent.length = 0;
  pressed('keydown', 'ArrowRight');
  assert.deepEqual(sends(P.WALK), []);
  const { welcome } = await playing([['walking', 0, 'straight', []]]);
  sent.length = 0;
  pressed('keydown', 'ArrowRight');
  pressed('keydown', 'ArrowDown');
  welcome();
  welcome();
  assert.deepEqual(sends(P.WALK).map((walk) => walk.slice(2)), [[1, 0], [0, 1], [0, 1], [0, 1]]);
});

test('a player that is led along rows stops where it was led, however rare frames are', async () => {
  for (const rare of [10, 150, 350, 600, 900]) {
    const { game, hear } = await playing([['walking', 0, 'straight', []]]);
    let seq = 1;
    const { left, top } = game.draw, at = { clientX: 100 + (4.5 - left) * 28, clientY: 50 + (-1.5 - top) * 28 };
    listeners.pointerdown.at(-1)({ isPrimary: true, button: 0, pointerId: 1, timeStamp: 0, ...at });
    listeners.pointerup.at(-1)({ isPrimary: true, timeStamp: 20, ...at });
    for (let n = 0; n < 800; n++) {
      pass(10);
      if (n * 10 % rare !== 0) continue;
      game.advance();
      const { number, track } = game.walk, { x, y, dx, dy, start } = track, age = Math.round(game.clock.now() - start);
      // The server obeys at once.
      const entry = [0, OWN, ++seq, number, 'N', false, 1, x, y, dx, dy, age, 0, 100, []];
      if (age < 30_000) hear(P.SNAPSHOT, 0, 0, Math.floor(game.clock.now()), [[0, ...entry]]);
    }
    assert.ok(Math.hypot(game.me.x - 4.5, game.me.y + 1.5) < 0.3, `${rare}: ${game.me.x}, ${game.me.y}`);
  }
});

test('with turns a player goes on after its keys are released, and after it has come back', async () => {
  const { welcome } = await playing([['walking', 0, 'straight', []]], { turns: true });
  sent.length = 0;
  for (const code of ['ArrowRight', 'ArrowUp']) {
    pressed('keydown', code);
    pressed('keyup', code);
  }
  welcome();
  assert.deepEqual(sends(P.WALK).map((walk) => walk.slice(2)), [[1, 0], [0, -1], [0, -1]]);
  blurred();
  welcome();
  assert.deepEqual(sends(P.WALK).map((walk) => walk.slice(2)), [[0, 0]], 'who stood still stands');
});

test('a player that holds a key at a wall goes on when the wall is gone', async () => {
  const { game, hear } = await playing([['cells', 0, 'walls', []], ['solid', 0, 1, []]]);
  const wall = (value) => [[0, [1, 17, 33]], [-1, [209, 225, 241]]].forEach(([row, tiles]) => {
    hear(P.CELLS, 0, row, 0, false, new Uint8Array(tiles.flatMap((tile) => [tile, 0, value])));
  });
  wall(1);
  assert.deepEqual([game.cells('walls').at(1.9, 0.5), game.blocked(1.5, 0.5), game.blocked(0.9, 0.5)], [1, true, false]);
  pressed('keydown', 'ArrowRight');
  pass(1000);
  game.advance();
  assert.equal(game.walk.arrived, true);
  sent.length = 0;
  wall(0);
  assert.deepEqual(sends(P.WALK).map((walk) => walk.slice(2)), [[1, 0]], 'once');
});

test('a page that comes back still knows the ground and its player, and says why if it cannot', async () => {
  const { game, hear, welcome } = await playing([['ground', 0, 'stamp', []]], {}, 1), lines = [];
  const { ground } = game;
  hear(P.RESYNC);
  assert.deepEqual([game.me?.x, game.players.length], [0.5, 0]);
  game.on.line((line) => lines.push(line));
  game.net.on.lost('the world is full: try again later');
  welcome();
  assert.equal(game.ground, ground);
  assert.equal(lines[0], 'the world is full: try again later');
});

test('a player that has left without a word is forgotten after some seconds', async () => {
  const { game, hear } = await playing();
  hear(P.SNAPSHOT, 0, 0, Date.now(), [[0, ...enter(OWN, 1)], [0, ...enter(OWN + 1, 1)]]);
  hear(P.FLUSH, 1, Date.now(), [[0, 0, 0, 0, new Uint8Array(0), [[2, OWN + 1, 2, 1, 0]]]]);
  assert.equal(game.players.length, 2);
  for (let n = 0; n < 40; n++) pass(100);
  assert.equal(game.players.length, 1);
});

test('a page hears what happens to its connection, and a player that leaves is nobody', async () => {
  const { game } = await playing(), heard = [], { on, net, identity } = game;
  for (const what of ['lost', 'waiting', 'quiet', 'ended', 'line']) on[what]((...values) => heard.push([what, ...values]));
  net.on.quiet(true);
  net.on.lost(null);
  net.on.waiting(400);
  net.on.takenOver();
  net.on.refused('name', 'that name is not allowed');
  assert.deepEqual(heard.filter(([what]) => what !== 'line'), [['quiet', true], ['lost', null], ['waiting', 400],
    ['ended', null], ['ended', 'that name is not allowed']]);
  assert.deepEqual(heard.filter(([what]) => what === 'line').map(([, text]) => text), [
    'The connection is lost: trying again …', 'You are playing in another window.', 'that name is not allowed']);
  identity.token = 'a token';
  game.leave();
  assert.deepEqual([game.id, game.me, identity.token], [0, null, null]);
});

test('a page has world time, which its welcome says', async () => {
  const { game } = await playing([['clock', 0, -60_000, []]]);
  assert.ok(Math.abs(game.clock.world() - (game.clock.now() - 60_000)) < 5);
  const { game: other } = await playing([]);
  assert.ok(Math.abs(other.clock.world() - other.clock.now()) < 5);
});

test('movers are near like players, and are none of them', async () => {
  const kinds = [['mover', 3, 'Monster', ['health']], ['thing', 0, 'Coin', []]], drawn = [];
  const { game, hear } = await playing(kinds);
  const monster = [...enter(9, 1, 0, 2560).slice(0, -1), [3, 1, 4]];
  hear(P.SNAPSHOT, 0, 0, Date.now(), [[0, ...enter(OWN, 1)], [0, ...monster]]);
  assert.deepEqual(game.players.map(({ id }) => id), [OWN]);
  const known = { type: 'Monster', id: 9, x: 2.5, y: 0.5, values: { health: 4 } };
  assert.deepEqual([game.movers('Monster'), game.movers(), game.movers('Ghost')], [[known], [known], []]);
  game.draw.mover('Monster', (_ctx, mover) => drawn.push(mover));
  game.draw.begin();
  assert.deepEqual([drawn, faults], [[known], []]);
  // A person's id is never that of a mover, whatever its values are.
  hear(P.SNAPSHOT, 0, 0, Date.now(), [[0, ...enter(P.FIRST_PERSON_ID, 1).slice(0, -1), [3, 1, 4]]]);
  assert.deepEqual([game.movers(), game.players.length], [[], 1]);
});
