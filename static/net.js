// The connection: hello, pings and acknowledgements, and coming back when it is lost. It knows the
// frames of docs/protocol.md, and nothing of what is drawn.

import { decode, encode } from './msgpack.js';
import * as P from './protocol.js';

const PING_EVERY = 1000;                  // ms between acknowledgements while flushes arrive
const PING_BYTES = 96 * 1024;             // received since the last one: acknowledged at once
const PING_IDLE = 20000;                  // ms between pings when nothing does
const FIRST_PINGS = 4;                    // quick ones, to set the clock
const FIRST_PING_EVERY = 120;             // ms
const SILENT_AFTER = 50000;               // ms without a word, after which a link is given up
const RETRY_FIRST = 400, RETRY_MOST = 8000;   // ms, doubled each time, half of it by chance
const RETRY_FULL = 10000;                 // ms before a full world is tried again
const TOKEN_KEY = 'flatlands.token';

export class Net {
  /** `clock` is set by pings. `on` has { welcome(message), message(message), lost(retryMs),
   * refused(code, sentence), takenOver(), error(code, sentence) }. */
  constructor(url, clock, on) {
    this.url = url;
    this.clock = clock;
    this.on = on;
    this.socket = null;
    this.playing = false;                 // welcomed, and not lost since
    this.retry = RETRY_FIRST;
    this.received = { messages: 0, bytes: 0 };
    this.hello = null;
    setInterval(() => this.#keepAlive(), PING_EVERY);
  }

  /** Connect with what hello tells: { name, width, height, near }. Again whenever it is lost. */
  open(hello) {
    this.hello = hello;
    this.#connect();
  }

  /** Send a message, if there is anybody to send it to. */
  send(...message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encode(message));
  }

  #connect() {
    clearTimeout(this.retryTimer);
    const socket = new WebSocket(this.url, P.SUBPROTOCOL);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.flush = 0;
    this.acknowledged = 0;
    this.pingedBytes = this.received.bytes;
    this.refusal = null;
    this.heardAt = this.pingedAt = performance.now();
    socket.onopen = () => {
      const { name, width, height, near } = this.hello;
      this.send(P.HELLO, P.VERSION, name, width, height, sessionStorage.getItem(TOKEN_KEY), near);
    };
    socket.onmessage = (event) => {
      if (socket === this.socket) this.#heard(event.data);
    };
    socket.onclose = (event) => {
      if (socket === this.socket) this.#closed(event);
    };
  }

  #heard(data) {
    this.heardAt = performance.now();
    this.received.bytes += data.byteLength;
    const message = decode(data);
    switch (message[0]) {
      case P.WELCOME:
        this.playing = true;
        this.retry = RETRY_FIRST;
        this.clock.reset();
        for (let i = 0; i < FIRST_PINGS; i++) {
          setTimeout(() => this.#ping(), i * FIRST_PING_EVERY);
        }
        this.on.welcome(message);
        break;
      case P.TOKEN:
        sessionStorage.setItem(TOKEN_KEY, message[1]);
        break;
      case P.FLUSH:
        this.flush = message[1];
        // Not by the timer alone: a hidden tab's timers hardly run.
        if (this.heardAt - this.pingedAt >= PING_EVERY
          || this.received.bytes - this.pingedBytes > PING_BYTES) this.#ping();
        break;
      case P.PONG:
        this.clock.sample(message[1], message[2], this.heardAt);
        break;
      case P.ERROR:
        this.refusal = { code: message[1], sentence: message[2] };
        this.on.error(message[1], message[2]);
        break;
      default:
        if (message[0] === P.BATCH) this.received.messages++;
        this.on.message(message);
    }
  }

  #ping() {
    this.pingedAt = performance.now();
    this.pingedBytes = this.received.bytes;
    this.acknowledged = this.flush;
    this.send(P.PING, Math.floor(this.pingedAt), this.flush);
  }

  #keepAlive() {
    if (!this.playing) return;
    const now = performance.now();
    const due = this.flush > this.acknowledged ? PING_EVERY : PING_IDLE;
    // Two timers of one period never meet exactly: a little early is better than a period late.
    if (now - this.pingedAt >= due - PING_EVERY / 4) this.#ping();
    // A link that died in silence (a laptop that slept) would otherwise take minutes to notice.
    if (now - this.heardAt > SILENT_AFTER) this.socket.close();
  }

  #closed({ code, reason }) {
    this.playing = false;
    this.socket = null;
    if (code === P.CLOSE_TAKEN_OVER) return this.on.takenOver();
    if (code === P.CLOSE_POLICY || code === 1002 || code === 1003 || code === 1007 || code === 1009) {
      return this.on.refused(this.refusal?.code ?? 'closed', this.refusal?.sentence ?? reason);
    }
    let wait = this.retry * (0.5 + Math.random() / 2);
    if (code === P.CLOSE_FULL) wait = RETRY_FULL;
    this.retry = Math.min(this.retry * 2, RETRY_MOST);
    this.retryTimer = setTimeout(() => this.#connect(), wait);
    this.on.lost(code === P.CLOSE_FULL ? reason : null, wait);
  }
}
