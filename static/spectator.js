// A connection that only watches: it asks for the map of everybody, and nobody plays on it. The title
// and /live use it. It connects again when it is lost, less and less often while that fails.

import { decode, encode } from './msgpack.js';
import * as P from './protocol.js';

const RETRY_FIRST = 2000, RETRY_FULL = 20000, RETRY_MOST = 60000;   // ms; RETRY_FULL where there is no room
const SILENT = 20000;                     // ms without a message: the connection is dead

export class Spectator {
  /** `onMessage` gets each message. */
  constructor(url, onMessage) {
    this.url = url;
    this.onMessage = onMessage;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {number[] | null} The fields of the `watch`, or null while nothing is watched. */
    this.asked = null;
    this.retry = RETRY_FIRST;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /** Watch an area, and connect if that is needed.
   * @param {import('./atlas.js').Watch} watch */
  watch({ grain, c0, r0, c1, r1 }) {
    this.asked = [grain, c0, r0, c1, r1];
    if (this.socket === null && this.timer === undefined) this.#connect();
    else this.#ask();
  }

  /** Stop watching, and hang up. */
  stop() {
    this.asked = null;
    clearTimeout(this.timer);
    this.timer = undefined;
    const { socket } = this;
    this.socket = null;
    if (socket === null) return;
    // If it were closed while it connects, the browser would show an error.
    if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close(P.CLOSE_NORMAL);
    else socket.close(P.CLOSE_NORMAL);
  }

  #connect() {
    const socket = new WebSocket(`${this.url}?watch`, P.SUBPROTOCOL);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.#expect(socket);
    socket.onopen = () => {
      if (socket === this.socket) this.#ask();
    };
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket) return;
      this.#expect(socket);
      const message = decode(data);
      if (message[0] !== P.ERROR) this.retry = RETRY_FIRST;
      this.onMessage(message);
    };
    socket.onclose = ({ code }) => {
      if (code === P.CLOSE_TRY_LATER) this.retry = Math.max(this.retry, RETRY_FULL);
      this.#lost(socket);
    };
  }

  /** Give the connection up as lost if no message comes for a while. */
  #expect(socket) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      socket.close();
      this.#lost(socket);
    }, SILENT);
  }

  #lost(socket) {
    if (socket !== this.socket) return;
    this.socket = null;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.#connect();
    }, this.retry * (0.5 + Math.random() / 2));
    this.retry = Math.min(this.retry * 2, RETRY_MOST);
  }

  #ask() {
    if (this.asked !== null && this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(encode([P.WATCH, ...this.asked]));
    }
  }
}
