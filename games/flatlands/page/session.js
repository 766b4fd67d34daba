// The session of this page's player: joins under a name, and shows the player what the engine's client reports of
// the connection and of who speaks.

import { EMOTES, isEmote, showEmote } from './emotes.js';
import { isComputer } from './faces.js';
import { byTouch } from './hud/element.js';
import { forBrowser, forWindow } from './keep.js';
import * as P from './protocol.js';
import { clearScene, cutCamera, noteLateness, showSaying } from './scene.js';
import { Terrain } from './terrain.js';
import { UNIT } from './track.js';

/** @typedef {import('./client.js').Client} Client */
/** @typedef {import('./hud/hud.js').Hud} Hud */
/** @typedef {import('./state.js').State} State */

// Errors that the player is shown. It sees for itself that something is gone or too far away.
const SHOWN_ERRORS = new Set(['flood', 'say', 'crowded', 'muted', 'notice', 'store', 'name', 'full', 'failed', 'game', 'keys']);
const ONCE = new Set(['failed', 'keys']); // the page itself asks again and again: it shows each only once
const INVITATION_LIMIT = 512;             // characters
const NOTICE_MS = 15000;                  // for which a notice of an operator is shown
// Kept for this window: when it was last seen to play; and for the browser, in which world, by its seed, it was so last.
const PLAYED_KEY = 'flatlands.played';
const REMEMBERED = 48 * 3600 * 1000;      // ms for which the server remembers who has walked there
const BACK_WITHIN = 5 * 60 * 1000;        // ms after that in which a window that is loaded again plays on
const WALKED_KEY = 'flatlands.walked';    // kept once the player has walked

export class Session {
  /** Show the title.
   * @param {Client} client @param {State} state @param {Hud} hud @param {import('./events.js').Events} events */
  constructor(client, state, hud, events) {
    this.client = client;
    this.state = state;
    this.hud = hud;
    this.events = events;
    /** @type {string | number | null} The invitation in the page's address. */
    this.near = invitationHere();
    this.shownErrors = new Set(SHOWN_ERRORS); // parts of the game add the codes of their errors
    this.started = false;                 // true once this window's player has asked to play
    this.walked = false;                  // true once the player has walked in this window
    /** @type {Set<string>} Those of ONCE that the player was shown. */
    this.shownOnce = new Set();
    const { on, net, identity } = client;
    on.begun((welcome) => this.#begun(welcome));
    on.applied((message) => this.#take(message));
    on.said((player, text) => this.#said(player, text));
    on.event('Emote', (player, { emote }, id) => player !== null && this.#emoted(id, emote));
    on.error((code, sentence) => this.#refused(code, sentence));
    on.leapt(() => cutCamera(state));
    on.moved(() => this.#elsewhere());
    on.held(() => {
      state.goal = null;
      events.emit('walkOn');
    });
    on.quiet(() => this.#tellLine());
    on.lost((why) => {
      state.goal = null;
      const sentence = net.welcomed ? 'Connection lost.' : 'The server does not answer.';
      hud.banner(why === null ? sentence : sentenceOf(why), 'warn',
        { label: 'Try now', onClick: () => net.connect() });
    });
    on.waiting((ms) => hud.notes.countdown(ms === 0 ? 'Trying …' : `Next try in ${Math.ceil(ms / 1000)} s`));
    on.ended((sentence) => this.#ended(sentence));
    identity.onOther = () => this.#showTitle();
    events.on('start', (name, look) => this.start(name, look));
    events.on('anew', () => this.startAnew());
    events.on('you', () => hud.openYou(identity.name, identity.look));
    events.on('appear', (name, look) => this.appear(name, look));
    document.addEventListener('visibilitychange', () => {
      if (state.ownId !== null) notePlayed(state);
    });
    this.#showTitle();
    this.#comeBack();
  }

  /** Play on without the title, if this window has played until a moment ago: it was reloaded, or a phone had put it
   * away. */
  async #comeBack() {
    const { identity } = this.client, since = Date.now() - Number(forWindow.get(PLAYED_KEY));
    if (this.near !== null || since < 0 || since > BACK_WITHIN) return;
    await identity.ready;
    if (!this.started && identity.token !== null) await this.start(identity.name, identity.look);
  }

  #showTitle() {
    const { name, look } = this.client.identity;
    this.hud.title(name, look, this.near === null ? null : hostName());
  }

  /** Join under a name and with a look. */
  async start(name, look) {
    const { client, state: { viewport } } = this;
    this.started = true;
    this.hud.banner('Connecting …', 'info');
    await client.open({ name, look, near: this.near }, viewport.w, viewport.h);
    client.identity.look = look;
  }

  /** Note that the player has walked, so it knows how to. */
  hasWalked() {
    if (!this.walked) forBrowser.set(WALKED_KEY, 'yes');
    this.walked = true;
    this.events.emit('walked');
  }

  /** Return whether the server hears the player, and show the player if not. */
  connected() {
    const { playing } = this.client.net;
    if (!playing) this.hud.toast('Not connected: try again in a moment.');
    return playing;
  }

  /** Change the player's name or look. */
  appear(wanted, look) {
    if (this.connected()) this.client.appear(wanted, look);
  }

  /** Leave the world for good, and begin as somebody else. */
  startAnew() {
    this.client.leave();
    this.#left();
  }

  /** @param {import('./client.js').Player} player */
  #said({ id, name, look }, words) {
    const { state } = this;
    if (state.muted.has(id)) return;
    // Clockwork cannot know that this player has no mouse.
    const text = isComputer(id) && byTouch() ? words.replace(/^Click me\b/, 'Touch me') : words;
    if (!showSaying(state, id, text, performance.now())) return;
    const shown = state.names.get(id) ?? name;
    this.hud.chat.add(shown, id, look, text);
    if (id !== state.ownId) this.hud.callBack(`${shown} spoke`);
    this.events.emit('heard', id, 0);
  }

  #emoted(id, emote) {
    const { state } = this;
    if (state.muted.has(id) || !isEmote(emote)) return;
    const other = showEmote(state, id, emote, performance.now());
    this.events.emit('heard', id, emote);
    const name = (who) => state.names.get(who) ?? state.replica.players.get(who)?.name ?? '';
    if (other !== null && (id === state.ownId || other === state.ownId)) {
      const friend = id === state.ownId ? other : id;
      if (!isComputer(friend)) state.friends.add(friend);
      this.events.emit('spark', friend);
      this.hud.announce(`You and ${name(friend)} wave to each other: a spark!`);
    } else if (id !== state.ownId && !isComputer(id)) {
      const line = `${name(id)} ${EMOTES[emote].others}`;
      this.hud.announce(line + '.');
      this.hud.callBack(line);
    }
  }

  #begun([, , , , , , , , , , lead, drop]) {
    const { client, state, hud, events } = this, first = state.ownId === null;
    if (client.ground instanceof Terrain) state.terrain = client.ground;
    state.ownId = client.id;
    state.margins = { lead: lead / UNIT, drop: drop / UNIT };
    this.near = null;
    notePlayed(state);
    clearScene(state);
    events.emit('cleared');
    cutCamera(state);
    if (first) events.emit('first');
    history.replaceState(null, '', location.pathname);
    this.#elsewhere();
    hud.play();
    if (first) {
      if (forBrowser.get(WALKED_KEY) === null) {
        hud.hint('Walk with the arrow keys, or click where you want to go.',
          'Walk with the stick, or touch a place.');
      }
      hud.focusWorld();
    }
    events.emit('walkOn');
  }

  /** Begin at a server: it says so if it has no link to others, and it does not know the player's way back. */
  #elsewhere() {
    this.state.linked = true;
    this.state.wayBack = false;
    this.#tellLine();
  }

  #take(message) {
    const { state } = this;
    if (message[0] === P.FLUSH) noteLateness(state, state.replica.late);
    else if (message[0] === P.HOST) this.#hosted(message);
    else if (message[0] === P.LINK) {
      state.linked = message[1];
      this.#tellLine();
    }
  }

  #refused(code, sentence) {
    // Before there is a player, the title shows the error.
    if (code === 'token') this.hud.toast(sentenceOf(sentence));
    if (!this.shownErrors.has(code) || this.state.own === undefined) return;
    if (this.shownOnce.has(code)) return;
    if (ONCE.has(code)) this.shownOnce.add(code);
    // On a server without a store there is nothing to take.
    if (code === 'store' && !this.hud.lasts) return;
    this.hud.toast(sentenceOf(sentence), null, code === 'notice' ? NOTICE_MS : 0);
    this.events.emit('refused', code);
  }

  /** Nobody plays in this window any more: `sentence` says why, or is null if another window does. */
  #ended(sentence) {
    const { hud, client: { identity } } = this;
    this.state.goal = null;
    if (sentence === null) {
      forWindow.forget(PLAYED_KEY);
      hud.banner('You are playing in another window.', 'info',
        { label: 'Play here', onClick: () => this.start(identity.name, identity.look) });
    } else {
      this.#left();
      hud.titleScreen.fail(sentence);
    }
  }

  /** Show the title: nobody plays any more. */
  #left() {
    const { state } = this;
    state.ownId = state.goal = state.aim = null;
    forWindow.forget(PLAYED_KEY);
    forBrowser.forget(PLAYED_KEY);
    state.friends.clear();
    state.replica.clear();
    clearScene(state);
    this.events.emit('cleared');
    this.hud.banner(null);
    this.#showTitle();
  }

  #hosted([, name, here]) {
    const gone = `${name} has left. You are where they invited you.`;
    if (!here) this.hud.hint(gone);
    else {
      const { friends, replica, ownId } = this.state;
      for (const { id, name: other } of replica.players.values()) if (other === name && id !== ownId) friends.add(id);
      this.hud.hint(`Here you are, beside ${name}. Press 1 to wave.`,
        `Here you are, beside ${name}. Touch the hand to wave.`);
    }
  }

  /** Show in the banner what is wrong with the connection, if anything is. */
  #tellLine() {
    const { client, hud } = this;
    if (client.net.quiet) hud.banner('No answer from the server …', 'warn');
    else if (!this.state.linked) {
      hud.banner('This server has lost its link to the others: you see only some of the players.',
        'warn');
    } else if (!(client.ground instanceof Terrain)) {
      hud.banner('The land has changed since this page was loaded.', 'warn',
        { label: 'Reload', onClick: () => location.reload() });
    } else hud.banner(null);
  }
}

/** @param {State} state */
function notePlayed({ terrain }) {
  forWindow.set(PLAYED_KEY, String(Date.now()));
  forBrowser.set(PLAYED_KEY, `${terrain.seed} ${Date.now()}`);
}

/** Return whether this browser's player has walked in the world with a seed a short time ago, so that the server may
 * remember it. */
export function hasPlayed(seed) {
  const [where, at] = (forBrowser.get(PLAYED_KEY) ?? '').split(' ').map(Number);
  return where === seed >>> 0 && Date.now() - at < REMEMBERED;
}

/** Return the name of the player who invited this one, as the page's address has it. Anybody may have
 * written it there: the server sends the true name later. */
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
