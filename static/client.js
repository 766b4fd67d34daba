// The client of any game: it lets this window's player play, predicts that player's walk, and knows what is
// around: players, things, cells. It draws nothing, shows the player nothing, and knows no game.

import { Cells } from './cells.js';
import { Chunks, MADE } from './chunks.js';
import { Clock } from './clock.js';
import { Identity } from './identity.js';
import { forBrowser, forWindow } from './keep.js';
import { Net } from './net.js';
import { suggestName } from './names.js';
import * as P from './protocol.js';
import { Replica } from './replica.js';
import { GROUND, Terrain } from './terrain.js';
import { sayable } from './texts.js';
import { drawnAt, PACE_USUAL, UNIT } from './track.js';
import { Walk } from './walk.js';

const SAID_FOR = 6000;                    // ms for which what a player said is shown
const SIZE_MOST = 65535;                  // tiles: the longest side of a screen that can be sent
const LOOK_AFTER = 300;                   // ms without a change of the screen's size before it is sent to the server
const EXPIRE_EVERY = 1000;                // ms between two removals of what has expired
const REST_FOR = 1000;                    // ms for which an action that was asked for too often is not sent

/**
 * A player as it is drawn now. `x` and `y` are in tiles, `look` is the number that it chose, `values` are
 * what the game sends of it, and `saying` is what it said a moment ago, or null.
 * @typedef {{ id: number, name: string, look: number, own: boolean, x: number, y: number, values: Record<string, any>,
 * saying: string | null }} Player
 */

/** @typedef {{ type: string, id: string, x: number, y: number, values: Record<string, any> }} Thing */

/** @typedef {{ type: string, id: number, x: number, y: number, values: Record<string, any> }} Mover */

/** @typedef {{ name?: string, look?: number, near?: string | number | null, ticket?: string }} Guest  Who
 * joins: its name, if not the one that its window has; its look; an invitation, if the game has them; and
 * the ticket, if the game decides who may play. */

/** Functions that are called by name. */
class Listeners {
  constructor() {
    /** @type {Map<string, Function[]>} */
    this.all = new Map();
  }

  /** Call a function whenever something with this name happens. */
  add(name, call) {
    this.all.set(name, [...this.all.get(name) ?? [], call]);
  }

  /** Call all functions of a name. An error in one is shown in the console, and stops neither the others nor
   * what else has come from the server. */
  emit(name, ...what) {
    for (const call of this.all.get(name) ?? []) {
      try {
        call(...what);
      } catch (error) {
        reportError(error);
      }
    }
  }
}

/** A layer of the ground on which the game writes. */
class Layer {
  constructor(cells, number) {
    this.cells = cells;
    this.number = number;
  }

  /** Return the value of the tile at a place: 0 if nobody has written there, or if it is far away. */
  at(x, y) {
    return this.cells.value(this.number, Math.floor(x), Math.floor(y));
  }

  /** Call `each(x, y, value)` for each tile of the held squares with a value above 0. */
  each(each) {
    const { side } = this.cells;
    for (const [key, values] of this.cells.squares) {
      const [layer, col, row] = key.split(':').map(Number);
      if (layer !== this.number) continue;
      values.forEach((value, i) => {
        if (value !== 0) each(col * side + i % side, row * side + Math.floor(i / side), value);
      });
    }
  }
}

export class Client {
  /** `suggestLook` returns the number of a look for a new player. */
  constructor(suggestLook = () => 0) {
    this.clock = new Clock();
    this.replica = new Replica();
    this.layers = new Cells();
    this.walk = new Walk((x, y) => this.blocked(x, y));
    /** The id of this page's player, or 0 while there is none. */
    this.id = 0;
    /** @type {Guest} Who joins. */
    this.guest = {};
    /** @type {Terrain | Chunks | null} Null where everybody can walk everywhere. */
    this.ground = null;
    /** How the game lets its players walk: "free", "straight" or "none". */
    this.walking = 'free';
    /** @type {[string, number, any, string[]][]} What the game has declared, as the welcome lists it. */
    this.kinds = [];
    this.chat = 'on';
    this.phrases = [];
    this.ownSeq = -1;                     // of the last event that the walk was compared to
    /** @type {import('./replica.js').Player | undefined} This page's player as last known. */
    this.own = undefined;
    this.goes = false;                    // false if the last intent was to stand
    /** @type {[number, number]} The size of the screen in tiles. */
    this.size = [0, 0];
    /** @type {number | undefined} */
    this.sizing = undefined;
    /** @type {Map<string, number>} By action: when it was last asked for, and (`rests`) until when it is not
     * sent, in performance time, ms. */
    this.asked = new Map();
    this.rests = new Map();
    this.number = 0;                      // of the last action whose effect was shown at once
    /** @type {Map<number, () => void>} By their numbers: what takes back the effects of actions that are not
     * answered yet. */
    this.undos = new Map();
    /** @type {Map<number, { text: string, until: number }>} */
    this.said = new Map();
    this.listeners = new Listeners();
    const { listeners } = this, { replica } = this;
    /**
     * What a page can listen to. Each takes a function; `message` and `event` take a name before it. `message` gets
     * the fields, and `event` the player, if it is known, and the values. `said` gets the player and the text,
     * `error` a code and a sentence, and `line` what the player should read about its connection, or "".
     * `begun` gets the welcome; `applied` each message of the server, after it was applied; `lost` a sentence that says why
     * the connection was lost, or null; `waiting` the ms until the next attempt, 0 during one; `quiet` whether
     * an answer is overdue; `ended` a sentence that says why nobody plays here any more, or null if another
     * window does. `leapt` is called when the player is suddenly elsewhere, `held` when keys and fingers that
     * are held are to be obeyed again, and `moved` when another machine, which knows less of it, serves it now.
     */
    this.on = {
      message: (name, call) => listeners.add(`message ${name}`, call),
      messages: (call) => listeners.add('message', call),
      event: (name, call) => listeners.add(`event ${name}`, call),
      events: (call) => listeners.add('event', call),
      said: (call) => listeners.add('said', call),
      error: (call) => listeners.add('error', call),
      line: (call) => listeners.add('line', call),
      begun: (call) => listeners.add('begun', call),
      applied: (call) => listeners.add('applied', call),
      lost: (call) => listeners.add('lost', call),
      waiting: (call) => listeners.add('waiting', call),
      quiet: (call) => listeners.add('quiet', call),
      ended: (call) => listeners.add('ended', call),
      leapt: (call) => listeners.add('leapt', call),
      held: (call) => listeners.add('held', call),
      moved: (call) => listeners.add('moved', call),
      frame: (call) => listeners.add('frame', call),
    };
    /** @type {Record<string, (...fields: any[]) => boolean>} The actions of the game, by their names. */
    this.do = new Proxy({}, {
      get: (_, action) => (...fields) => this.#ask(action, fields),
    });
    replica.onSay = ({ id }, text) => {
      const now = this.clock.now();
      for (const [other, { until }] of this.said) if (until < now) this.said.delete(other);
      this.said.set(id, { text, until: now + SAID_FOR });
      listeners.emit('said', this.player(id), text);
    };
    replica.onEvent = (type, id, values) => {
      listeners.emit(`event ${type}`, this.player(id), values, id);
      listeners.emit('event', type, this.player(id), values);
    };
    const url = new URL('ws', new URL('.', location.href.split('#')[0]));
    url.protocol = url.protocol.replace('http', 'ws');
    this.identity = new Identity(forBrowser, forWindow, otherWindows(), suggestLook);
    this.net = new Net(url.href, this.clock, this.identity, {
      welcome: (message, heard, was) => this.#welcome(message, heard, was),
      // The other machine does not know the number of the last intent.
      moved: () => this.go(this.walk.arrived ? null : this.walk.intent),
      message: (message) => this.#take(message),
      lost: (why) => {
        this.walk.halt(this.clock.now());
        this.#undo(this.undos.keys());
        // A server that was killed has sent nobody where its players were.
        if (this.id !== 0) this.net.hello.place = unitsAt(...this.walk.drawn(this.clock.now()));
        listeners.emit('lost', why);
      },
      refused: (code, sentence) => {
        this.identity.end();
        this.#end(sentence);
      },
      takenOver: () => this.#end(null),
      error: (code, sentence) => {
        const me = replica.players.get(this.id);
        if ((code === 'flood' || code === 'walk') && me !== undefined && me.ack !== this.walk.number) {
          this.walk.refused(me);
        }
        if (code === 'flood') this.#rest();
        listeners.emit('error', code, sentence);
      },
      quiet: (is) => {
        if (is) this.walk.freeze(this.clock.now());
        else if (this.walk.thaw(this.clock.now())) listeners.emit('leapt');
        listeners.emit('quiet', is);
      },
      waiting: (ms) => listeners.emit('waiting', ms),
    });
    // By a timer, because a hidden page has no frames.
    setInterval(() => replica.expire(this.clock.now()), EXPIRE_EVERY);
  }

  /** Begin to play on a screen of this size in tiles: as this browser's player, unless another window plays it. What
   * `guest` does not say is as `this.guest` has it.
   * @param {Guest} guest */
  async open(guest, width, height) {
    const { identity } = this, { name = '', look = 0, near = null, ticket } = { ...this.guest, ...guest };
    this.look(width, height);
    await identity.ready;
    identity.begin();
    identity.name = sayable(name, P.NAME_LIMIT) || name || sayable(identity.name, P.NAME_LIMIT) || suggestName();
    const [columns, rows] = this.size;
    clearTimeout(this.sizing);            // the hello has it
    this.net.open({ name: identity.name, look, width: columns, height: rows, near, place: null, ticket });
  }

  /** Leave the world for good: the next player in this window is a new one. */
  leave() {
    this.net.leave();
    this.#undo(this.undos.keys());
    this.identity.end();
    this.identity.anew();
    this.walk.halt(this.clock.now());
    this.replica.clear();
    this.id = 0;
    this.own = undefined;
  }

  /** Set the size of the screen in tiles; it is sent to the server once it has not changed for a moment. */
  look(width, height) {
    const whole = [width, height].map((n) => Math.min(Math.max(Math.ceil(n), 1), SIZE_MOST));
    const size = /** @type {[number, number]} */ (whole);
    if (size.every((n, i) => n === this.size[i])) return;
    this.size = size;
    clearTimeout(this.sizing);
    this.sizing = setTimeout(() => {
      const [columns, rows] = this.size;
      Object.assign(this.net.hello, { width: columns, height: rows });
      if (this.net.playing) this.net.send(P.VIEWPORT, columns, rows);
    }, LOOK_AFTER);
  }

  // What is around.

  /** This page's player, or null until the server has first sent it. */
  get me() {
    return this.player(this.id);
  }

  /** The speed of this page's player in tiles per second. */
  get speed() {
    return this.replica.speed * this.walk.pace / PACE_USUAL / UNIT;
  }

  /** Return a player as it is now, or null if it is not near.
   * @returns {Player | null} */
  player(id) {
    const own = id === this.id, now = this.clock.now();
    const known = this.replica.players.get(id) ?? (own ? this.own : undefined);
    if (known === undefined) return null;
    const [x, y] = own ? this.walk.drawn(now) : drawnAt(known.track, now);
    const saying = this.said.get(id);
    return { id, name: known.name, look: known.look, own, x, y, values: known.values,
      saying: saying !== undefined && saying.until > now ? saying.text : null };
  }

  /** All players that are near, as they are now.
   * @returns {Player[]} */
  get players() {
    const ids = [...this.replica.players.values()].filter(({ type }) => type === '').map(({ id }) => id);
    return /** @type {Player[]} */ (ids.map((id) => this.player(id)));
  }

  /** Return the movers that are near, as they are now: all, or only those of the kind with this name.
   * @returns {Mover[]} */
  movers(type = '') {
    const now = this.clock.now();
    return [...this.replica.players.values()]
      .filter((one) => one.type !== '' && (type === '' || one.type === type))
      .map(({ type: kind, id, track, values }) => {
        const [x, y] = drawnAt(track, now);
        return { type: kind, id, x, y, values };
      });
  }

  /** Return the things that lie near: all, or only those of the kind with this name.
   * @returns {Thing[]} */
  things(type = '') {
    return [...this.replica.things.values()].flat().filter((thing) => type === '' || thing.type === type)
      .map(({ type: kind, id, x, y, values }) => ({ type: kind, id, x: x / UNIT, y: y / UNIT, values }));
  }

  /** Return a layer of cells, by its name in the game's class. */
  cells(name) {
    const kind = this.kinds.find(([what, , each]) => what === 'cells' && each === name);
    return new Layer(this.layers, kind === undefined ? -1 : kind[1]);
  }

  /** Return whether the tile at a place is known to be one that nobody can enter. */
  blocked(x, y) {
    const column = Math.floor(x), row = Math.floor(y);
    return this.layers.blocked(column, row) || (this.ground !== null && this.ground.blocked(column, row));
  }

  // What the player does.

  /** Follow an intent as of `ago` ms ago (200 at most); null means to stop.
   * @param {import('./track.js').Intent} intent */
  go(intent, ago = 0) {
    const numbers = intent === null ? [] : 'goal' in intent ? intent.goal : intent.heading;
    if (!numbers.every(Number.isFinite)) throw new TypeError(`cannot go to ${numbers}: give two numbers`);
    if (!this.net.playing) return;
    this.goes = intent !== null;
    const t = Math.floor(this.clock.now() - ago), number = this.walk.follow(intent, t);
    if (intent !== null && 'goal' in intent) this.net.act(P.GO, number, t, ...intent.goal);
    else this.net.act(P.WALK, number, t, ...(intent?.heading ?? [0, 0]));
  }

  /** Walk to a place, in tiles. */
  goTo(x, y) {
    this.go({ goal: unitsAt(x, y) });
  }

  /** Have another name, or another look, from now on, also for later visits. */
  appear(name, look = this.identity.look) {
    // The server says what is wrong with a name.
    const { identity, net } = this, wanted = sayable(name, P.NAME_LIMIT) || name || identity.name;
    if (!net.playing || (wanted === identity.name && look === identity.look)) return;
    Object.assign(identity, { name: wanted, look });
    Object.assign(net.hello, { name: wanted, look });
    net.act(P.APPEAR, wanted, look);
  }

  /** Say something to everybody near. */
  say(text) {
    const line = sayable(text);
    if (line !== '') this.net.act(P.SAY, line);
  }

  /** Ask for an action and return true; or return false if it was asked for too often a moment ago. If the last
   * field is `{ effect, undo }`, `effect` is called at once, and `undo` if the action is refused or no answer can
   * come any more; then false is returned while there is no connection, too. */
  #ask(action, fields) {
    const now = performance.now(), last = fields.at(-1), shows = typeof last?.effect === 'function';
    if ((this.rests.get(action) ?? 0) > now || (shows && !this.net.playing)) return false;
    this.asked.set(action, now);
    if (!shows) this.net.act(P.DO, action, fields);
    else {
      this.undos.set(++this.number, last.undo);
      this.net.act(P.ASK, this.number, action, fields.slice(0, -1));
      last.effect();
    }
    return true;
  }

  /** Take back the effects of the actions with these numbers that are not answered yet. */
  #undo(numbers) {
    // A function of the page may show another one.
    for (const number of [...numbers]) {
      const undo = this.undos.get(number);
      this.undos.delete(number);
      try {
        undo?.();
      } catch (error) {
        reportError(error);
      }
    }
  }

  /** Do not send the last moment's actions for a while: the server sends away a client that asks for too much. */
  #rest() {
    const now = performance.now();
    for (const [action, at] of this.asked) if (at > now - REST_FOR) this.rests.set(action, now + REST_FOR);
  }

  /** Advance to the next frame: move the predicted walk on to now, and forget what has expired. */
  advance() {
    const now = this.clock.now();
    if (this.id === 0) return;
    this.walk.advance(now);
    this.replica.expire(now);
    if (this.ground instanceof Chunks) this.ground.look(...this.walk.drawn(now));
    if (this.net.playing && !this.walk.arrived) this.net.stir();
    this.listeners.emit('frame', now);
  }

  #welcome(welcome, heard, was) {
    const [, , id, now, seed, x, y, side, speed, diagonal, , , , , ground, kinds] = welcome, { replica } = this, of = (what) => kinds.find(([sort]) => sort === what)?.[2];
    this.#undo(this.undos.keys());
    if (id !== this.id) this.own = undefined;
    this.id = id;
    this.ownSeq = -1;
    this.kinds = kinds;
    this.clock.begin(now, heard);
    this.clock.ahead = of('clock') ?? 0;
    this.chat = of('chat') ?? 'on';
    this.phrases = kinds.find(([what]) => what === 'chat')?.[3] ?? [];
    this.walking = of('walking') ?? 'free';
    this.#setGround(ground, seed, of('ground'));
    replica.learn(kinds);
    replica.clear();
    this.layers.learn(kinds);
    this.layers.squares.clear();
    Object.assign(replica, { side, speed, diagonal });
    if (was !== null) {
      this.walk.shift(Math.round(this.clock.now() - was));
      return this.listeners.emit('moved');
    }
    this.walk.begin(x, y, Math.floor(this.clock.now()));
    this.listeners.emit('begun', welcome);
  }

  /** Use the ground that a welcome describes; if it is the same as before, keep what is known of it. */
  #setGround(ground, seed, stamp) {
    const { ground: known } = this;
    if (ground === GROUND && known instanceof Terrain && known.seed === seed >>> 0) return;
    if (ground === MADE && known instanceof Chunks && known.stamp === stamp) return;
    this.ground = ground === GROUND ? new Terrain(seed) : ground === MADE ? new Chunks(stamp) : null;
  }

  #take(message) {
    const { replica, walk, clock } = this;
    if (message[0] === P.MESSAGE) {
      this.listeners.emit(`message ${message[1]}`, ...message[2]);
      this.listeners.emit('message', message[1], message[2]);
    }
    if (message[0] === P.ANSWER) {
      if (message[2]) this.undos.delete(message[1]);
      else this.#undo([message[1]]);
    }
    // Another worker, which serves the player from now on, knows nothing of what was asked for.
    if (message[0] === P.RESYNC) this.#undo(this.undos.keys());
    this.layers.apply(message, replica.side);
    const walls = message[0] === P.CELLS && this.layers.solid.has(message[3]);
    if (walls) walk.replan(clock.now());
    replica.apply(message, clock.now());
    const me = replica.players.get(this.id);
    if (me !== undefined && me.seq !== this.ownSeq) {
      this.ownSeq = me.seq;
      this.own = me;
      if (walk.reconcile(me, clock.now())) this.listeners.emit('leapt');
    }
    // The server ended the walk after receiving nothing for a while, or a wall that barred it may be gone:
    // obey again what is still held.
    if (walk.ended || (walls && walk.arrived)) this.listeners.emit('held');
    walk.ended = false;
    this.listeners.emit('applied', message);
  }

  #end(why) {
    this.walk.halt(this.clock.now());
    this.#undo(this.undos.keys());
    this.listeners.emit('ended', why);
  }
}

/** Return a channel to the other windows of this browser, or null: a page that may store nothing has none. */
function otherWindows() {
  try {
    return new BroadcastChannel('flatlands');
  } catch {
    return null;
  }
}

/** @returns {import('./track.js').Pair} */
export function unitsAt(x, y) {
  return [Math.floor(x * UNIT), Math.floor(y * UNIT)];
}
