// The replica: what this client knows of the squares that it holds: the players in them, and the
// things that lie there. It applies the server's messages by the rules of docs/protocol.md ("What a client keeps"). It never
// touches the page.

import * as P from './protocol.js';

/**
 * A player as the server told it.
 * @typedef {object} Player
 * @property {number} id
 * @property {number} seq       of the newest event that is known
 * @property {number} ack       number of the last intent that the server had obeyed
 * @property {string} name
 * @property {boolean} dimmed   true while its connection is lost
 * @property {import('./track.js').Track} track
 * @property {[number, number]} square  column and row
 * @property {number | null} transitUntil  node time, ms, until which the player is drawn on while
 *                              it goes from one held square to another; null otherwise
 */

/**
 * A thing that lies in a held square, as the server told it.
 * @typedef {object} Thing
 * @property {number} kind      THING_GEM or THING_CAIRN
 * @property {string} id        the same as long as it is the same gem or cairn
 * @property {number} version   grows whenever something about it changes
 * @property {[number, number]} square  column and row
 * @property {number} x         absolute position in units
 * @property {number} y
 * @property {number | null} player  of a cairn: the id that its builder had; null for a gem
 * @property {string} name      of a cairn: the name of its builder
 * @property {string} text      of a cairn: the line that its builder left
 * @property {number} stones    of a cairn: how many stones it has
 */

/** @typedef {{ c0: number, r0: number, c1: number, r1: number }} Held  Columns and rows of the
 * held squares, both ends included. */

/** @typedef {{ people: number, rate: number, flash: number }} Census  Of one square: number of
 * players, messages per second, ms since the last message. */

const REMEMBERED = 10000;                 // ms for which the seq of a removed player is kept
const IN_TRANSIT = 2000;                  // ms for which a player between two held squares
                                          // is drawn on
const DROPPED_SHOWN = 2000;               // ms for which the overlay shows a dropped square
const RATE_OVER = 3000;                   // ms over which messages of a square are counted

export class Replica {
  constructor() {
    /** Length of a square's side in tiles. */
    this.side = 16;
    /** Called with what a player says. @type {(player: Player, text: string) => void} */
    this.onSay = () => {};
    /** Grows whenever a name is added or removed. */
    this.nameChanges = 0;
    /** @type {Map<number, number>} By node: ms to add to its times. */
    this.clocks = new Map();
    /** @type {Map<number, Player>} By id. */
    this.players = new Map();
    /** @type {Map<number, { seq: number, until: number }>} By id: the seqs of removed
     * players, and the node times, ms, until which they are kept. */
    this.removed = new Map();
    /** @type {Map<string, Thing[]>} By 'col:row': what lies in the squares of which that was
     * told. */
    this.things = new Map();
    /** Grows whenever something about the things changes. */
    this.thingChanges = 0;
    /** @type {Held | null} */
    this.held = null;
    /** @type {Map<string, { messages: number[], last: number }>} By 'col:row': the node times,
     * ms, of recent messages and of the last one. */
    this.squares = new Map();
    /** @type {{ col: number, row: number, at: number }[]} Squares that were let
     * go recently, each at node time `at`, ms. */
    this.dropped = [];
  }

  /** Forget all players, things and squares, as on a new connection or a resync. */
  clear() {
    this.players.clear();
    this.removed.clear();
    this.things.clear();
    this.thingChanges++;
    this.held = null;
    this.squares.clear();
    this.dropped.length = 0;
    this.nameChanges++;
  }

  holds(col, row) {
    const held = this.held;
    return held !== null && col >= held.c0 && col <= held.c1 && row >= held.r0 && row <= held.r1;
  }

  /** Take a message of the kinds HELD, SNAPSHOT, BATCH, THINGS, RESYNC and CLOCKS; `now` is
   * node time, ms. */
  apply(message, now) {
    if (message[0] === P.BATCH) this.#batch(message, now);
    else if (message[0] === P.SNAPSHOT) this.#snapshot(message, now);
    else if (message[0] === P.THINGS) this.#lay(message);
    else if (message[0] === P.HELD) this.#hold(message, now);
    else if (message[0] === P.RESYNC) this.clear();
    else if (message[0] === P.CLOCKS) this.clocks = new Map(message[1]);
  }

  #hold([, c0, r0, c1, r1], now) {
    const before = this.held;
    this.held = { c0, r0, c1, r1 };
    if (before !== null) {
      for (let row = before.r0; row <= before.r1; row++) {
        for (let col = before.c0; col <= before.c1; col++) {
          if (!this.holds(col, row)) this.dropped.push({ col, row, at: now });
        }
      }
    }
    for (const bySquare of [this.squares, this.things]) {
      for (const key of bySquare.keys()) {
        const [col, row] = key.split(':').map(Number);
        if (!this.holds(col, row)) bySquare.delete(key);
      }
    }
    this.thingChanges++;
    for (const player of this.players.values()) {
      const [col, row] = player.square;
      if (!this.holds(col, row)) this.#forget(player);
    }
  }

  #snapshot([, col, row, sent, entries], now) {
    if (!this.holds(col, row)) return;
    const present = new Set();
    for (const entry of entries) {
      present.add(entry[1]);
      this.#enter(col, row, sent, entry, now, true);
    }
    for (const player of this.players.values()) {
      const here = player.square[0] === col && player.square[1] === row;
      if (here && player.transitUntil === null && !present.has(player.id)) this.#forget(player);
    }
  }

  #batch([, col, row, node, , , told, , events], now) {
    if (!this.holds(col, row)) return;
    this.#count(col, row, now);
    const sent = told + (this.clocks.get(node) ?? 0);
    for (const event of events) {
      const [kind, id] = event;
      const known = this.players.get(id);
      if (kind === P.EVENT_TRACK) {
        // If its enter was lost, taking this seq would keep the repeated enter out.
        if (!known || known.square[0] !== col || known.square[1] !== row) continue;
        if (known.transitUntil !== null || event[2] <= known.seq) continue;
        [, , known.seq, known.ack] = event;
        known.track = this.#track(col, row, sent, event);
      } else if (kind === P.EVENT_ENTER) this.#enter(col, row, sent, event, now);
      else if (kind === P.EVENT_SAY) {
        if (known !== undefined) this.onSay(known, event[2]);
      } else if (known === undefined || event[2] > known.seq) {
        this.#leave(known, event, now);
      }
    }
  }

  /** Take everything that lies in a square now. Things of unknown kinds are left out. */
  #lay([, col, row, things]) {
    if (!this.holds(col, row)) return;
    const span = this.side * 1024;
    /** @type {Thing[]} */
    const known = [];
    for (const [kind, id, version, x, y, ...more] of things) {
      const [player, name, text, stones] = kind === P.THING_CAIRN ? more : [null, '', '', 0];
      if (kind !== P.THING_GEM && kind !== P.THING_CAIRN) continue;
      known.push({ kind, id, version, square: [col, row], x: x + col * span, y: y + row * span,
        player, name, text, stones });
    }
    this.things.set(`${col}:${row}`, known);
    this.thingChanges++;
  }

  #leave(known, [kind, id, seq, toCol, toRow], now) {
    if (kind === P.EVENT_LEAVE && known !== undefined && this.holds(toCol, toRow)) {
      known.seq = seq;
      known.square = [toCol, toRow];
      known.transitUntil = now + IN_TRANSIT;
      return;
    }
    const before = this.removed.get(id);
    this.removed.delete(id);
    this.removed.set(id, { seq: Math.max(seq, before?.seq ?? 0), until: now + REMEMBERED });
    if (known !== undefined) this.#forget(known);
  }

  #enter(col, row, sent, entry, now, again = false) {
    const [, id, seq, ack, name, dimmed] = entry;
    const known = this.players.get(id), removed = this.removed.get(id);
    if (removed !== undefined && removed.until > now && seq <= removed.seq) return;
    // An entry of a snapshot also counts if its seq is the one known: it may tell more.
    if (known !== undefined && (seq < known.seq || (seq === known.seq && !again))) return;
    const track = this.#track(col, row, sent, entry);
    /** @type {Player} */
    const fresh = { id, seq, ack, name, dimmed, track, square: [col, row], transitUntil: null };
    if (known === undefined) this.players.set(id, fresh);
    else Object.assign(known, fresh);
    if (known?.name !== name) this.nameChanges++;
  }

  #track(col, row, sent, event) {
    const span = this.side * 1024;
    const [x, y, dx, dy, age, duration] = event.slice(-6);
    return { x: x + col * span, y: y + row * span, dx, dy, start: sent - age, duration };
  }

  #forget(player) {
    this.players.delete(player.id);
    this.nameChanges++;
  }

  #count(col, row, now) {
    const key = `${col}:${row}`;
    let square = this.squares.get(key);
    if (square === undefined) {
      square = { messages: [], last: now };
      this.squares.set(key, square);
    }
    square.messages.push(now);
    square.last = now;
  }

  /** Forget everything whose time is over; `now` is node time in ms. */
  expire(now) {
    for (const player of this.players.values()) {
      if (player.transitUntil !== null && player.transitUntil <= now) this.#forget(player);
    }
    for (const [id, { until }] of this.removed) {
      if (until > now) break;
      this.removed.delete(id);
    }
    while (this.dropped.length > 0 && now - this.dropped[0].at > DROPPED_SHOWN) {
      this.dropped.shift();
    }
    for (const square of this.squares.values()) {
      while (square.messages.length > 0 && now - square.messages[0] > RATE_OVER) {
        square.messages.shift();
      }
    }
  }

  /** Return what the grid overlay shows of each held square, by 'col:row', at node time `now`, ms.
   * @returns {Map<string, Census>} */
  census(now) {
    const census = new Map();
    if (this.held === null) return census;
    for (let row = this.held.r0; row <= this.held.r1; row++) {
      for (let col = this.held.c0; col <= this.held.c1; col++) {
        const key = `${col}:${row}`, square = this.squares.get(key);
        census.set(key, {
          people: 0,
          rate: square === undefined ? 0 : square.messages.length * 1000 / RATE_OVER,
          flash: square === undefined ? Infinity : now - square.last,
        });
      }
    }
    for (const { square } of this.players.values()) {
      const entry = census.get(`${square[0]}:${square[1]}`);
      if (entry !== undefined) entry.people++;
    }
    return census;
  }
}
