// The replica: what this client knows of the squares that it holds, such as the players and things in
// them. It applies the server's messages by the rules of docs/protocol.md ("What a client keeps"). It
// never touches the page.
//
// Hundreds of tracks may come between two frames, so nothing is allocated for a track: it overwrites
// the one before.

import * as P from './protocol.js';
import { DIAGONAL, durationOf, SPEED, stand, UNIT } from './track.js';

/**
 * A player, or a mover of the game, as the server sent it.
 * @typedef {object} Player
 * @property {number} id
 * @property {string} type      the name of the mover's kind, or '' for a player
 * @property {number} seq       of the newest event that is known
 * @property {number} ack       number of the last intent that the server had obeyed
 * @property {string} name
 * @property {boolean} dimmed   true while its connection is lost
 * @property {number} look      as its player chose it, or 0
 * @property {import('./track.js').Track} track  the next one overwrites it
 * @property {number} pace      how fast it is, in percent
 * @property {object} values    what the game sends of it, by the names of the fields
 * @property {[number, number]} square  column and row
 * @property {number} slot      the number that names it in tracks of this square
 * @property {Slots | null} slots  the map that has its slot; null while it goes from one held
 *                              square to another
 * @property {number} sketches  grows with each sketch of its track, and when it is sent exactly again
 * @property {boolean} rough    whether its track is from a sketch
 * @property {number | null} transitUntil  node time, ms, until which the player is still drawn
 *                              while it goes from one held square to another; null otherwise
 */

/**
 * A thing that lies in a held square, as the server sent it.
 * @typedef {object} Thing
 * @property {number} kind      the number of its kind
 * @property {string} id        the same as long as it is the same thing
 * @property {number} version   grows whenever something about it changes
 * @property {[number, number]} square  column and row
 * @property {number} x         absolute position in units
 * @property {number} y
 * @property {string} type      the name of its kind
 * @property {Record<string, any>} values  its other fields, by their names
 */

/** @typedef {Map<number, Player>} Slots  The players of one square and source, by their slots. */

/** @typedef {{ c0: number, r0: number, c1: number, r1: number }} Held  Columns and rows of the
 * held squares, both ends included. */

/** @typedef {{ people: number, rate: number, flash: number }} Census  Of one square: number of
 * players, messages per second, ms since the last message. */

const REMOVED_MS = 10000;                 // the seq of a removed player is kept for so long
const IN_TRANSIT_MS = 2000;               // a player between two held squares is drawn for so long
const DROPPED_SHOWN = 2000;               // ms for which the overlay shows a dropped square
const RATE_OVER = 3000;                   // ms over which messages of a square are counted
const TRACK_NEWS = 250;                   // ms: tracks older than this do not count for how
                                          // late a flush came
const TRACK_BYTES = 12;                   // of a record of a track, after its slot
const SKETCH_BYTES = 5;                   // of a sketch, after its slot
const STEP_UNITS = 64;                    // of a step of a sketch
const NEAR_STEPS = 64;                    // each further step counts COARSE_STEPS times
const COARSE_STEPS = 8;

export class Replica {
  constructor() {
    /** Length of a square's side in tiles. */
    this.side = 16;
    /** Units per second: straight, and along each axis of a diagonal. */
    this.speed = SPEED;
    this.diagonal = DIAGONAL;
    /** Called with what a player says. @type {(player: Player, text: string) => void} */
    this.onSay = () => {};
    /** Called with an event of the game: the name of its kind, the id of the player it happened to,
     * and its fields. @type {(type: string, id: number, values: object) => void} */
    this.onEvent = () => {};
    /** The names of the game's things and events, and of their fields, by 'thing 0' and the like.
     * @type {Map<string, { type: string, names: string[] }>} */
    this.kinds = new Map();
    /** Grows whenever a name is added or removed. */
    this.nameChanges = 0;
    /** How late the last flush was: the age of its oldest event in ms. Events of long ago, which were
     * sent late on purpose, do not count; -Infinity if it had no others. */
    this.late = -Infinity;
    /** @type {Map<number, Player>} By id. */
    this.players = new Map();
    /** @type {Map<string, Map<number, Slots>>} By 'col:row', and then by the source that gave the
     * slots. */
    this.slots = new Map();
    /** @type {Map<number, { seq: number, until: number }>} By id: the seqs of removed
     * players, and the node times, ms, until which they are kept. */
    this.removed = new Map();
    /** @type {Map<string, Thing[]>} By 'col:row': the things in the squares whose things were
     * sent. */
    this.things = new Map();
    /** Grows whenever something about the things changes. */
    this.thingChanges = 0;
    /** @type {Held | null} */
    this.held = null;
    /** @type {Map<string, { messages: number[], last: number }>} By 'col:row': the node times,
     * ms, of recent messages and of the last one. */
    this.squares = new Map();
    /** @type {{ col: number, row: number, at: number }[]} Squares that were
     * dropped recently, each at node time `at`, ms. */
    this.dropped = [];
  }

  /** Forget all players, things and squares, as on a new connection or a resync. */
  clear() {
    this.players.clear();
    this.slots.clear();
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

  /** Apply a message if it is a HELD, SNAPSHOT, FLUSH, THINGS or RESYNC; `now` is node time, ms. */
  apply(message, now) {
    if (message[0] === P.FLUSH) this.#flush(message, now);
    else if (message[0] === P.SNAPSHOT) this.#snapshot(message, now);
    else if (message[0] === P.THINGS) this.#lay(message);
    else if (message[0] === P.HELD) this.#hold(message, now);
    else if (message[0] === P.RESYNC) this.clear();
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
    for (const bySquare of [this.squares, this.things, this.slots]) {
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
    for (const [source, ...entry] of entries) {
      present.add(entry[1]);
      this.#enter(col, row, source, sent, entry, now, true);
    }
    for (const player of this.players.values()) {
      const here = player.square[0] === col && player.square[1] === row;
      if (here && player.transitUntil === null && !present.has(player.id)) this.#forget(player);
    }
  }

  #flush([, , written, batches, crowds = []], now) {
    this.late = -Infinity;
    for (const batch of batches) this.#batch(batch, written, now);
    for (const crowd of crowds) this.#crowd(crowd, written, now);
  }

  /** Apply a batch of a flush that was written at node time `written`, ms. Its last items are left out
   * if they are empty. */
  #batch([col, row, source, ago, tracks, others = [], , wide], written, now) {
    if (!this.holds(col, row)) return;
    const key = `${col}:${row}`, sent = written - ago;
    this.#count(key, now);
    const slots = this.slots.get(key)?.get(source);
    if (slots !== undefined) {
      this.#tracks(col, row, slots, sent, tracks, 1, now);
      if (wide !== undefined) this.#tracks(col, row, slots, sent, wide, 2, now);
    }
    for (const event of others) {
      const [kind, id, seq] = event;
      const known = this.players.get(id);
      if (kind === P.EVENT_ENTER) this.#enter(col, row, source, sent, event, now);
      else if (kind === P.EVENT_SAY) {
        if (known !== undefined) this.onSay(known, event[2]);
      } else if (this.kinds.has(`event ${kind}`)) {
        const { type, values } = this.#named(`event ${kind}`, event.slice(2));
        this.onEvent(type, id, values);
      } else if (kind === P.EVENT_LEAVE || kind === P.EVENT_GONE) {
        if (known === undefined || seq > known.seq) this.#leave(known, event, now);
      }
    }
    if (others.length > 0) this.late = Math.max(this.late, now - sent);
  }

  /** Apply records of tracks, each a slot of `slotBytes` (1 or 2) bytes and TRACK_BYTES more.
   * @param {Slots} slots @param {Uint8Array} bytes */
  #tracks(col, row, slots, sent, bytes, slotBytes, now) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const span = this.side * UNIT, middle = span / 2;
    const last = view.byteLength - slotBytes - TRACK_BYTES;
    for (let at = 0; at <= last; at += slotBytes + TRACK_BYTES) {
      // If nobody has the slot, its player's enter was lost. Were the seq of this track noted, the
      // enter would be ignored when it is repeated.
      const known = slots.get(slotBytes === 1 ? view.getUint8(at) : view.getUint16(at, true));
      if (known === undefined) continue;
      const rest = at + slotBytes;
      const newer = (view.getUint8(rest) - known.seq) & 255;
      if (newer === 0 || newer > 127) continue;
      if (known.rough) this.#noteExact(known);
      known.seq += newer;
      known.ack += (view.getUint8(rest + 1) - known.ack) & 255;
      const age = view.getInt16(rest + 10, true);
      this.#move(known, col * span + middle + view.getInt16(rest + 2, true),
        row * span + middle + view.getInt16(rest + 4, true),
        view.getInt16(rest + 6, true), view.getInt16(rest + 8, true), sent - age);
      if (age < TRACK_NEWS) this.late = Math.max(this.late, now - sent + age);
    }
  }

  /** Apply the moves of a crowd, as they were at node time `written`, ms. */
  #crowd([col, row, , ...bySource], written, now) {
    if (!this.holds(col, row)) return;
    const key = `${col}:${row}`;
    this.#count(key, now);
    for (let i = 0; i + 1 < bySource.length; i += 2) {
      const slots = this.slots.get(key)?.get(bySource[i]);
      if (slots !== undefined) this.#sketches(col, row, slots, bySource[i + 1], written);
    }
    this.late = Math.max(this.late, now - written);
  }

  /** Apply sketches of one source's players.
   * @param {Slots} slots @param {Uint8Array} bytes */
  #sketches(col, row, slots, bytes, written) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const span = this.side * UNIT;
    let slot = -1, at = -1;
    while (++at < view.byteLength - SKETCH_BYTES) {
      const higher = view.getUint8(at);
      slot += higher === 0 ? 255 : higher;
      if (higher === 0) continue;
      const first = at + 1, known = slots.get(slot);
      at += SKETCH_BYTES;
      if (known === undefined) continue;
      const marks = view.getUint8(first), newer = (marks - known.seq) & 15;
      if (newer === 0 || newer > 7) continue;
      known.seq += newer;
      known.ack += ((marks >> 4) - known.ack) & 15;
      known.rough = true;
      known.sketches++;
      this.#move(known, col * span + middleOf(view.getUint8(first + 1), span),
        row * span + middleOf(view.getUint8(first + 2), span),
        wayOf(view.getInt8(first + 3)), wayOf(view.getInt8(first + 4)), written);
    }
  }

  /** Note that a player's track is sent exactly again. */
  #noteExact(known) {
    known.rough = false;
    known.sketches++;
  }

  /** Learn the kinds of the game from a welcome. */
  learn(kinds) {
    this.kinds = new Map(kinds.map(([what, number, type, names]) => [`${what} ${number}`, { type, names }]));
  }

  /** Return the name of a kind, and these fields by their names. */
  #named(kind, fields) {
    const { type, names } = this.kinds.get(kind) ?? { type: '', names: [] };
    return { type, values: Object.fromEntries(names.map((name, i) => [name, fields[i]])) };
  }

  /** Replace everything that lies in a square. */
  #lay([, col, row, things]) {
    if (!this.holds(col, row)) return;
    const span = this.side * 1024;
    /** @type {Thing[]} */
    const known = [];
    for (const [kind, id, version, x, y, ...more] of things) {
      known.push({ kind, id, version, square: [col, row], x: x + col * span, y: y + row * span,
        ...this.#named(`thing ${kind}`, more) });
    }
    this.things.set(`${col}:${row}`, known);
    this.thingChanges++;
  }

  #leave(known, [kind, id, seq, toCol, toRow], now) {
    if (kind === P.EVENT_LEAVE && known !== undefined && this.holds(toCol, toRow)) {
      this.#freeSlot(known);
      known.seq = seq;
      known.square = [toCol, toRow];
      known.transitUntil = now + IN_TRANSIT_MS;
      return;
    }
    const before = this.removed.get(id);
    this.removed.delete(id);
    this.removed.set(id, { seq: Math.max(seq, before?.seq ?? 0), until: now + REMOVED_MS });
    if (known !== undefined) this.#forget(known);
  }

  #enter(col, row, source, sent, entry, now, again = false) {
    const [, id, seq, ack, name, dimmed, slot, x, y, dx, dy, age, look, pace, fields] = entry;
    const removed = this.removed.get(id);
    if (removed !== undefined && removed.until > now && seq <= removed.seq) return;
    let player = this.players.get(id);
    // In a snapshot an entry with the known seq counts too: it may say more.
    if (player !== undefined && (seq < player.seq || (seq === player.seq && !again))) return;
    if (player?.name !== name) this.nameChanges++;
    const mover = this.kinds.get(`mover ${fields[0]}`);
    const { type, values } = id >= P.FIRST_PERSON_ID || mover === undefined
      ? { type: '', values: this.#named('player 0', fields).values }
      : this.#named(`mover ${fields[0]}`, fields.slice(2));
    if (player === undefined) {
      player = { id, type, seq, ack, name, dimmed, look, pace, values, track: stand(0, 0, 0),
        square: [col, row], slot, slots: null, sketches: 0, rough: false, transitUntil: null };
      this.players.set(id, player);
    } else {
      this.#freeSlot(player);
      Object.assign(player, { type, seq, ack, name, dimmed, look, pace, values, square: [col, row], slot,
        transitUntil: null });
    }
    if (player.rough) this.#noteExact(player);
    player.slots = this.#slotsOf(col, row, source);
    player.slots.set(slot, player);
    const span = this.side * UNIT;
    this.#move(player, x + col * span, y + row * span, dx, dy, sent - age);
  }

  /** Return the slots that a source has given in a square.
   * @returns {Slots} */
  #slotsOf(col, row, source) {
    const key = `${col}:${row}`;
    const bySource = this.slots.get(key) ?? new Map();
    const slots = bySource.get(source) ?? new Map();
    this.slots.set(key, bySource);
    bySource.set(source, slots);
    return slots;
  }

  /** Detach a player from its slot, which may be another's by now, so that no track moves it. */
  #freeSlot(player) {
    if (player.slots?.get(player.slot) === player) player.slots.delete(player.slot);
    player.slots = null;
  }

  #move({ track, pace }, x, y, dx, dy, start) {
    track.x = x;
    track.y = y;
    track.dx = dx;
    track.dy = dy;
    track.start = start;
    track.duration = durationOf(dx, dy, pace, this.speed, this.diagonal);
  }

  #forget(player) {
    this.#freeSlot(player);
    this.players.delete(player.id);
    this.nameChanges++;
  }

  #count(key, now) {
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

/** Return the middle of one of the 256 parts of a square's side, which is `span` units long. */
function middleOf(part, span) {
  return Math.floor((2 * part + 1) * span / 512);
}

/** Return the units that a number of steps in a sketch stands for. */
function wayOf(steps) {
  const size = Math.abs(steps);
  return Math.sign(steps) * (size <= NEAR_STEPS ? size : NEAR_STEPS + (size - NEAR_STEPS) * COARSE_STEPS) * STEP_UNITS;
}
