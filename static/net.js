// The connection: it says hello, pings, acknowledges flushes, and connects again when it is lost. It
// knows the messages of docs/protocol.md, and nothing of what is drawn.

import { decode, encode } from './msgpack.js';
import * as P from './protocol.js';

const TICK = 250;                         // ms between looks at the connection
const PING_EVERY = 1000;                  // ms between pings while anything happens
const PING_IDLE = 10000;                  // the longest pause when nothing happens
const PING_HEARD = 5000;                  // ms between pings while flushes come, which need only an
                                          // ack: the clock must still be set now and then
const PING_HIDDEN = 20000;                // while the page is hidden
const ACK_EVERY = 1000;                   // ms between acknowledgements of flushes
const ACK_BYTES = 96 * 1024;              // received since the last one, after which one is sent at once
const FIRST_PINGS = 4;                    // pings right after the welcome, to set the clock
const FIRST_PING_EVERY = 120;             // ms
const QUIET_AFTER = 2500;                 // ms that a ping is unanswered before the page says so
const DEAD_AFTER = 8000;                  // ms that a ping is unanswered before the connection is lost
const WELCOME_WITHIN = 10000;             // ms from the first try to connect to the welcome
const MOVE_WITHIN = 8000;                 // ms in which another machine must welcome the player
const SHOWN_WITHIN = 600;                 // ms from that welcome to the change, whatever came until then
const RETRY_FIRST = 400;                  // ms, doubled each time, half of it random
const RETRY_MOST = 8000;                  // ms, the most that it becomes
const RETRY_FULL = 10000;                 // ms before a full world is tried again
const KEY_AGAIN = 10000;                  // ms, up to twice as long, before a key is sent again that was one too many
const BARRED = 'Something between you and the server does not pass WebSockets on.';
const METHOD_REFUSED = 405;               // what a server answers that would take a WebSocket
const AT_ONCE = new Set([P.WALK, P.GO, P.HOME, P.PING, P.ACK]);
const REFUSED = new Set([1002, 1003, 1007, 1008, 1009]);   // close codes after which it does not
                                          // connect again: the same would happen

/** @typedef {{ name: string, look: number, width: number, height: number,
 * near: string | number | null, place: import('./track.js').Pair | null, ticket?: string }} Hello  The name
 * and look, the viewport in tiles, an invitation, where the player stood, in units, when the connection was
 * lost, and the ticket, if the game decides who may play. */

/** @typedef {{ socket: WebSocket, greeted: boolean, heard: [any[], number, number][], later: any[][], left: number,
 * timer: number }} Next  The connection to the machine that is to serve the player next: whether the hello
 * was sent, what has come, with bytes and performance times, what is to be sent later, and how many snapshots
 * are still to come. */

export class Net {
  /** `clock` is set by pings; `identity` has the token. `on` has { welcome(message), message(message), error(code, sentence),
   * quiet(is), lost(why), waiting(ms), refused(code, sentence), takenOver(), moved() }. `welcome` also gets
   * the performance time at which the message came and, if another machine serves the player from now on, the
   * node time by the last one's clock; `moved` is called once all that came from there was passed on. quiet(true)
   * means that an answer is overdue, quiet(false) that one came. `why` is a sentence or null.
   * `ms` is the time until the next attempt to connect, or 0 during one. */
  constructor(url, clock, identity, on) {
    this.home = this.url = url;           // the first server, and the one of this connection
    this.identity = identity;
    this.clock = clock;
    this.on = on;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {Next | null} */
    this.next = null;
    this.welcomed = false;                // true once a server has let the player in
    /** @type {string | null} Why it could not connect until then, as far as the page has found out. */
    this.wrong = null;
    this.playing = false;                 // true from the welcome until the connection is lost
    this.quiet = false;                   // true while an answer is overdue
    this.lost = false;                    // true until it is connected again
    /** @type {string | null} What the server said when it stopped, if it did. */
    this.restarts = null;
    /** @type {{ code: string, sentence: string } | null} The last error message. */
    this.refusal = null;
    this.retry = RETRY_FIRST;
    this.received = { messages: 0, bytes: 0 };    // batches of squares; bytes of everything
    /** @type {Hello} */
    this.hello = { name: '', look: 0, width: 0, height: 0, near: null, place: null };
    /** @type {number | null} Performance time of the next attempt to
     * connect, if there will be one. */
    this.retryAt = null;
    /** @type {number | undefined} */
    this.retryTimer = undefined;
    this.flush = 0;                       // number of the last flush
    this.acknowledged = 0;                // number of the last flush that was acknowledged
    // Performance times, in ms.
    this.tickedAt = 0;
    this.pingedAt = 0;
    this.ackedAt = 0;                     // of the last ping or ack
    this.flushedAt = 0;                   // of the last flush
    this.busyAt = 0;                      // of the last flush or act of the player
    this.ackedBytes = 0;                  // bytes received before the last ping or ack
    this.asked = false;                   // true while a ping, or the hello, waits for its answer
    this.waited = 0;                      // ms for which it has waited
    setInterval(() => this.#tick(), TICK);
    document.addEventListener('visibilitychange', () => {
      this.waited = 0;
      if (!document.hidden) this.#ping();
    });
  }

  /** Connect, and connect again whenever the connection is lost.
   * @param {Hello} hello */
  open(hello) {
    this.hello = hello;
    this.connect();
  }

  /** Try to connect now, without waiting for the next attempt. */
  connect() {
    this.#abandon();
    const socket = new WebSocket(this.#addressFor(this.url), P.SUBPROTOCOL);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.#begin();
    socket.onopen = () => {
      if (socket === this.socket) this.#greet(socket, this.hello.place);
    };
    this.#listen(socket);
    if (this.lost) this.on.waiting(0);
  }

  /** Return the address for a connection: a full server lets in only who may have a place there. */
  #addressFor(url) {
    return this.identity.token === null ? url : `${url}?back`;
  }

  #listen(socket) {
    socket.onmessage = ({ data }) => {
      if (socket === this.socket) this.#heard(decode(data), data.byteLength, performance.now());
    };
    socket.onclose = (event) => {
      if (socket === this.socket) this.#closed(event);
    };
  }

  #greet(socket, place) {
    const { name, look, width, height, near, ticket = '' } = this.hello, [x, y] = place ?? [null, null];
    const send = (...message) => socket.send(encode(message));
    if (ticket !== '') send(P.TICKET, ticket);
    send(P.KEY, this.identity.secret);
    send(P.HELLO, P.VERSION, name, width, height, this.identity.token, near, x, y);
    send(P.APPEAR, name, look);
  }

  /** Say hello at another machine. The player stays at this one until the other has sent its snapshots; if it
   * does not welcome the player, nothing changes. */
  #move(address) {
    let socket;
    try {
      const url = new URL('ws', `${address.replace('http', 'ws')}/`);
      if (this.next !== null || url.origin === new URL(this.url).origin) return;
      socket = new WebSocket(this.#addressFor(url.href), P.SUBPROTOCOL);
    } catch (error) {
      if (error instanceof DOMException || error instanceof TypeError) return;    // this page may not connect
      throw error;
    }
    socket.binaryType = 'arraybuffer';
    const stay = () => {
      if (this.next?.socket === socket) this.#stay();
    };
    /** @type {Next} */
    const next = { socket, greeted: false, heard: [], later: [], left: Infinity, timer: setTimeout(stay, MOVE_WITHIN) };
    this.next = next;
    socket.onclose = stay;
    socket.onopen = () => {
      if (this.next !== next) return;
      next.greeted = true;
      this.#greet(socket, null);
    };
    socket.onmessage = ({ data }) => {
      if (this.next !== next) return;
      const message = decode(data), [kind, c0, r0, c1, r1] = message, now = performance.now();
      next.heard.push([message, data.byteLength, now]);
      if (kind === P.WELCOME) {
        socket.send(encode([P.PING, Math.floor(now), 0]));
        clearTimeout(next.timer);
        next.timer = setTimeout(() => this.#change(next), SHOWN_WITHIN);
      } else if (kind === P.HELD) next.left = (c1 - c0 + 1) * (r1 - r0 + 1);
      else if (kind === P.SNAPSHOT) next.left--;
      if (next.left <= 0) this.#change(next);
    };
  }

  /** Change to the other machine. */
  #change({ socket, heard, later }) {
    const was = this.clock.now(), before = this.socket;
    this.#forget();
    this.socket = socket;
    this.url = socket.url.split('?')[0];
    this.#listen(socket);
    before?.close();
    this.#begin();
    for (const [message, bytes, at] of heard) {
      if (socket === this.socket) this.#heard(message, bytes, at, was);
    }
    for (const message of later) this.send(...message);
    this.on.moved();
  }

  /** Stay at this machine: the other one did not let the player in. */
  #stay() {
    const { later } = /** @type {Next} */ (this.next);
    this.#forget()?.close();
    for (const message of later) this.send(...message);
    // This machine may have given the player up by now.
    if (this.socket?.readyState !== WebSocket.OPEN) this.#lose(null);
  }

  /** Forget the connection to the other machine, and return its socket. */
  #forget() {
    const { next } = this;
    this.next = null;
    clearTimeout(next?.timer);
    return next?.socket;
  }

  /** Reset what is counted and timed, for a new connection. */
  #begin() {
    this.flush = 0;
    this.acknowledged = 0;
    this.ackedBytes = this.received.bytes;
    this.refusal = null;
    this.flushedAt = 0;
    this.pingedAt = this.ackedAt = this.busyAt = performance.now();
    this.asked = true;
    this.waited = 0;
  }

  /** Leave for good: the server removes the player at once. */
  leave() {
    this.socket?.close(P.CLOSE_NORMAL);
    this.#abandon();
    this.lost = false;
  }

  /** Send a message if the connection is open. During a change to another machine, what must be done only
   * once is sent later, since this machine may not do it any more. */
  send(...message) {
    if (this.next?.greeted && !AT_ONCE.has(message[0])) this.next.later.push(message);
    else if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encode(message));
  }

  /** Send what the player does, and ping soon, to find out whether it arrived. */
  act(...message) {
    this.send(...message);
    this.stir();
    if (this.busyAt - this.pingedAt >= PING_EVERY) this.#ping();
  }

  /** Note that something is going on, such as a walk: pings come more often then. */
  stir() {
    this.busyAt = performance.now();
  }

  /** Handle a message that came at performance time `now`; `was` is the node time that `welcome` gets. */
  #heard(message, bytes, now, was = null) {
    this.received.bytes += bytes;
    this.waited = 0;
    if (this.quiet) this.#setQuiet(false);
    switch (message[0]) {
      case P.WELCOME:
        this.playing = this.welcomed = true;
        this.wrong = null;
        this.lost = this.asked = false;
        this.restarts = null;
        this.hello.near = null;           // it counts for the first connection only
        this.retry = RETRY_FIRST;
        this.clock.reset();
        for (let i = 0; i < FIRST_PINGS; i++) {
          setTimeout(() => this.#ping(), i * FIRST_PING_EVERY);
        }
        this.on.welcome(message, now, was);
        break;
      case P.MOVED:
        this.#move(message[1]);
        break;
      case P.TOKEN:
        this.identity.token = message[1];
        break;
      case P.FLUSH:
        this.received.messages += message[3].length + (message[4]?.length ?? 0);
        this.on.message(message);
        this.flush = message[1];
        this.flushedAt = now;
        this.stir();
        // The timer alone is not enough: in a hidden tab it hardly runs.
        if (now - this.pingedAt >= PING_HEARD) this.#ping();
        else if (now - this.ackedAt >= ACK_EVERY
          || this.received.bytes - this.ackedBytes > ACK_BYTES) this.#ack();
        break;
      case P.PONG:
        if (message[1] === Math.floor(this.pingedAt)) this.asked = false;
        this.clock.sample(message[1], message[2], now);
        break;
      case P.RESYNC:
        // Flush numbers may begin again: the player may have been passed to another process.
        this.flush = this.acknowledged = 0;
        this.on.message(message);
        break;
      case P.ERROR:
        this.refusal = { code: message[1], sentence: message[2] };
        if (message[1] === 'keys') this.#sendKeyLater();
        this.on.error(message[1], message[2]);
        break;
      default:
        this.on.message(message);
    }
  }

  #ping() {
    if (!this.playing) return;
    this.pingedAt = performance.now();
    this.#acknowledged(this.pingedAt);
    this.asked = true;
    this.send(P.PING, Math.floor(this.pingedAt), this.flush);
  }

  #sendKeyLater() {
    const { socket } = this;
    setTimeout(() => {
      if (socket === this.socket) this.send(P.KEY, this.identity.secret);
    }, KEY_AGAIN * (1 + Math.random()));
  }

  #ack() {
    this.#acknowledged(performance.now());
    this.send(P.ACK, this.flush);
  }

  #acknowledged(now) {
    this.ackedAt = now;
    this.ackedBytes = this.received.bytes;
    this.acknowledged = this.flush;
  }

  #tick() {
    const now = performance.now();
    // Time in which the page itself stood still does not count: it could not receive anything.
    const passed = Math.min(now - this.tickedAt, 2 * TICK);
    this.tickedAt = now;
    if (this.retryAt !== null) return this.on.waiting(Math.max(this.retryAt - now, 1));
    if (this.socket === null) return;
    if (this.asked && !document.hidden) this.waited += passed;
    if (this.waited >= (this.playing ? DEAD_AFTER : WELCOME_WITHIN)) return this.#lose(null);
    if (!this.playing) return;
    if (this.waited >= QUIET_AFTER && !this.quiet) this.#setQuiet(true);
    // Pings are sent 1, 2, 4 and 8 seconds after a flush or act of the player, then every 10.
    const idle = Math.min(this.pingedAt - this.busyAt, PING_IDLE);
    const least = now - this.flushedAt < PING_EVERY ? PING_HEARD : PING_EVERY;
    const due = Math.max(document.hidden ? PING_HIDDEN : idle, least);
    if (now - this.pingedAt >= due - TICK) this.#ping();
    else if (this.flush > this.acknowledged && now - this.ackedAt >= ACK_EVERY - TICK) this.#ack();
  }

  #setQuiet(is) {
    this.quiet = is;
    this.on.quiet(is);
  }

  /** Drop the current connection, and ignore what still comes over it. */
  #abandon() {
    clearTimeout(this.retryTimer);
    this.retryAt = null;
    this.playing = this.quiet = false;
    this.#forget()?.close();
    const { socket } = this;
    this.socket = null;
    // On a dead connection the closing handshake can take minutes: nobody waits for it.
    socket?.close();
  }

  #closed({ code, reason }) {
    // The other machine has the player, or soon will; if not, #stay connects to the first server again.
    if (this.next?.greeted && !REFUSED.has(code)) return;
    // The sentence of the error that closed the connection begins with the close reason; others are older.
    const refusal = this.refusal?.sentence.startsWith(reason) ? this.refusal : null;
    const sentence = refusal?.sentence ?? reason;
    // A hello that came too late only means a slow connection.
    const later = code === P.CLOSE_TRY_LATER && refusal?.code !== 'hello';
    if (code === P.CLOSE_RESTART) this.restarts = sentence;
    if (code !== P.CLOSE_TAKEN_OVER && !REFUSED.has(code)) {
      // Until a server that restarts is back, keep showing what it said when it stopped.
      return this.#lose(later ? sentence : this.restarts, later);
    }
    this.#abandon();
    this.lost = false;
    if (code === P.CLOSE_TAKEN_OVER) this.on.takenOver();
    else this.on.refused(refusal?.code ?? 'closed', sentence);
  }

  #lose(why, later = false) {
    this.#abandon();
    this.url = this.home;
    this.lost = true;
    const wait = later ? RETRY_FULL : this.retry * (0.5 + Math.random() / 2);
    this.retry = Math.min(this.retry * 2, RETRY_MOST);
    this.on.lost(why ?? this.wrong);
    this.#retryIn(wait);
    if (!this.welcomed && why === null) this.#askWhatIsWrong();
  }

  #retryIn(wait) {
    clearTimeout(this.retryTimer);
    this.retryAt = performance.now() + wait;
    this.retryTimer = setTimeout(() => this.connect(), wait);
    this.on.waiting(wait);
  }

  /** Find out over HTTP why no WebSocket has ever been opened, and show the sentence. A browser does not show a page how
   * a server refused one. With POST it names the page's origin, which the server looks at, as it does for a WebSocket. */
  async #askWhatIsWrong() {
    const { retryTimer } = this;
    let sentence = BARRED, full = false;
    try {
      const answer = await fetch(this.home.replace('ws', 'http'), { method: 'POST', redirect: 'manual' });
      const plain = answer.headers.get('content-type')?.startsWith('text/plain') ?? false;
      // A proxy says so itself if it does not reach the server, which may be starting.
      if (answer.status >= 500 && !plain) return;
      full = answer.headers.has('retry-after');
      if (plain && !answer.ok && answer.status !== METHOD_REFUSED) sentence = await answer.text();
    } catch {
      return;                             // there is no server, or no network
    }
    this.wrong = sentence.trim();
    if (retryTimer !== this.retryTimer || !this.lost) return;
    this.on.lost(this.wrong);
    if (full) this.#retryIn(RETRY_FULL);
  }
}
