// A player goes on at another machine: over a second connection, and without a sign of it.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { Clock } from '../../static/clock.js';
import { decode, encode } from '../../static/msgpack.js';
import * as P from '../../static/protocol.js';
import { Walk } from '../../static/walk.js';
import { enter, flush } from './flushes.js';

const HOME = 'wss://a.example.org/ws', THERE = 'https://b.example.org';

/** @type {Socket[]} */
let sockets = [];

class Socket {
  static OPEN = 1;

  constructor(url) {
    if (url.includes('forbidden')) throw new DOMException('not allowed', 'SecurityError');
    Object.assign(this, { url, readyState: 0, sent: [], closed: false });
    sockets.push(this);
  }

  open() {
    this.readyState = Socket.OPEN;
    this.onopen();
  }

  send(bytes) {
    this.sent.push(decode(bytes.buffer));
  }

  hear(...message) {
    this.onmessage({ data: encode(message).buffer });
  }

  end(code, reason = '') {
    this.readyState = 3;
    this.onclose({ code, reason });
  }

  close() {
    this.readyState = 3;
    this.closed = true;
  }

  /** What was sent of some kinds. */
  sentOf(...kinds) {
    return this.sent.filter(([kind]) => kinds.includes(kind));
  }
}

beforeEach(() => { sockets = []; });

const welcome = (now = 0) => [P.WELCOME, P.VERSION, 7, now, 2013, 0, 0, 16, 5120, 3620, 4096, 8192, 40, 25];

/** Return a connection that plays at home, its socket, its calls, and pass(ms). */
async function playing(context) {
  context.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let now = 0;
  context.mock.method(performance, 'now', () => now);
  Object.assign(globalThis, { WebSocket: Socket, document: { hidden: false, addEventListener: () => {} } });
  const { Net } = await import('../../static/net.js');
  const calls = [], record = (name) => [name, (...what) => calls.push([name, ...what])];
  const net = new Net(HOME, new Clock(), { token: 'a token', secret: 'a secret' }, Object.fromEntries(
    ['welcome', 'message', 'error', 'quiet', 'lost', 'waiting', 'refused', 'takenOver', 'moved'].map(record)));
  net.open({ name: 'Wren', look: 3, width: 40, height: 25, near: null, place: [9, 9] });
  const [home] = sockets;
  home.open();
  home.hear(...welcome());
  const pass = (ms) => {
    now += ms;
    context.mock.timers.tick(ms);
  };
  pass(500);
  home.hear(P.TOKEN, 'a newer token');
  home.sent.length = calls.length = 0;
  const names = () => calls.map(([name]) => name);
  return { net, home, calls, names, pass };
}

/** Let the other machine show a square. */
function show(there) {
  there.hear(P.TOKEN, 'its token');
  there.hear(P.HELD, 0, 0, 0, 0);
  there.hear(P.SNAPSHOT, 0, 0, 0, []);
}

test('it says hello there with its last token, and changes over once all squares are shown', async (context) => {
  const { net, home, calls, names } = await playing(context);
  home.hear(P.MOVED, `${THERE}:8443/game`);
  const there = sockets[1];
  assert.equal(there.url, 'wss://b.example.org:8443/game/ws?back');
  there.open();
  // With the key first, no hook of the game is called for a player whose owner is not known yet.
  assert.deepEqual(there.sent[0], [P.KEY, 'a secret']);
  assert.deepEqual(there.sent[1], [P.HELLO, P.VERSION, 'Wren', 40, 25, 'a newer token', null, null, null]);
  assert.deepEqual(there.sent.slice(2), [[P.APPEAR, 'Wren', 3]]);
  there.hear(...welcome(5000));
  there.hear(P.HELD, 0, 0, 1, 0);
  there.hear(P.SNAPSHOT, 0, 0, 5000, []);
  // The last machine has given the player up. What was known is still shown.
  home.end(P.CLOSE_TAKEN_OVER);
  assert.deepEqual(names(), []);
  there.hear(P.TOKEN, 'its token');
  there.hear(P.SNAPSHOT, 1, 0, 5000, []);
  assert.equal(net.socket, there);
  assert.deepEqual(names(), ['welcome', 'message', 'message', 'message', 'moved']);
  // It gets when the welcome came, and what the time was by the last clock.
  assert.equal(calls[0][2], 500);
  assert.ok(Math.abs(calls[0][3] - 500) <= 1);
  assert.equal(net.identity.token, 'its token');
  there.hear(...flush(10, [0, 0, 0, 0, '', [enter(7, 1, 0)]]));
  assert.equal(net.flush, 1);
});

test('what must be done only once waits for the other machine, and walks do not', async (context) => {
  const { net, home } = await playing(context);
  home.hear(P.MOVED, THERE);
  const there = sockets[1];
  net.act(P.SAY, 'before');
  there.open();
  net.act(P.SAY, 'meanwhile');
  net.act(P.DO, 'emote', [1]);
  net.act(P.WALK, 5, 0, 1, 0);
  assert.deepEqual(home.sentOf(P.SAY, P.DO, P.WALK), [[P.SAY, 'before'], [P.WALK, 5, 0, 1, 0]]);
  there.hear(...welcome());
  show(there);
  assert.deepEqual(there.sentOf(P.SAY, P.DO, P.WALK), [[P.SAY, 'meanwhile'], [P.DO, 'emote', [1]]]);
  assert.ok(home.closed);
});

test('it stays if it is not let in there, and then says what has waited', async (context) => {
  const { net, home, names, pass } = await playing(context);
  for (const fails of [
    (there) => there.end(1006),
    (there) => {
      there.open();
      net.act(P.SAY, 'still here');
      there.hear(P.ERROR, 'full', 'this world is full');
      there.end(1013, 'this world is full');
    },
    () => {
      for (let i = 0; i < 8; i++) {
        home.hear(P.PONG, 0, 0);
        pass(1000);
      }
    },
  ]) {
    home.hear(P.MOVED, THERE);
    const there = sockets.at(-1);
    fails(there);
    assert.equal(net.next, null);
    assert.ok(there.closed && net.playing && net.socket === home);
  }
  assert.deepEqual(home.sentOf(P.SAY), [[P.SAY, 'still here']]);
  assert.ok(!names().includes('lost') && !names().includes('error'));
});

test('nothing happens where its page may not connect, or where it is already', async (context) => {
  const { net, home } = await playing(context);
  for (const address of ['https://forbidden.example.org', 'no address', 'https://a.example.org']) {
    home.hear(P.MOVED, address);
  }
  assert.equal(sockets.length, 1);
  assert.ok(net.playing);
});

test('if the other machine dies once it has the player, the player comes back where it began', async (context) => {
  const { net, home, names, pass } = await playing(context);
  home.hear(P.MOVED, THERE);
  const there = sockets[1];
  there.open();
  home.end(P.CLOSE_TAKEN_OVER);
  there.end(1006);
  assert.deepEqual(names(), ['lost', 'waiting']);
  pass(400);
  assert.equal(sockets[2].url, `${HOME}?back`);
  sockets[2].open();
  sockets[2].hear(...welcome());
  assert.ok(net.playing);
  // And so it does from there, later.
  sockets[2].hear(P.MOVED, THERE);
  sockets[3].open();
  sockets[3].hear(...welcome());
  show(sockets[3]);
  sockets[3].end(1012);
  pass(400);
  assert.equal(sockets[4].url, `${HOME}?back`);
});

test('it changes over soon after the welcome, whatever is still to be shown', async (context) => {
  const { net, home, pass } = await playing(context);
  home.hear(P.MOVED, THERE);
  sockets[1].open();
  sockets[1].hear(...welcome());
  assert.equal(net.socket, home);
  pass(600);
  assert.equal(net.socket, sockets[1]);
});

test('a walk goes on from where it is by another clock', () => {
  const walk = new Walk(() => false);
  walk.begin(0, 0, 1000);
  walk.follow({ heading: [1, 0] }, 1000);
  const before = walk.drawn(2000);
  walk.shift(70_000);
  assert.deepEqual(walk.drawn(72_000), before);
});
