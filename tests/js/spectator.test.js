// A connection that only watches, where there is no room for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { encode } from '../../static/msgpack.js';
import * as P from '../../static/protocol.js';
import { Spectator } from '../../static/spectator.js';

test('a client that is refused tries again seldom, and soon once it may watch', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  context.mock.method(Math, 'random', () => 1);
  /** @type {any[]} */
  const sockets = [];
  globalThis.WebSocket = /** @type {any} */ (class {
    static OPEN = 1;

    constructor() {
      this.readyState = 1;
      sockets.push(this);
    }

    send() {}

    close() {}
  });
  const said = [], spectator = new Spectator('wss://a.example.org/ws', (message) => said.push(message[0]));
  const tries = (ms) => {
    const before = sockets.length;
    context.mock.timers.tick(ms);
    return sockets.length - before;
  };
  spectator.watch({ grain: 1, c0: 0, r0: 0, c1: 1, r1: 1 });
  for (const pause of [20_000, 40_000, 60_000, 60_000]) {
    sockets.at(-1).onopen();
    sockets.at(-1).onmessage({ data: encode([P.ERROR, 'full', 'there is no room']).buffer });
    sockets.at(-1).onclose({ code: P.CLOSE_TRY_LATER });
    assert.deepEqual([tries(pause - 1), tries(1)], [0, 1]);
  }
  sockets.at(-1).onmessage({ data: encode([P.TOTALS, 1, 1]).buffer });
  sockets.at(-1).onclose({ code: 1006 });
  assert.deepEqual([tries(1999), tries(1), said.length], [0, 1, 5]);
  spectator.stop();
});
