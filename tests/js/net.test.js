// The connection acknowledges what it has received, over a socket that only notes what is sent.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Clock } from '../../static/clock.js';
import { decode, encode } from '../../static/msgpack.js';
import * as P from '../../static/protocol.js';
import { enter, flush } from './flushes.js';

class Socket {
  static OPEN = 1;

  constructor() {
    this.readyState = Socket.OPEN;
    this.sent = [];
  }

  send(bytes) {
    this.sent.push(decode(bytes.buffer));
  }

  close() {}
}

/** Return a connection that plays, what it passes on, its other calls, hear(message), by which it receives,
 * pass(ms), by which time passes, and turn(hidden), which hides the page. */
async function playing(context) {
  context.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let now = 0;
  context.mock.method(performance, 'now', () => now);
  const page = { hidden: false, addEventListener: (_, act) => page.turned = act };
  Object.assign(globalThis, { WebSocket: Socket, document: page });
  const { Net } = await import('../../static/net.js');
  const passed = [], calls = [], ignore = () => {};
  const record = (name) => [name, (what) => calls.push([name, what])];
  const net = new Net('', new Clock(), { token: null, secret: 'a secret' }, { welcome: ignore, error: ignore,
    ...Object.fromEntries(['quiet', 'lost', 'waiting'].map(record)),
    message: (message) => passed.push([message, net.flush]) });
  net.connect();
  const hear = (value) => net.socket.onmessage({ data: encode(value).buffer });
  hear([P.WELCOME, P.VERSION, 7, 0, 2013, 0, 0, 16, 5120, 3620, 4096, 8192, 40, 25]);
  const pass = (ms) => {
    now += ms;
    context.mock.timers.tick(ms);
  };
  const turn = (hidden) => {
    page.hidden = hidden;
    page.turned();
  };
  pass(500);
  net.socket.sent.length = 0;
  return { net, passed, calls, hear, pass, turn };
}

test('a message of an unknown kind, and items that later versions append, do no harm', async (context) => {
  const { net, passed, hear } = await playing(context);
  for (const message of [[99], [2 ** 40, 1, 'what'], [P.TOKEN, 'a token', 7], [P.FLUSH, 5, 9, [], [], 7]]) {
    hear(message);
  }
  assert.equal(net.identity.token, 'a token');
  assert.equal(net.flush, 5);
  assert.deepEqual(passed.map(([[kind]]) => kind), [99, 2 ** 40, P.FLUSH]);
});

test('a flush is passed on as a whole, and then acknowledged within a second', async (context) => {
  const { net, passed, hear, pass } = await playing(context);
  const message = flush(100, [0, 0, 0, 3, '', [enter(7, 1, 0)]], [1, 0, 2, 0, '']);
  message[1] = 41;
  hear(message);
  assert.deepEqual(passed, [[message, 0]]);
  assert.equal(net.received.messages, 2);
  assert.deepEqual(net.socket.sent, []);
  hear([P.FLUSH, 42, 130, []]);
  pass(750);
  assert.deepEqual(net.socket.sent, [[P.ACK, 42]]);
});

test('while flushes come, pings are rare; after the last flush they come at 1, 2, 4 and 8 s', async (context) => {
  const { net, hear, pass } = await playing(context);
  for (let number = 1; number <= 100; number++) {
    hear([P.FLUSH, number, 100, []]);
    pass(100);
  }
  const kinds = net.socket.sent.map(([kind]) => kind);
  const pings = kinds.filter((kind) => kind === P.PING).length;
  assert.ok(pings === 2 || pings === 1, `${pings} pings in 10 s`);
  assert.ok(kinds.length >= 9 && kinds.length <= 14, `${kinds.length} acknowledgements in 10 s`);
  assert.ok(net.socket.sent.at(-1).at(-1) >= 88);
  net.socket.sent.length = 0;
  const at = [];
  for (let ms = 0; ms < 12_000; ms += 250) {
    pass(250);
    // Every ping is answered: the connection is not dead.
    for (const [kind, time] of net.socket.sent.splice(0)) {
      if (kind !== P.PING) continue;
      at.push(ms / 1000);
      hear([P.PONG, time, 0]);
    }
  }
  assert.equal(at.length, 4, `pings after ${at} s`);
  assert.ok(at[0] <= 1 && at[1] <= 2.5 && at[2] <= 5 && at[3] <= 9.5, `pings after ${at} s`);
});

test('a flush is acknowledged at once when much has been received', async (context) => {
  const { net, hear } = await playing(context);
  hear([P.FLUSH, 1, 100, [[0, 0, 0, 0, 'x'.repeat(60_000)]]]);
  assert.deepEqual(net.socket.sent, []);
  hear([P.FLUSH, 2, 100, [[0, 0, 0, 0, 'x'.repeat(60_000)]]]);
  assert.deepEqual(net.socket.sent, [[P.ACK, 2]]);
});

test('after a resync flushes are numbered afresh, and still acknowledged', async (context) => {
  const { net, hear, pass } = await playing(context);
  hear([P.FLUSH, 5000, 100, []]);
  pass(1000);
  assert.equal(net.socket.sent.at(-1).at(-1), 5000);
  hear([P.RESYNC]);
  hear([P.FLUSH, 12, 100, []]);
  net.socket.sent.length = 0;
  pass(1000);
  assert.deepEqual(net.socket.sent.map((message) => message.at(-1)), [12]);
});

test('a page that stood still or was hidden raises no false alarm', async (context) => {
  const { net, calls, hear, pass, turn } = await playing(context);
  const wait = (ms) => {
    for (let passed = 0; passed < ms; passed += 250) pass(250);
  };
  wait(500);
  // It stood still: there is one look at the connection in all that time.
  pass(9000);
  turn(true);
  wait(60_000);
  assert.deepEqual(calls, []);
  turn(false);
  wait(2500);
  assert.deepEqual(calls, [['quiet', true]]);
  hear([P.PONG, net.socket.sent.at(-1)[1], 0]);
  assert.deepEqual(calls, [['quiet', true], ['quiet', false]]);
});

test('a hello that came too late is repeated soon, and a full world is tried again later', async (context) => {
  const { net, calls, hear, pass } = await playing(context);
  const refuse = (code, sentence) => {
    hear([P.ERROR, code, sentence]);
    const { socket } = net;
    socket.onclose({ code: P.CLOSE_TRY_LATER, reason: sentence });
    const [[, why], [, ms]] = calls.splice(0);
    pass(ms);
    assert.notEqual(net.socket, socket);
    calls.length = 0;
    return [why, ms];
  };
  for (let tries = 0; tries < 2; tries++) {
    const [why, ms] = refuse('hello', 'there was no hello');
    assert.equal(why, null);
    assert.ok(ms <= 800, `${ms} ms`);
  }
  assert.deepEqual(refuse('full', 'this world is full'), ['this world is full', 10_000]);
});

test('a key that was one too many from its address is sent again on its connection', async (context) => {
  const { net, hear, pass } = await playing(context);
  const wait = (seconds) => {
    for (; seconds > 0; seconds--) {
      pass(1000);
      hear([P.LINK, true]);
    }
    return net.socket.sent.filter(([kind]) => kind === P.KEY);
  };
  const refuse = () => hear([P.ERROR, 'keys', 'many new players came from your address']);
  refuse();
  assert.deepEqual(wait(9), []);
  assert.deepEqual(wait(11), [[P.KEY, 'a secret']]);
  // A new connection sends it with its hello.
  refuse();
  net.connect();
  assert.deepEqual(wait(20), []);
});

test('an earlier refusal is not given as the reason why a connection ends', async (context) => {
  const { net, calls, hear } = await playing(context);
  hear([P.ERROR, 'store', 'the server cannot reach its store']);
  net.socket.onclose({ code: P.CLOSE_RESTART, reason: 'the server restarts' });
  assert.deepEqual(calls.filter(([what]) => what === 'lost'), [['lost', 'the server restarts']]);
});

/** Let a page try to connect so often without success, while its server answers a POST so; return the reasons that it gives,
 * where it asked, and the ms until the next attempt. */
async function neverWelcomed(context, attempts, answer, token = null) {
  context.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  const asked = context.mock.method(globalThis, 'fetch', async () => answer()), reasons = [], opened = [];
  let waits = 0;
  Object.assign(globalThis, { document: { addEventListener() {} }, WebSocket: class extends Socket {
    constructor(url) {
      super();
      opened.push(url);
    }
  } });
  const { Net } = await import('../../static/net.js');
  const net = new Net('ws://localhost:8000/ws', new Clock(), { token, secret: 'a secret' },
    { waiting: (ms) => waits = ms, lost: (why) => reasons.push(why) });
  net.connect();
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 0) context.mock.timers.tick(10_000);
    net.socket.onclose({ code: 1006, reason: '' });
    await Promise.allSettled(asked.mock.calls.map(({ result }) => result));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { reasons, opened, waits, asked: asked.mock.calls.map(({ arguments: [url, { method }] }) => `${method} ${url}`) };
}

const answered = (status, type, text, more = {}) => () => new Response(text, { status, headers: { 'content-type': type, ...more } });

test('a page that is never let in asks the server why, and says it', async (context) => {
  const reason = 'Pages from "http://localhost:8000" may not connect.';
  const { reasons, asked, waits } = await neverWelcomed(context, 2, answered(403, 'text/plain; charset=utf-8', `${reason}\n`));
  assert.deepEqual(reasons, [null, reason, reason, reason]);
  assert.deepEqual(asked, Array(2).fill('POST http://localhost:8000/ws'));
  assert.ok(waits <= 800);
});

test('a page that finds a world full tries again later, and one that has been there asks for its place', async (context) => {
  const full = answered(503, 'text/plain', 'This world is full: try again later.', { 'retry-after': '10' });
  const newcomer = await neverWelcomed(context, 1, full);
  assert.deepEqual([newcomer.reasons.at(-1), newcomer.waits, newcomer.opened],
    ['This world is full: try again later.', 10_000, ['ws://localhost:8000/ws']]);
  context.mock.reset();
  assert.deepEqual((await neverWelcomed(context, 1, full, 'a token')).opened, ['ws://localhost:8000/ws?back']);
});

for (const [what, answer] of [['the server would take a WebSocket', answered(405, 'text/plain', 'Use GET here.')],
  ['another page answers', answered(200, 'text/html', '<p>Please log in.')]]) {
  test(`a page that is never let in says that something is in the way if ${what}`, async (context) => {
    const { reasons } = await neverWelcomed(context, 1, answer);
    assert.match(reasons.at(-1), /does not pass WebSockets on/);
  });
}

for (const [what, answer] of [['does not answer', () => {
  throw new TypeError('Failed to fetch');
}], ['is not reached by its proxy', answered(502, 'text/html', '<h1>Bad Gateway')]]) {
  test(`a page whose server ${what} says nothing else`, async (context) => {
    assert.deepEqual((await neverWelcomed(context, 3, answer)).reasons, [null, null, null]);
  });
}
