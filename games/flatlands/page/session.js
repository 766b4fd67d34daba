// The session of the own player: joins under a name, takes what the server sends, and says so when
// the connection is lost. What the player does is in controls.js.

import { EMOTES, isEmote, showEmote } from './emotes.js';
import { KEEP_IT, lineOf, takeIt } from './ember.js';
import { isComputer, isDeer } from './faces.js';
import { forBrowser } from './keep.js';
import { Net } from './net.js';
import * as P from './protocol.js';
import { clearScene, cutCamera, noteLateness, showSaying } from './scene.js';
import { GROUND, Terrain } from './terrain.js';
import { UNIT } from './track.js';

/** @typedef {import('./hud/hud.js').Hud} Hud */
/** @typedef {import('./identity.js').Identity} Identity */
/** @typedef {import('./replica.js').Player} Player */
/** @typedef {import('./state.js').State} State */

const VIEWPORT_AFTER = 250;               // ms without a resize before the server is told
// Errors that the player is told of. That a gem is gone or too far away the player sees.
const TOLD = new Set(['flood', 'say', 'crowded', 'muted', 'notice', 'store', 'cairn', 'name']);
const INVITATION_LIMIT = 512;             // characters
const LOOKS_ABOUT = 45000;                // ms after joining, before which the ember is not explained
const EMBER_KEY = 'flatlands.ember';      // kept once the player was told what to do about it
const WALKED_KEY = 'flatlands.walked';    // kept once the player has walked

export class Session {
  /** Show the title. `walkOn()` is called when a direction that is still held shall be sent again.
   * @param {State} state @param {Hud} hud @param {Identity} identity @param {() => void} walkOn */
  constructor(state, hud, identity, walkOn) {
    this.state = state;
    this.hud = hud;
    this.identity = identity;
    this.walkOn = walkOn;
    // Relative to the page's address: a proxy may have put it under a path of a larger site.
    this.net = new Net(new URL('ws', location.href.replace(/^http/, 'ws')).href, state.clock, identity,
      this);
    /** @type {string | number | null} The invitation in the page's address. */
    this.near = invitationHere();
    this.lasts = false;                   // true if the server keeps what lasts
    this.otherGround = false;             // true at a server whose ground is not this page's
    this.joinedAt = 0;                    // performance time, ms
    this.walked = false;                  // true once the player has walked in this window
    this.ownSeq = -1;                     // of the last own event that the walk was compared to
    /** @type {number | undefined} */
    this.viewportTimer = undefined;
    /** @type {(text: string) => void} Called with the invitation that was asked for. */
    this.onInvitation = () => {};
    /** @type {(id: string, version: number, score: import('./hud/board.js').Score) => void} Called
     * when a gem is the own player's. */
    this.onFound = () => {};
    /** @type {(part: [number, number], place: number, of: number) => void} Called when the own player
     * is the `place`th of the finders of a part's landmark. */
    this.onFinders = () => {};
    /** @type {(message: any[]) => boolean} Called with each message; returns whether it was about the
     * map of everybody. */
    this.onMap = () => false;
    /** Called when nothing can be picked up or left. */
    /** @type {(player: Player, emote: number) => void} Called when a player says something (0) or
     * makes an emote. */
    this.onHeard = () => {};
    /** Called when a wave of the own player was returned, or returned another one. */
    this.onSpark = () => {};
    /** @type {(has: boolean) => void} Called when the own player gets the ember, or is rid of it. */
    this.onEmber = () => {};
    state.replica.onSay = (player, text) => this.#said(player, text);
    state.replica.onEvent = (type, id, values) => this.#happened(type, id, values);
    this.#showTitle();
    identity.onOther = () => this.#showTitle();
  }

  #showTitle() {
    const { name, look } = this.identity;
    this.hud.title(name, look, this.near === null ? null : hostName());
  }

  /** Join under a name and with a look. */
  async start(name, look) {
    const { identity, hud } = this;
    hud.banner('Connecting …', 'info');
    await identity.ready;
    identity.begin();
    Object.assign(identity, { name, look });
    this.net.open(this.#hello());
  }

  /** The player has walked: it knows how to. */
  hasWalked() {
    if (!this.walked) forBrowser.set(WALKED_KEY, 'yes');
    this.walked = true;
  }

  /** Have another name or look from now on. */
  appear(name, look) {
    const { identity, net } = this;
    if (name === identity.name && look === identity.look) return;
    Object.assign(identity, { name, look });
    Object.assign(net.hello, { name, look });
    net.act(P.APPEAR, name, look);
  }

  /** Leave the world for good, and begin as somebody else. */
  startAnew() {
    this.#rest();
    this.net.leave();
    this.identity.anew();
    this.#left();
    this.#showTitle();
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
      const by = encodeURIComponent(this.identity.name);
      this.onInvitation = (text) =>
        resolve(new URL(`?near=${text}&by=${by}`, location.href).href);
    });
    this.net.act(P.INVITE);
    return link;
  }

  #hello() {
    const { w, h } = this.state.viewport;
    const { name, look } = this.identity;
    return { name, look, width: Math.ceil(w), height: Math.ceil(h), near: this.near, place: null };
  }

  /** @param {Player} player */
  #said(player, text) {
    const { state } = this, { id, name, look } = player;
    if (state.muted.has(id)) return;
    if (!showSaying(state, id, text, performance.now())) return;
    const shown = state.names.get(id) ?? name;
    this.hud.log(shown, id, look, text);
    if (id !== state.ownId) this.hud.callBack(`${shown} speaks`);
    this.onHeard(player, 0);
  }

  /** @param {Player} player */
  #emoted(player, emote) {
    const { state } = this, { id } = player;
    if (state.muted.has(id) || isDeer(id) || !isEmote(emote)) return;
    const other = showEmote(state, id, emote, performance.now());
    this.onHeard(player, emote);
    const name = (who) => state.names.get(who) ?? '';
    if (other !== null && (id === state.ownId || other === state.ownId)) {
      this.onSpark();
      this.hud.tell(`You and ${name(id === state.ownId ? other : id)} wave to each other: a spark!`);
    } else if (id !== state.ownId && !isComputer(id)) {
      const line = `${name(id)} ${EMOTES[emote].others}`;
      this.hud.tell(line + '.');
      this.hud.callBack(line);
    }
  }

  /** Something has happened to a player: an Emote, or what is told of the Ember. */
  #happened(type, id, values) {
    const player = this.state.replica.players.get(id);
    if (type === 'Ember') this.#embers([id, values.passes, values.age, values.before, values.kept]);
    else if (type === 'Emote' && player !== undefined) this.#emoted(player, values.emote);
  }

  /** Take what is told of the ember, and tell the player if it is about it. */
  #embers(told) {
    const { state, hud } = this, [id] = told, now = performance.now();
    const hadIt = state.ember.carrier(now) === state.ownId;
    if (!state.ember.take(told, now)) return;
    const name = (who) => state.names.get(who) ?? '', line = lineOf(told, state.ownId, name);
    if (hadIt || id === state.ownId) this.onEmber(id === state.ownId);
    if (id === state.ownId) hud.toast(KEEP_IT);
    else if (line !== null) hud.toast(line);
    else if (now - this.joinedAt > LOOKS_ABOUT && name(id) !== ''
      && forBrowser.get(EMBER_KEY) === null) {
      forBrowser.set(EMBER_KEY, 'told');
      hud.toast(takeIt(name(id)));
    }
  }

  // Called by Net, for the connection.

  welcome([, , id, now, seed, x, y, side, speed, diagonal, lead, drop, , , ground, kinds]) {
    const { state, hud } = this;
    if (seed !== state.terrain.seed) state.terrain = new Terrain(seed);
    const first = state.ownId === null;
    state.ownId = id;
    state.linked = true;
    state.margins = { lead: lead / UNIT, drop: drop / UNIT };
    Object.assign(state.replica, { side, speed, diagonal });
    state.replica.learn(kinds);
    state.replica.clear();
    state.ember.clear();
    this.ownSeq = -1;
    this.near = null;
    state.wayBack = false;                // another server does not know it
    clearScene(state);
    cutCamera(state);
    state.clock.begin(now, performance.now());
    state.walk.begin(x, y, now);
    this.net.send(P.DO, 'scores', []);
    history.replaceState(null, '', location.pathname);
    this.otherGround = ground !== undefined && ground !== GROUND;
    this.#tellLine();
    hud.play();
    if (first) {
      this.joinedAt = performance.now();
      if (forBrowser.get(WALKED_KEY) === null) {
        hud.hint('Walk with the arrow keys, or click where you want to go.',
          'Walk with the stick, or touch a place.');
      }
      hud.focusWorld();
    }
    this.walkOn();
  }

  message(message) {
    const { state } = this, now = state.clock.now();
    if (this.onMap(message)) return;
    state.replica.apply(message, now);
    if (message[0] === P.FLUSH) noteLateness(state, state.replica.late);
    else if (message[0] === P.INVITATION) this.onInvitation(message[1]);
    else if (message[0] === P.TOLD) this.#told(message[1], message[2]);
    else if (message[0] === P.HOST) this.#hosted(message);
    else if (message[0] === P.THINGS) this.#showLasting();
    else if (message[0] === P.LINK) {
      state.linked = message[1];
      this.#tellLine();
    }
    this.#reconcile(now);
  }

  error(code, sentence) {
    const { own, walk } = this.state;
    if (code === 'flood' && own !== undefined && own.ack !== walk.number) walk.refused(own);
    // Before there is a player, the title tells it.
    if (!TOLD.has(code) || own === undefined) return;
    // A server without a store has nothing that could be taken.
    if (code === 'store' && !this.lasts) return;
    this.hud.toast(sentenceOf(sentence));
    this.hud.keepLine();
  }

  quiet(is) {
    const { clock, walk } = this.state;
    if (is) walk.freeze(clock.now());
    else if (walk.thaw(clock.now())) cutCamera(this.state);
    this.#tellLine();
  }

  lost(why) {
    this.#rest();
    const { ownId, walk } = this.state;
    // A server that was killed has told nobody where its players were.
    if (ownId !== null) this.net.hello.place = [walk.track.x, walk.track.y];
    this.hud.banner(why === null ? 'Connection lost.' : sentenceOf(why), 'warn',
      { label: 'Try now', onClick: () => this.net.connect() });
  }

  waiting(ms) {
    this.hud.countdown(ms === 0 ? 'Trying …' : `Next try in ${Math.ceil(ms / 1000)} s`);
  }

  refused(code, sentence) {
    const { hud } = this;
    this.#rest();
    this.#left();
    this.#showTitle();
    hud.titleError(sentence);
  }

  /** Nobody plays any more. */
  #left() {
    const { state } = this;
    this.identity.end();
    state.ownId = null;
    state.replica.clear();
    clearScene(state);
    this.hud.banner(null);
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

  #hosted([, name, here]) {
    const gone = `${name} is not here any more. You are where you were invited.`;
    if (!here) this.hud.hint(gone);
    else {
      this.hud.hint(`Here you are, beside ${name}. Press 1 to wave.`,
        `Here you are, beside ${name}. Touch the hand to wave.`);
    }
  }

  #told(name, [...fields]) {
    if (name === 'found') {
      const [id, version, gems, place, of] = fields;
      this.onFound(id, version, { gems, place, of });
    } else if (name === 'board') {
      const [gems, place, of, top, longest] = fields;
      this.#showLasting();
      this.hud.showBoard({ gems, place, of }, top, longest);
    } else if (name === 'finders') {
      const [column, row, place, of] = fields;
      this.onFinders([column, row], place, of);
    }
  }

  #showLasting() {
    this.lasts = true;
    this.hud.showLasting();
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
    } else if (this.otherGround) {
      hud.banner('The land has changed since this page was loaded.', 'warn',
        { label: 'Load it again', onClick: () => location.reload() });
    } else hud.banner(null);
  }

  /** The connection is gone: the own player stops. */
  #rest() {
    const { clock, walk } = this.state;
    walk.halt(clock.now());
    this.state.goal = null;
  }
}

/** Return the name of the player that the page's address says has invited this one. Anybody may have
 * written it there: the server tells the true name later. */
function hostName() {
  const by = new URLSearchParams(location.search).get('by') ?? '';
  return by.trim() === '' ? 'a friend' : by.slice(0, 2 * P.NAME_LIMIT);
}

/** Return the invitation in the page's address, or null. In older links it is a player's id. */
function invitationHere() {
  const text = new URLSearchParams(location.search).get('near');
  if (text === null || text.length > INVITATION_LIMIT) return null;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Return the server's reason as a sentence. */
function sentenceOf(reason) {
  return reason.charAt(0).toUpperCase() + reason.slice(1) + (/[.!?]$/.test(reason) ? '' : '.');
}
