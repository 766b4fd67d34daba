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

/** Return a connection that plays, what it passes on, and hear(bytes): by which it receives. */
async function playing(context) {
  context.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let now = 0;
  context.mock.method(performance, 'now', () => now);
  Object.assign(globalThis, { WebSocket: Socket,
    document: { hidden: false, addEventListener() {} } });
  const { Net } = await import('../../static/net.js');
  const passed = [], ignore = () => {};
  const net = new Net('', new Clock(), { welcome: ignore, quiet: ignore, lost: ignore,
    waiting: ignore, message: (message) => passed.push([message, net.flush]) });
  net.connect();
  const hear = (value) => net.socket.onmessage({ data: encode(value).buffer });
  hear([P.WELCOME, P.VERSION, 7, 0, 2013, 0, 0, 16, 5120, 3620, 4096, 8192, 40, 25]);
  const pass = (ms) => {
    now += ms;
    context.mock.timers.tick(ms);
  };
  pass(500);
  net.socket.sent.length = 0;
  return { net, passed, hear, pass };
}

test('a flush is passed on whole, and then acknowledged within a second', async (context) => {
  const { net, passed, hear, pass } = await playing(context);
  const message = flush(100, [0, 0, 0, 3, '', [enter(7, 1, 0)]], [1, 0, 2, 0, '']);
  message[1] = 41;
  hear(message);
  assert.deepEqual(passed, [[message, 0]]);
  assert.equal(net.received.messages, 2);
  assert.deepEqual(net.socket.sent, []);
  hear([P.FLUSH, 42, 130, []]);
  pass(1000);
  assert.deepEqual(net.socket.sent.map(([kind, , number]) => [kind, number]), [[P.PING, 42]]);
});

test('a flush is acknowledged at once when much has been received', async (context) => {
  const { net, hear } = await playing(context);
  hear([P.FLUSH, 1, 100, [[0, 0, 0, 0, 'x'.repeat(60_000)]]]);
  assert.deepEqual(net.socket.sent, []);
  hear([P.FLUSH, 2, 100, [[0, 0, 0, 0, 'x'.repeat(60_000)]]]);
  assert.deepEqual(net.socket.sent.map(([kind, , number]) => [kind, number]), [[P.PING, 2]]);
});
