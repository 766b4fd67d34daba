// Looking at the map of everybody: opens and closes it, takes keys, wheel, mouse and fingers on it, and
// asks the server for what it shows. A click lets an arrow lead there.

import { dotLine, firstOf, Gaze, lineOf, invitingLine, nextWatch, TOTALS_ONLY, WHOLE_WORLD }
  from './atlas.js';
import { letterOf } from './keys.js';
import { PART } from './landmarks.js';
import { wayTo } from './near.js';
import * as P from './protocol.js';
import { hasPlayed } from './session.js';
import { Terrain } from './terrain.js';

/** @typedef {import('./atlas.js').Dot} Dot */
/** @typedef {import('./state.js').State} State */
/** @typedef {NonNullable<State['aim']> & { dot?: Dot }} Goal  What a click chooses, and the dot if it is one. */

const RISES = 420, FALLS = 260;           // ms in which the map appears, and disappears
const GLIDE = 130, GLIDE_OPEN = 300;      // ms in which the gaze goes two thirds of its way
const OPENING = 1600;                     // ms
const FIRST_WITHIN = 1200;                // ms, after which it shows the surroundings, whatever came
const WATCH_EVERY = 2200;                 // ms: the server allows it no more often
const SILENT = 9000;                      // ms without a message: ask again
const CALM = 0.55;                        // the whole world is shown larger when it has shrunk to
                                          // this share of what is shown
const EDGE = 56;                          // css px around the whole world
const TAP_MOVES = 9;                      // css px
const REACH = 14, HOVER = 5;              // css px by which a finger, or the mouse, may miss something
const THERE = 2;                          // tiles: this near, the player has arrived
const FLAG = 'The flag';                  // what a place without a name is called
const STEP = 0.18;                        // share of the screen that an arrow key moves
const WHEEL = 0.0016, PINCH_WHEEL = 0.01; // of a zoom, per px of the wheel
const SIGHT_WITHIN = 400;                 // tiles: what is nearer may be kept in sight, too
const NEAR_MAP = 24;                      // squares around the player while nobody else is known

const PANS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
  KeyA: [1, 0], KeyD: [-1, 0], KeyW: [0, 1], KeyS: [0, -1] };

export class Lookout {
  /** `live` shows the map alone, and nobody plays.
   * @param {State} state @param {import('./hud/hud.js').Hud} hud
   * @param {import('./view/atlas.js').AtlasView} drawing @param {import('./net.js').Net} net
   * @param {import('./spectator.js').Spectator} spectator @param {boolean} live @param {import('./events.js').Events} events */
  constructor(state, hud, drawing, net, spectator, live, events) {
    this.state = state;
    this.hud = hud;
    this.drawing = drawing;
    this.canvas = drawing.canvas;
    this.net = net;
    this.spectator = spectator;
    this.live = live;
    this.gaze = new Gaze();
    this.isOpen = false;
    /** 0 (hidden) .. 1. */
    this.shown = 0;
    /** @type {import('./atlas.js').Watch | null} */
    this.asked = null;
    /** @type {WebSocket | null} The connection over which that was asked. */
    this.askedOver = null;
    /** @type {import('./atlas.js').Area | null} What is shown of the whole world. */
    this.fitted = null;
    /** @type {Dot | null} */
    this.marked = null;
    /** @type {import('./landmarks.js').Landmark[]} The landmarks that this page's player has found. */
    this.found = [];
    /** @type {{ x: number, y: number }[]} The tiles of those that are still to be looked up. */
    this.toLookUp = [];
    /** @type {import('./view/atlas.js').Named[]} What the last frame showed, the topmost last. */
    this.named = [];
    this.cross = false;                   // true while the keys move the map
    /** @type {{ x: number, y: number } | null} */
    this.pointer = null;
    /** @type {Map<number, { x: number, y: number }>} Fingers, or the mouse with its button held. */
    this.fingers = new Map();
    this.tap = null;
    // Performance times, ms.
    this.askedAt = -Infinity;
    this.openedAt = 0;
    this.at = 0;
    events.on('map', () => this.open());
    events.on('zoom', (factor) => this.zoom(factor));
    events.on('whole', () => this.whole());
    events.on('closeMap', () => this.close());
    this.#listen();
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  /** Show the map, which rises from where the player is. */
  open() {
    if (this.isOpen || (!this.net.playing && !this.live)) return;
    const { state, gaze } = this;
    this.isOpen = true;
    this.openedAt = performance.now();
    this.asked = this.fitted = null;
    this.found = [];
    this.toLookUp = this.live ? [] : this.drawing.tilesFound();
    state.atlas.clear();
    gaze.whole = true;
    const side = this.#side(), scale = side * innerWidth / Math.max(state.viewport.w, 1);
    gaze.put(state.here.x / side, state.here.y / side, scale);
    this.canvas.hidden = false;
    this.hud.openAtlas(true);
    this.canvas.focus({ preventScroll: true });
  }

  close() {
    if (!this.isOpen || this.live) return;
    const { state, gaze } = this, side = this.#side();
    this.isOpen = false;
    this.marked = null;
    this.cross = false;
    this.fingers.clear();
    gaze.to = { x: state.here.x / side, y: state.here.y / side,
      scale: side * innerWidth / Math.max(state.viewport.w, 1) };
    this.net.send(P.WATCH, null, 0, 0, 0, 0);
    this.hud.openAtlas(false);
    this.hud.focusWorld();
  }

  /** Zoom by a factor around the middle of the screen. */
  zoom(factor) {
    this.gaze.zoom(factor, innerWidth / 2, innerHeight / 2);
  }

  /** Show everybody. */
  whole() {
    this.gaze.whole = true;
    this.fitted = null;
  }

  resize(width, height, dpr) {
    this.gaze.resize(width, height);
    this.drawing.resize(width, height, dpr);
    this.fitted = null;
  }

  /** Take a message of the server, which may be about the map. */
  message(message) {
    this.state.atlas.apply(message, performance.now());
  }

  /** Bring the map up to now and draw it; return whether it covers the world. */
  frame() {
    const { state } = this, now = performance.now(), passed = Math.min(now - this.at, 100);
    this.at = now;
    this.#lead();
    if (state.ownId === null && !this.live) this.#greet();
    else if (!this.live && this.spectator.asked !== null) this.spectator.stop();
    if (this.isOpen && !this.net.playing && state.ownId === null && !this.live) this.close();
    const step = state.still ? 1 : passed / (this.isOpen ? RISES : FALLS);
    this.shown = Math.min(Math.max(this.shown + (this.isOpen ? step : -step), 0), 1);
    if (this.shown === 0) {
      this.canvas.hidden = true;
      return false;
    }
    this.#look(now, passed);
    return this.shown === 1;
  }

  /** Return whether channels and servers are shown: with the grid, and to those who only watch. */
  #channels() {
    return this.live || this.state.gridShown;
  }

  #side() {
    return this.state.replica.side;
  }

  /** Show at the title how many are walking. */
  #greet() {
    if (document.hidden || this.net.socket !== null) {
      if (this.spectator.asked !== null) this.spectator.stop();
      return;
    }
    if (this.spectator.asked === null) this.spectator.watch(TOTALS_ONLY);
    const { totals } = this.state.atlas;
    this.hud.titleScreen.showTotals(totals === null ? null : invitingLine(totals,
      this.net.identity.name, this.hud.lasts && hasPlayed(totals.seed)));
  }

  #look(now, passed) {
    const { state, gaze, live } = this, { atlas, replica } = state;
    atlas.expire(now);
    if (live && atlas.totals !== null) {
      replica.side = atlas.totals.side;
      if (state.terrain.seed !== atlas.totals.seed) state.terrain = new Terrain(atlas.totals.seed);
    }
    if (this.isOpen) {
      this.#ask(now);
      if (gaze.whole) this.#fit(now);
      if (atlas.totals !== null) this.#count(atlas.totals);
    }
    const lag = now - this.openedAt < OPENING ? GLIDE_OPEN : GLIDE;
    gaze.advance(passed, state.still ? 0 : lag);
    this.#mark();
    const shown = this.shown * this.shown * (3 - 2 * this.shown), named = this.named = [];
    this.#lookUp();
    this.drawing.render({ atlas, gaze, terrain: state.terrain, side: replica.side, now,
      still: state.still, here: state.ownId === null ? null : state.here, ownId: state.ownId,
      ownLook: state.own?.look ?? 0,
      aim: state.aim, marked: this.marked, cross: this.cross, shown, named,
      found: this.found, channels: this.#channels() });
  }

  /** Look up one of the landmarks that were found, the latest first: each takes some ms. */
  #lookUp() {
    const tile = this.toLookUp.pop(), { landmarks } = this.state;
    const mark = tile && landmarks.of(Math.floor(tile.x / PART), Math.floor(tile.y / PART));
    // It may have been found in another world.
    if (mark && mark.x === tile.x && mark.y === tile.y) this.found.push(mark);
  }

  /** @param {import('./atlas.js').Totals} totals */
  #count(totals) {
    const channels = this.#channels();
    this.hud.atlas.count(lineOf(totals, channels), channels ? totals.nodes : 0, totals.computers > 0);
  }

  /** Ask the server for what is to be shown, but not too often. */
  #ask(now) {
    const { atlas } = this.state, socket = this.live ? this.spectator.socket : this.net.socket;
    let next = this.asked === null ? WHOLE_WORLD : nextWatch(atlas, this.gaze, this.asked);
    const silent = now - Math.max(atlas.heard, this.askedAt) > SILENT;
    if (next === null && (silent || socket !== this.askedOver)) next = this.asked;
    if (next === null || (this.asked !== null && now - this.askedAt < WATCH_EVERY)) return;
    if (!this.live && !this.net.playing) return;
    this.asked = next;
    this.askedAt = now;
    if (this.live) this.spectator.watch(next);
    else this.net.send(P.WATCH, next.grain, next.c0, next.r0, next.c1, next.r1);
    this.askedOver = this.live ? this.spectator.socket : this.net.socket;
  }

  /** Keep the whole world in sight, without following each step of those at its edge. */
  #fit(now) {
    const { state, gaze } = this, side = this.#side();
    const known = state.atlas.pictures > 0 ? state.atlas.bounds() : null;
    if (known === null && now - this.openedAt < FIRST_WITHIN) return;
    const x = state.here.x / side, y = state.here.y / side;
    const area = known ?? { left: x - NEAR_MAP, top: y - NEAR_MAP, right: x + NEAR_MAP,
      bottom: y + NEAR_MAP };
    const sights = this.drawing.sights.all.flatMap((sight) => sight() ?? [])
      .filter((place) => Math.hypot(place.x - state.here.x, place.y - state.here.y) < SIGHT_WITHIN);
    for (const at of this.live ? [] : [state.here, ...sights]) {
      area.left = Math.min(area.left, at.x / side);
      area.top = Math.min(area.top, at.y / side);
      area.right = Math.max(area.right, at.x / side);
      area.bottom = Math.max(area.bottom, at.y / side);
    }
    const { fitted } = this;
    if (fitted !== null) {
      const wide = fitted.right - fitted.left, high = fitted.bottom - fitted.top;
      const outside = area.left < fitted.left - wide * 0.08 || area.right > fitted.right + wide * 0.08
        || area.top < fitted.top - high * 0.08 || area.bottom > fitted.bottom + high * 0.08;
      const small = area.right - area.left < wide * CALM && area.bottom - area.top < high * CALM;
      if (!outside && !small) return;
    }
    this.fitted = area;
    gaze.fit(area, Math.min(EDGE, gaze.width * 0.05));
  }

  /** Say what a click of the mouse, or Enter while the keys are used, would choose; mark it if it is a dot. */
  #mark() {
    const { gaze, live, state: { aim } } = this;
    const place = this.cross ? { x: gaze.width / 2, y: gaze.height / 2 } : this.pointer;
    const goal = !this.isOpen || place === null ? null : this.#goalAt(place.x, place.y, this.cross ? REACH : HOVER);
    this.marked = goal?.dot ?? null;
    this.canvas.style.cursor = this.fingers.size > 0 ? 'grabbing'
      : goal !== null && goal.label !== FLAG && !live ? 'pointer' : 'grab';
    const around = goal?.dot && goal.label === FLAG ? `${dotLine(goal.dot, this.#channels())}, here · ` : '';
    this.hud.atlas.describe(goal && around + this.#wordsOf(goal), aim && this.#wordsOf(aim));
  }

  /** Return what a css px means: the topmost place with a name, a dot, or else the ground, which means nothing to
   * those who only watch. It may be missed by `reach` css px. In the dot in which the player is, it means the ground.
   * @returns {Goal | null} */
  #goalAt(cssX, cssY, reach) {
    const { gaze } = this, side = this.#side(), { x, y } = gaze.toWorld(cssX, cssY), finger = REACH * side / gaze.scale;
    const named = this.named.filter(({ px, py, w, h }) =>
      Math.abs(cssX - px) < w + reach / 2 && Math.abs(cssY - py) < h + reach / 2).at(-1);
    if (named !== undefined) return { x: named.x, y: named.y, reach: THERE, label: named.label };
    const dot = this.state.atlas.dotNear(x, y, reach / gaze.scale);
    const ground = { x: x * side, y: y * side, reach: Math.max(THERE, finger), label: FLAG };
    if (dot === null) return this.live ? null : ground;
    const half = 2 ** dot.grain * side / 2;
    const goal = { x: firstOf(dot.col, dot.grain) * side + half, y: firstOf(dot.row, dot.grain) * side + half, reach: half,
      label: dotLine(dot, this.#channels()), dot };
    return this.live || !this.#isAt(goal) ? goal : { ...ground, dot };
  }

  /** Return what and where a goal is, such as "Gull Light, 90 tiles north-east". @param {Goal} goal */
  #wordsOf(goal) {
    const { here } = this.state, { x, y, label } = goal;
    const way = this.#isAt(goal) ? 'here' : wayTo(x - here.x, y - here.y);
    return this.live ? label : label === FLAG ? way : `${label}, ${way}`;
  }

  /** Let an arrow lead to a goal, instead of where one leads already, and close the map. @param {Goal | null} goal */
  #choose(goal) {
    if (goal === null || this.live) return;
    this.state.aim = goal;
    this.close();
    this.hud.toast(`${this.#wordsOf(goal)}: follow the arrow with the flag. To remove it, open the map.`);
  }

  /** Return whether the player is at a goal. @param {Goal} goal */
  #isAt({ x, y, reach }) {
    const { here } = this.state;
    return Math.abs(here.x - x) <= reach && Math.abs(here.y - y) <= reach;
  }

  /** Forget the place that the arrow leads to once the player has arrived. */
  #lead() {
    const { state } = this, { aim } = state;
    if (aim === null || state.ownId === null || !this.#isAt(aim)) return;
    state.aim = null;
    if (!aim.quiet) this.hud.toast('You are there.');
  }

  #listen() {
    const { canvas, fingers, gaze } = this;
    canvas.addEventListener('keydown', (event) => this.#key(event));
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const px = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 18 : 1);
      gaze.zoom(Math.exp(-px * (event.ctrlKey ? PINCH_WHEEL : WHEEL)), event.clientX, event.clientY);
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !this.isOpen) return;
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      this.cross = false;
      this.tap = fingers.size > 1 ? null : { x: event.clientX, y: event.clientY };
    });
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    for (const kind of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(kind, (event) => {
        const tap = this.tap;
        if (!fingers.delete(event.pointerId) || tap === null) return;
        this.tap = null;
        if (kind !== 'pointerup') return;
        this.#choose(this.#goalAt(event.clientX, event.clientY, event.pointerType === 'mouse' ? HOVER : REACH));
      });
    }
    canvas.addEventListener('pointerleave', () => {
      this.pointer = null;
    });
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  #move(event) {
    const { fingers, gaze } = this, before = fingers.get(event.pointerId);
    const at = { x: event.clientX, y: event.clientY };
    if (event.pointerType === 'mouse') {
      this.pointer = at;
      this.cross = false;
    }
    if (before === undefined) return;
    if (this.tap !== null && Math.hypot(at.x - this.tap.x, at.y - this.tap.y) < TAP_MOVES) return;
    this.tap = null;
    fingers.set(event.pointerId, at);
    if (fingers.size > 2) return;
    const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    if (other === undefined) {
      gaze.pan(at.x - before.x, at.y - before.y);
    } else {
      gaze.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
      const was = Math.hypot(before.x - other.x, before.y - other.y);
      gaze.zoom(Math.hypot(at.x - other.x, at.y - other.y) / Math.max(was, 1),
        (at.x + other.x) / 2, (at.y + other.y) / 2);
    }
    // The map stays under the fingers: nothing glides.
    gaze.put(gaze.to.x, gaze.to.y, gaze.to.scale);
  }

  /** Take a key while the map has the focus: it must not move the player. */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === 'Tab') return;
    // The grid may be shown over the map as well.
    if (letterOf(event) === 'g') return;
    event.stopPropagation();
    if (!this.isOpen) return;
    const { gaze } = this, pan = PANS[event.code];
    if (pan !== undefined) {
      this.cross = true;
      const step = STEP * Math.min(gaze.width, gaze.height);
      gaze.pan(pan[0] * step, pan[1] * step);
    } else if (event.key === '+' || event.key === '=') this.zoom(1.5);
    else if (event.key === '-' || event.key === '_') this.zoom(1 / 1.5);
    else if (event.key === '0' || event.key === 'Home') this.whole();
    else if (event.key === 'Enter') this.#choose(this.#goalAt(gaze.width / 2, gaze.height / 2, REACH));
    else if (event.key === 'Escape' || letterOf(event) === 'o') this.close();
    else return;
    event.preventDefault();
  }
}
