// The session of the own player: joins under a name, takes what the server sends, and says so when
// the connection is lost. What the player does is in controls.js.

import { forBrowser, forWindow } from './keep.js';
import { Net } from './net.js';
import { suggestName } from './names.js';
import * as P from './protocol.js';
import { clearScene, cutCamera, noteLateness, showSaying } from './scene.js';
import { Terrain } from './terrain.js';
import { UNIT } from './track.js';

/** @typedef {import('./hud/hud.js').Hud} Hud */
/** @typedef {import('./state.js').State} State */

const VIEWPORT_AFTER = 250;               // ms without a resize before the server is told
const NAME_KEY = 'flatlands.name', SECRET_KEY = 'flatlands.key';
const SECRET = /^[0-9a-f]{32}$/, SECRET_BYTES = 16;
// Errors that the player is told of. That a gem is gone or too far away the player sees.
const TOLD = new Set(['flood', 'say', 'crowded', 'muted', 'notice', 'store', 'cairn']);
const INVITATION_LIMIT = 512;             // characters

export class Session {
  /** Show the title. `walkOn()` is called when a direction that is still held shall be sent again.
   * @param {State} state @param {Hud} hud @param {() => void} walkOn */
  constructor(state, hud, walkOn) {
    this.state = state;
    this.hud = hud;
    this.walkOn = walkOn;
    // Relative to the page's address: a proxy may have put it under a path of a larger site.
    this.net = new Net(new URL('ws', location.href.replace(/^http/, 'ws')).href, state.clock, this);
    /** @type {string | number | null} The invitation in the page's address. */
    this.near = invitedBy();
    this.keyed = true;                    // false at a server that knows no keys
    this.ownSeq = -1;                     // of the last own event that the walk was compared to
    /** @type {number | undefined} */
    this.viewportTimer = undefined;
    /** @type {(text: string) => void} Called with the invitation that was asked for. */
    this.onInvitation = () => {};
    /** @type {(id: string, version: number, score: import('./hud/board.js').Score) => void} Called
     * when a gem is the own player's. */
    this.onFound = () => {};
    /** Called when nothing can be picked up or left. */
    this.onStoreAway = () => {};
    state.replica.onSay = (player, text) => this.#said(player, text);
    hud.title(savedName(), this.near === null ? null : 'a friend');
  }

  /** Join under a name. */
  start(name) {
    forWindow.set(NAME_KEY, name);
    forBrowser.set(NAME_KEY, name);
    this.hud.banner('Connecting …', 'info');
    this.net.open(this.#hello());
  }

  /** The viewport has changed: tell the server once it stays the same for a moment. */
  viewportChanged() {
    clearTimeout(this.viewportTimer);
    this.viewportTimer = setTimeout(() => {
      const { width, height } = this.#hello();
      Object.assign(this.net.hello, { width, height });
      if (this.net.playing) this.net.send(P.VIEWPORT, width, height);
    }, VIEWPORT_AFTER);
  }

  /** Ask the server for an invitation, and return a link with it once it has come.
   * @returns {Promise<string>} */
  invitation() {
    const link = new Promise((resolve) => {
      this.onInvitation = (text) => resolve(new URL(`?near=${text}`, location.href).href);
    });
    this.net.act(P.INVITE);
    return link;
  }

  #hello() {
    const { w, h } = this.state.viewport;
    return { name: savedName(), width: Math.ceil(w), height: Math.ceil(h), near: this.near };
  }

  /** @param {import('./replica.js').Player} player */
  #said({ id, name }, text) {
    const { state } = this;
    if (state.muted.has(id)) return;
    showSaying(state, id, text, performance.now());
    this.hud.log(state.names.get(id) ?? name, id, text);
  }

  // Called by Net, for the connection.

  welcome([, , id, now, seed, x, y, side, speed, diagonal, lead, drop]) {
    const { state, hud } = this;
    if (seed !== state.terrain.seed) state.terrain = new Terrain(seed);
    const first = state.ownId === null;
    state.ownId = id;
    state.linked = true;
    state.margins = { lead: lead / UNIT, drop: drop / UNIT };
    Object.assign(state.replica, { side, speed, diagonal });
    state.replica.clear();
    this.ownSeq = -1;
    this.near = null;
    state.wayBack = false;                // another server does not know it
    clearScene(state);
    cutCamera(state);
    state.clock.sample(performance.now(), now, performance.now());
    state.walk.begin(x, y, now);
    if (this.keyed) this.net.send(P.KEY, ownSecret());
    history.replaceState(null, '', location.pathname);
    hud.banner(null);
    hud.play();
    if (first) {
      hud.hint(matchMedia('(pointer: coarse)').matches
        ? 'Walk with the stick, or touch the place where you want to go.'
        : 'Walk with the arrow keys or WASD, or click where you want to go.');
      hud.focusWorld();
    }
    this.walkOn();
  }

  message(message) {
    const { state } = this, now = state.clock.now();
    state.replica.apply(message, now);
    if (message[0] === P.FLUSH) noteLateness(state, state.replica.late);
    else if (message[0] === P.INVITATION) this.onInvitation(message[1]);
    else if (message[0] === P.FOUND) this.#found(message);
    else if (message[0] === P.BOARD) this.#board(message);
    else if (message[0] === P.THINGS) this.#toldOfThings();
    else if (message[0] === P.LINK) {
      state.linked = message[1];
      this.#tellLine();
    }
    this.#reconcile(now);
  }

  error(code, sentence) {
    const { own, walk } = this.state;
    if (code === 'flood' && own !== undefined) walk.refused(own);
    if (code === 'store') this.onStoreAway();
    if (TOLD.has(code)) this.hud.toast(sentence);
  }

  quiet(is) {
    const { clock, walk } = this.state;
    if (is) walk.freeze(clock.now());
    else if (walk.thaw(clock.now())) cutCamera(this.state);
    this.#tellLine();
  }

  lost(why) {
    this.#rest();
    this.hud.banner(why === null ? 'Connection lost.' : sentenceOf(why), 'warn',
      { label: 'Try now', onClick: () => this.net.connect() });
  }

  waiting(ms) {
    this.hud.countdown(ms === 0 ? 'Trying …' : `Next try in ${Math.ceil(ms / 1000)} s`);
  }

  refused(code, sentence) {
    const { state, hud } = this;
    // An older server knows no keys. The player can go on without one.
    if (code === 'kind') this.keyed = false;
    this.#rest();
    state.ownId = null;
    state.replica.clear();
    clearScene(state);
    hud.banner(null);
    hud.title(savedName());
    hud.titleError(sentence);
  }

  takenOver() {
    this.#rest();
    this.hud.banner('You went on playing in another window.', 'info', {
      label: 'Play here',
      onClick: () => {
        this.hud.banner(null);
        this.net.open(this.#hello());
      },
    });
  }

  #toldOfThings() {
    this.hud.showLasting();
    if (this.keyed) return;
    this.keyed = true;                    // this server knows keys
    this.net.send(P.KEY, ownSecret());
  }

  #found([, id, version, gems, place, of]) {
    this.onFound(id, version, { gems, place, of });
  }

  #board([, gems, place, of, top]) {
    this.hud.showLasting();
    this.hud.showBoard({ gems, place, of }, top);
  }

  /** Correct the predicted walk by what the server says of the own player, if that is new. */
  #reconcile(now) {
    const { state } = this, { own, walk } = state;
    if (own === undefined || own.seq === this.ownSeq) return;
    this.ownSeq = own.seq;
    if (walk.reconcile(own, now)) cutCamera(state);
    if (!walk.ended) return;
    // The server ended the walk, because it had received nothing for a while. Go on with what is
    // still held.
    walk.ended = false;
    state.goal = null;
    this.walkOn();
  }

  /** Show in the banner what is wrong with the connection, if anything is. */
  #tellLine() {
    const { hud } = this;
    if (this.net.quiet) hud.banner('No answer from the server …', 'warn');
    else if (!this.state.linked) {
      hud.banner('This server has lost its link to the others: you see only some of the players.',
        'warn');
    } else hud.banner(null);
  }

  /** The connection is gone: the own player stops. */
  #rest() {
    const { clock, walk } = this.state;
    walk.halt(clock.now());
    this.state.goal = null;
  }
}

/** Return the name used last in this window, or else in this browser, or else a new one. */
export function savedName() {
  return forWindow.get(NAME_KEY) ?? forBrowser.get(NAME_KEY) ?? suggestName();
}

/** Return the secret by which this browser's gems are counted; the first time it is made. */
function ownSecret() {
  const known = forBrowser.get(SECRET_KEY);
  if (known !== null && SECRET.test(known)) return known;
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const made = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  forBrowser.set(SECRET_KEY, made);
  return made;
}

/** Return the invitation in the page's address, or null. In older links it is a player's id. */
function invitedBy() {
  const text = new URLSearchParams(location.search).get('near');
  if (text === null || text.length > INVITATION_LIMIT) return null;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Return the server's reason as a sentence. */
function sentenceOf(reason) {
  return reason.charAt(0).toUpperCase() + reason.slice(1) + '.';
}
