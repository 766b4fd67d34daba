// Walks this page's player: in a direction, to a place, around what is in the way, after somebody, where a held
// pointer leads, and home.

import { unitsAt } from './client.js';
import { BESIDE, Following, Leading } from './leading.js';
import * as P from './protocol.js';
import { endOf, Route } from './route.js';
import { ROCK } from './terrain.js';
import { UNIT } from './track.js';

/** @typedef {import('./hud/hud.js').Hud} Hud */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./state.js').State} State */
/** @typedef {import('./view/view.js').View} View */

const ROUTE_MS = 3;                       // that a frame may spend on looking for a way
const ARRIVED = 2;                        // tiles: this near, the player is there
const HOME_WALKS = 39;                    // tiles along each axis: nearer than this the player walks home,
                                          // or goes back; from farther away it is put there

export class Navigation {
  /** @param {State} state @param {Session} session @param {Hud} hud @param {View} view
   * @param {import('./events.js').Events} events */
  constructor(state, session, hud, view, events) {
    this.state = state;
    this.session = session;
    this.client = session.client;
    this.net = session.client.net;
    this.hud = hud;
    this.view = view;
    this.events = events;
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
    events.on('home', () => this.goHome());
    events.on('follow', (id) => this.follow(id));
    events.on('unfollow', () => this.unfollow());
    events.on('go', (x, y, name) => this.goToPlace(x, y, name));
    events.on('unaim', () => this.endAim());
    events.on('frame', () => {
      this.#followLead();
      this.#follow();
      this.#goOn();
    });
  }

  /** Whether the end of a walk is not the end of the way. */
  get goesOn() {
    return this.route !== null || this.following !== null;
  }

  /** @param {import('./track.js').Intent} intent */
  walk(intent) {
    if (intent !== null) this.session.hasWalked();
    this.state.goal = null;
    this.client.go(intent);
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

  /** End the walk, unless it follows somebody. */
  rest() {
    if (this.following !== null) return;
    if (this.net.playing && !this.state.walk.arrived) this.walk(null);
  }

  /** Walk to a place in tiles, which may have a name. */
  goTo(x, y, name = '') {
    if (!this.net.playing) return;
    this.unfollow();
    this.goalName = name;
    this.#setOut(x, y, 0);
  }

  /** Walk to a place that has a name; an arrow leads there until the player has arrived. */
  goToPlace(x, y, name) {
    if (!this.net.playing) return;
    this.state.aim = { x, y, reach: ARRIVED, label: name };
    this.goTo(x, y, name);
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

  /** Walk straight to a goal in units, and then on by a route, or by none.
   * @param {import('./track.js').Pair} goal @param {Route | null} route */
  #go(goal, route = null) {
    this.route = route;
    this.walk({ goal });
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
      this.#go(next, route);
      state.goal = { x: route.goal[0] / UNIT, y: route.goal[1] / UNIT, at: performance.now() };
    } else if (route.ended) {
      this.route = null;
      if (route.leads) return;
      this.hud.toast(this.#whatBars(route.goal));
      this.events.emit('barred');
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
