// What the player does by keys, clicks, the stick or the panels: it changes the state at once, and is
// sent to the server. The server's answers are in session.js.

import { unitsAt } from './client.js';
import { isWavedTo, WAVE } from './emotes.js';
import { isComputer } from './faces.js';
import { Footsteps } from './footsteps.js';
import { letterOf } from './keys.js';
import { BESIDE, Following, Leading } from './leading.js';
import { farFrom, foundIn, Guide, placesNear, standsBeside, walkersNear } from './near.js';
import { Ordered } from './ordered.js';
import * as P from './protocol.js';
import { endOf, Route } from './route.js';
import { Singing } from './singing.js';
import { ROCK } from './terrain.js';
import { sayable } from './texts.js';
import { UNIT } from './track.js';

/** @typedef {import('./hud/hud.js').Hud} Hud */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./sound.js').Sound} Sound */
/** @typedef {import('./state.js').State} State */
/** @typedef {import('./view/view.js').View} View */

const EMOTES = 4, EMOTES_WITHIN = 5000;   // the most emotes, and within how many ms
// The names by which only this machine itself reaches the server.
const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);
const EARSHOT = 16;                       // tiles: from farther away nothing is heard
const SEEKS_AFTER = 250;                  // ms after a letter: the server allows four questions a second
const ROUTE_MS = 3;                       // that a frame may spend on looking for a way
const ARRIVED = 2;                        // tiles: this near, the player is there
const DIGIT = /^(Digit|Numpad)[1-6]$/;
const HOME_WALKS = 39;                    // tiles along each axis: nearer than this the player walks home,
                                          // or goes back; from farther away it is put there

const STAY = () => {};                    // a click on the player's own walker: it stays where it is

export class Controls {
  /** @param {State} state @param {Session} session @param {Hud} hud @param {View} view
   * @param {Sound} sound @param {import('./events.js').Events} events */
  constructor(state, session, hud, view, sound, events) {
    this.state = state;
    this.session = session;
    this.client = session.client;
    this.net = session.client.net;
    this.hud = hud;
    this.view = view;
    this.sound = sound;
    this.events = events;
    this.guide = new Guide();
    this.leading = new Leading();
    /** @type {{ x: number, y: number } | null} Where the mouse or a finger is held on the world, in css
     * px. */
    this.led = null;
    /** @type {Following | null} */
    this.following = null;
    /** @type {Route | null} The way to the goal, where the straight walk is barred. */
    this.route = null;
    this.routed = 0;                      // the number of its last intent: any other intent ends it
    this.goalName = '';                   // what the goal is called
    this.singing = new Singing();
    this.footsteps = new Footsteps((ground) => sound.step(ground));
    // Performance times, in ms, of the last emotes.
    this.emotesAt = Array(EMOTES).fill(-Infinity);
    /** What the server has found last: people, and two lists of places. @type {[any[], any[], any[]]} */
    this.sought = [[], [], []];
    this.seeking = 0;                     // the timer until the server is asked
    /** @type {Ordered<() => boolean>} What the key Escape ends: the first that returns true. */
    this.escapes = new Ordered();
    this.escapes.add(10, () => hud.closeSheet());
    this.escapes.add(30, () => this.unfollow());
    this.escapes.add(50, () => this.endAim());
    /** @type {Ordered<(cssX: number, cssY: number, byMouse: boolean) => (() => void) | null>} What can be
     * clicked in the world: each returns what a click on a css px of it does, or null. */
    this.targets = new Ordered();
    this.targets.add(10, (cssX, cssY) => this.#clickArrow(view.arrowAt(cssX, cssY)));
    this.targets.add(30, (cssX, cssY, byMouse) => this.#clickWalker(view.walkerAt(cssX, cssY, byMouse), cssX, cssY));
    hud.setSound(sound.on, sound.sings);
    this.#listen();
    const { on } = session.client;
    on.message('sought', (text, people, ...places) => {
      this.sought = [people.filter(([id]) => id !== state.own?.id), places[0], places[1] ?? []];
      if (hud.nearDialog.root.open && hud.nearDialog.text === text) this.#showFound(text);
    });
  }

  /** Do what the player wants by the panels, and what happens. */
  #listen() {
    const { events, sound } = this;
    events.on('say', (text) => this.say(text));
    events.on('home', () => this.goHome());
    events.on('grid', () => this.toggleGrid());
    events.on('invite', () => this.invite());
    events.on('sound', () => this.toggleSound());
    events.on('mute', (id, muted) => this.mute(id, muted));
    events.on('follow', (id) => this.follow(id));
    events.on('unfollow', () => this.unfollow());
    events.on('near', () => this.openNear());
    events.on('find', (text) => this.openNear(text));
    events.on('emote', (emote) => this.emote(emote));
    events.on('waveBack', () => this.waveBack());
    events.on('go', (x, y, name) => this.goToPlace(x, y, name));
    events.on('you', () => this.openYou());
    events.on('appear', (name, look) => this.appear(name, look));
    events.on('unaim', () => this.endAim());
    events.on('heard', (id, emote) => this.#heard(id, emote));
    events.on('spark', (other) => {
      sound.spark();
      if (!isComputer(other)) this.client.do.spark(other);
    });
  }

  /** Follow what the player does; called in each frame. */
  frame() {
    if (!this.net.playing) return;
    this.footsteps.follow(this.state);
    this.#sing();
    this.#followLead();
    this.#follow();
    this.#goOn();
    const told = this.guide.look(this.state, this.route !== null || this.following !== null);
    if (told !== null) this.hud.tell(told);
    this.events.emit('frame');
    this.hud.notes.waiting(this.state.lacks.first((lack) => lack(this.state)));
  }

  // Called by Input, for keys and clicks.

  heading(dx, dy) {
    if (!this.net.playing) return;
    this.hud.hint(null);
    this.unfollow();
    this.events.emit('steer');
    this.#walk(dx === 0 && dy === 0 ? null : { heading: [dx, dy] });
  }

  /** Walk towards the css px of the world at which the mouse or a finger is held; null: no longer.
   * @param {{ x: number, y: number } | null} place */
  lead(place) {
    const was = this.led;
    this.led = this.net.playing ? place : null;
    if (this.led === null) {
      if (was !== null) this.rest();
    } else if (was === null) {
      this.hud.focusWorld();
      this.unfollow();
      this.leading = new Leading();
    }
  }

  /** Return whether a click on a css px of the world, which the mouse is over, does more than walk there. */
  canClick(cssX, cssY) {
    const act = this.targets.first((target) => target(cssX, cssY, true));
    return this.net.playing && act !== null && act !== STAY;
  }

  /** Take a click or touch on a css px of the world. */
  tap(cssX, cssY, byMouse) {
    const { state, hud, view } = this;
    if (!this.net.playing) return;
    hud.focusWorld();
    const act = this.targets.first((target) => target(cssX, cssY, byMouse));
    if (act !== null) return act();
    this.events.emit('steer');
    const { x, y } = view.tileAt(state, cssX, cssY);
    this.goTo(x, y);
  }

  /** @param {import('./state.js').Arrow | null} arrow */
  #clickArrow(arrow) {
    if (arrow === null) return null;
    const { id, x, y, label, sign } = arrow;
    if (id !== null) return () => this.follow(id);
    return sign === undefined ? () => this.goTo(x, y, label) : () => this.goToPlace(x, y, label);
  }

  /** A walker is followed; if it is followed already, and stands beside this page's player, its menu opens.
   * @param {number | null} id */
  #clickWalker(id, cssX, cssY) {
    const { state } = this;
    if (id === null) return null;
    if (id === state.ownId) return STAY;
    return id === state.followed && standsBeside(state, id) ? () => this.#showMenu(id, cssX, cssY) : () => this.follow(id);
  }

  key(event) {
    const { key, code, target } = event;
    if (!this.net.playing || target.closest('dialog, .popover')) return false;
    if (key === 'Enter' && target instanceof HTMLButtonElement) return false;
    if (key === 'Escape') {
      return this.escapes.all.some((escape) => escape());
    }
    if (key === 'Enter') this.hud.chat.open();
    else if (DIGIT.test(code)) this.emote(Number(code.slice(-1)));
    else return this.hud.tools.press(letterOf(event));
    return true;
  }

  /** End the walk, unless it follows somebody. */
  rest() {
    if (this.following !== null) return;
    if (this.net.playing && !this.state.walk.arrived) this.#walk(null);
  }

  // Called by Hud, for the panels.

  /** Say something; return whether it was sent. */
  say(text) {
    const connected = this.connected();
    if (connected) this.client.say(text);
    return connected;
  }

  /** Return whether the server hears the player, and tell the player if not. */
  connected() {
    if (!this.net.playing) this.hud.toast('Not connected: try again in a moment.');
    return this.net.playing;
  }

  /** Make an emote, but not so often that the server would refuse it. */
  emote(emote) {
    const now = performance.now();
    if (!this.net.playing || now - this.emotesAt[0] < EMOTES_WITHIN) return;
    this.emotesAt.shift();
    this.emotesAt.push(now);
    this.client.do.emote(emote);
  }

  /** Wave back to somebody near; return whether somebody had waved. */
  waveBack() {
    const waited = isWavedTo(this.state, performance.now());
    if (waited) this.emote(WAVE);
    return waited;
  }

  /** Let the player change its name and its look. */
  openYou() {
    const { name, look } = this.client.identity;
    this.hud.openYou(name, look);
  }

  /** Change the player's name and look. */
  appear(name, look) {
    if (!this.connected()) return;
    this.session.appear(sayable(name, P.NAME_LIMIT) || name || this.client.identity.name, look);
  }

  /** Remove the arrow to the place that was chosen on the map; return whether there was one. */
  endAim() {
    const was = this.state.aim !== null;
    this.state.aim = null;
    return was;
  }

  goHome() {
    if (!this.net.playing) return;
    const { state } = this, { walk, clock } = state, now = clock.now();
    const [x, y] = walk.drawn(now), near = Math.max(Math.abs(x), Math.abs(y)) <= HOME_WALKS;
    if (near && !state.wayBack) return this.goTo(0.5, 0.5);
    this.unfollow();
    this.events.emit('put');
    state.goal = null;
    state.wayBack = !near;
    walk.follow(null, Math.floor(now));
    this.net.act(P.HOME, walk.number);
    this.hud.toast(near ? 'Back where you were.' : 'You are on the plaza. Choose Home again to go back.');
  }

  toggleGrid() {
    const { state } = this;
    state.gridShown = !state.gridShown;
    this.hud.setGrid(state.gridShown);
  }

  /** Copy a link with an invitation, or show it to be shared or copied by hand: on a touch screen,
   * where the link leads to this machine only, and where the page may not copy. */
  async invite() {
    if (!this.net.playing) return;
    const link = this.session.invitation();
    const local = LOCAL.has(location.hostname);
    if (local || matchMedia('(pointer: coarse)').matches) return this.hud.showLink(await link, local);
    try {
      // A page may copy only shortly after a click. So the clipboard gets a promise at once.
      const blob = link.then((text) => new Blob([text], { type: 'text/plain' }));
      await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
      this.hud.toast('Invite link copied. A friend who opens it starts beside you.');
    } catch {
      // Without https or permission the page may not use the clipboard.
      this.hud.showLink(await link, local);
    }
  }

  /** Let squares sing, but not in a hidden tab. */
  #sing() {
    if (!this.sound.sings || document.hidden) return;
    const tones = this.singing.listen(this.state);
    if (tones.length > 0) this.sound.sing(tones);
  }

  toggleSound() {
    const { on, sings } = this.sound;
    this.sound.turn(!on || sings, !on);
    this.hud.setSound(this.sound.on, this.sound.sings);
    this.hud.toast(`Sounds are ${!on ? 'on, and squares sing where somebody walks' : sings ? 'on' : 'off'}.`);
    this.sound.chime();
  }

  /** Follow the player `id`, until it is out of sight or this page's player goes elsewhere. */
  follow(id) {
    const { state } = this, name = state.names.get(id);
    if (!this.net.playing || name === undefined) return;
    this.following = new Following(id, name);
    this.events.emit('followed', id);
    state.followed = id;
    this.hud.hint(null);
    this.hud.notes.following(name);
  }

  /** Stop following; return whether anybody was followed. */
  unfollow() {
    const was = this.following !== null;
    this.following = this.state.followed = null;
    if (was) this.hud.notes.following(null);
    return was;
  }

  mute(id, muted) {
    if (muted) this.state.muted.add(id);
    else this.state.muted.delete(id);
  }

  /** Walk to a place in tiles, which may have a name. */
  goTo(x, y, name = '') {
    if (!this.net.playing) return;
    this.unfollow();
    this.goalName = name;
    this.#setOut(x, y, 0);
  }

  /** Walk until `before` tiles from a place: straight, or around what is in the way. */
  #setOut(x, y, before) {
    const { here, terrain, walk, clock } = this.state, far = Math.hypot(x - here.x, y - here.y);
    const back = far === 0 ? 0 : Math.min(before / far, 1);
    const goal = unitsAt(x + (here.x - x) * back, y + (here.y - y) * back);
    const t = Math.floor(clock.now());
    walk.advance(t);
    const from = walk.at(t), [endX, endY] = endOf(walk.blocked, from, goal);
    const reaches = Math.hypot(endX - goal[0], endY - goal[1]) < UNIT;
    // A player that clicks on water, or on rock, sees what it is.
    const barred = terrain.blocked(Math.floor(x), Math.floor(y)) && this.goalName === '';
    this.hud.hint(null);
    if (reaches || barred) return this.#go(goal);
    this.route = new Route(walk.blocked, from, unitsAt(x, y), before * UNIT);
    this.routed = walk.number;
    this.#goOn();
  }

  /** @param {import('./track.js').Pair} goal  in units */
  #go(goal) {
    this.#walk({ goal });
    this.routed = this.state.walk.number;
    this.state.goal = { x: goal[0] / UNIT, y: goal[1] / UNIT, at: performance.now() };
  }

  /** Walk on around what is in the way; at the end of a way that does not lead to the goal, say why. */
  #goOn() {
    const { route, state } = this, { walk, clock } = state;
    if (route === null) return;
    if (walk.number !== this.routed) {
      this.route = null;
      return;
    }
    const now = clock.now();
    walk.advance(now);
    const next = route.next(walk.at(Math.floor(now)), walk.arrived, performance.now() + ROUTE_MS);
    if (next !== null) {
      this.#go(next);
      state.goal = { x: route.goal[0] / UNIT, y: route.goal[1] / UNIT, at: performance.now() };
    } else if (route.ended) {
      this.route = null;
      if (!route.leads) this.hud.toast(this.#whatBars(route.goal));
    }
  }

  /** Return in a sentence what is between this page's player and a goal in units. */
  #whatBars([x, y]) {
    const { here, terrain } = this.state, dx = x / UNIT - here.x, dy = y / UNIT - here.y;
    const far = Math.ceil(Math.hypot(dx, dy)) || 1;
    let rock = false;
    for (let i = 0; i <= far; i++) {
      const tile = [Math.floor(here.x + dx * i / far), Math.floor(here.y + dy * i / far)];
      if (!terrain.blocked(...tile)) continue;
      rock = terrain.kind(...tile) === ROCK;
      break;
    }
    const to = this.goalName === '' ? '' : ` to ${this.goalName}`;
    return `${rock ? 'Rock' : 'Water'} bars the way${to}, and there is no way around it near here.`;
  }

  /** Set out again whenever the player who is followed goes elsewhere. */
  #follow() {
    const { state, following } = this;
    if (following === null) return;
    const player = state.replica.players.get(following.id);
    if (player === undefined) {
      this.unfollow();
      this.hud.toast(`${following.name} is out of sight.`);
      return;
    }
    const { x, y, dx, dy } = player.track, there = { x: (x + dx) / UNIT, y: (y + dy) / UNIT };
    if (!following.next(state.here, there, state.walk.arrived, performance.now())) return;
    this.goalName = following.name;
    this.#setOut(there.x, there.y, BESIDE);
    state.goal = null;                    // the ring shows who is followed
  }

  /** @param {import('./track.js').Intent} intent */
  #walk(intent) {
    if (intent !== null) this.session.hasWalked();
    this.state.goal = null;
    this.client.go(intent);
  }

  #showMenu(id, cssX, cssY) {
    const { names, drawn, muted } = this.state, name = names.get(id), look = drawn.get(id)?.look ?? 0;
    if (name !== undefined) this.hud.menu.open(id, look, name, muted.has(id), cssX, cssY);
  }

  /** Sound a player's words (0) or emote, the louder the nearer it is. */
  #heard(id, emote) {
    const { drawn, here } = this.state, walker = drawn.get(id);
    if (walker === undefined) return;
    const near = 1 - Math.hypot(walker.x - here.x, walker.y - here.y) / EARSHOT;
    if (near <= 0) return;
    if (emote === 0) this.sound.pop(near);
    else this.sound.emote(emote, near);
  }

  /** List who and what is near, and let the player find others by a few letters, at first those of `text`. */
  openNear(text = '') {
    const { state, hud } = this;
    if (!this.net.playing) return;
    this.sought = [[], [], []];
    hud.openNear(walkersNear(state), placesNear(state), (near, act) => this.#choose(near, act),
      (letters) => this.#seek(letters), text);
  }

  /** @param {import('./near.js').Near} near */
  #choose({ walker, x, y, name }, act) {
    if (walker === null || (act === 'open' && this.hud.nearDialog.text !== '')) return this.goToPlace(x, y, name);
    if (act === 'follow') return this.follow(walker.id);
    if (act === 'wave') return this.emote(WAVE);
    const at = this.view.pointOf(this.state, walker.x, walker.y);
    this.#showMenu(walker.id, at.x, at.y);
  }

  /** Show at once what the page knows, and ask the server once no letter has come for a moment. */
  #seek(text) {
    clearTimeout(this.seeking);
    this.#showFound(text);
    if (text !== '') this.seeking = setTimeout(() => this.client.do.seek(text), SEEKS_AFTER);
  }

  #showFound(text) {
    const { state } = this, walkers = walkersNear(state), places = placesNear(state);
    const choose = (near, act) => this.#choose(near, act);
    if (text === '') return this.hud.nearDialog.fill(walkers, places, choose);
    const far = farFrom(state, this.client.replica.side, ...this.sought);
    this.hud.nearDialog.fill(foundIn(text, [...walkers, ...places, ...far], state.here), [], choose);
  }

  /** Walk to a place that has a name; an arrow leads there until the player has arrived. */
  goToPlace(x, y, name) {
    if (!this.net.playing) return;
    this.state.aim = { x, y, reach: ARRIVED, label: name };
    this.goTo(x, y, name);
  }

  /** Walk where the mouse or a finger that is held on the world leads. */
  #followLead() {
    const { state, led, view } = this;
    if (led === null) return;
    const goal = this.leading.next(state.here, view.tileAt(state, led.x, led.y), state.walk.arrived,
      performance.now());
    if (goal === null) return;
    this.hud.hint(null);
    this.#go(unitsAt(goal.x, goal.y));
    state.goal = null;                    // no mark is drawn there
  }
}
