// The game: makes the state, the drawing, the panels, the session and the controls, connects them, and installs the
// parts of the game. Only this module knows all the others, and none knows the parts.

import { Client } from './client.js';
import { Controls } from './controls.js';
import { SPARK } from './emotes.js';
import { Events } from './events.js';
import { randomLook } from './faces.js';
import { textScale } from './hud/element.js';
import { Hud } from './hud/hud.js';
import { Input } from './input.js';
import { install as installInvitations } from './invitations.js';
import { Lookout } from './lookout.js';
import { Measures } from './measures.js';
import { Navigation } from './navigation.js';
import { install as installNext } from './next.js';
import { PARTS } from './parts.js';
import { install as installPhoto } from './photo.js';
import { advanceScene } from './scene.js';
import { Session } from './session.js';
import { Sound } from './sound.js';
import { install as installSoundscape } from './soundscape.js';
import { Spectator } from './spectator.js';
import { State } from './state.js';
import { stroll } from './strollers.js';
import { install as installSurroundings } from './surroundings.js';
import { install as installTalk } from './talk.js';
import { AtlasView } from './view/atlas.js';
import { Minimap } from './view/minimap.js';
import { Portrait, signOf } from './view/portrait.js';
import { tileSize, View } from './view/view.js';

/**
 * What a part of the game is given when it is installed. It adds what it has to the lists of these, which their classes
 * describe, and listens to what happens. A list is in the order of the numbers with which parts add to it. Parts are installed
 * in the order of their names, and none may count on another: without it, what it would have added is missing.
 * @typedef {object} Game
 * @property {Client} client      what the server sends (`on`), and what it can be asked for (`do`)
 * @property {Events} events      what happens in the page
 * @property {State} state        what is drawn: `steps`, `places`, `pointers`, `bare`, `lacks`, `notes`, `grown`, `coursesOf`, `burns`
 * @property {View} view          draws it: `things` (kinds of things), `flat`, `lights`, `walkers`
 * @property {Minimap} minimap    `kinds`, `under`, `layers`, `over`
 * @property {AtlasView} map      the map of everybody: `under`, `layers`, `sights`, `said`, `tilesFound`
 * @property {Hud} hud            the panels: `chip`, `sheet`, `deed`, `note`, `pages`, `toast` and others
 * @property {Session} session    the connection: `connected`, and `shownErrors` (the codes of errors that the player is shown)
 * @property {Navigation} navigation  walks the player
 * @property {Controls} controls  keys and clicks: `targets`, `escapes`, `showMenu`
 * @property {Sound} sound
 */

const READINGS_EVERY = 250;               // ms
const MINIMAP = 160, MINIMAP_SMALL = 88;  // css px

// The page may be below a path of a larger site.
const live = location.pathname.endsWith('/live');
const canvas = document.getElementById('world');
// True where the panels are laid out by small.css.
const small = matchMedia('(pointer: coarse), (max-width: 640px), (max-height: 480px)');
const stillness = matchMedia('(prefers-reduced-motion: reduce)');
const client = new Client(randomLook), { net } = client;
const state = new State(client);
const events = new Events();
const view = new View(canvas, state.terrain);
const minimap = new Minimap(document.getElementById('minimap'));
const hud = new Hud(document.getElementById('hud'), events, { portraitOn: (own) => new Portrait(own), signOf }, live);
const session = new Session(client, state, hud, events);
const sound = new Sound();
const navigation = new Navigation(state, session, hud, view, events);
const controls = new Controls(state, net, hud, view, navigation, events);
const input = new Input(canvas, controls);
events.on('stick', (dx, dy) => input.stick(dx, dy));
events.on('typing', () => input.rest());
events.on('walkOn', () => input.repeat());
events.on('grid', () => hud.setGrid(state.gridShown = !state.gridShown));
const spectator = new Spectator(net.url, (message) => lookout.message(message));
const map = new AtlasView(document.getElementById('atlas'));
const lookout = new Lookout(state, hud, map, net, spectator, live, events);
state.notes.add(70, SPARK);
/** @type {Game} */
const game = { client, events, state, view, minimap, map, hud, session, navigation, controls, sound };
for (const install of [installInvitations, installNext, installPhoto, installSoundscape, installSurroundings, installTalk]) install(game);
const parts = Object.fromEntries(Object.entries(PARTS).map(([name, { install }]) => [name, install(game)]));
client.on.applied((message) => lookout.message(message));
const measures = new Measures(state, net);

let resized = true;                       // whether the window may differ in size from the drawing,
let drawn = '', ratio = 0;                // and the size and pixel ratio that the drawing has

// On a phone, asking for the window's size costs a layout, so frames do not ask.
addEventListener('resize', () => resized = true);

function resize() {
  const dpr = hud.effort.coarse ? Math.max(1, devicePixelRatio / 2) : devicePixelRatio;
  if (!resized && dpr === ratio) return;
  resized = false;
  ratio = dpr;
  const size = `${innerWidth}x${innerHeight}@${dpr}`;
  if (size === drawn) return;
  drawn = size;
  view.resize(innerWidth, innerHeight, dpr, textScale());
  minimap.resize(small.matches ? MINIMAP_SMALL : MINIMAP, devicePixelRatio);
  const tile = tileSize(innerWidth, innerHeight);
  state.viewport = { w: innerWidth / tile, h: innerHeight / tile };
  lookout.resize(innerWidth, innerHeight, devicePixelRatio);
  client.look(state.viewport.w, state.viewport.h);
}

function frame() {
  requestAnimationFrame(frame);
  resize();
  state.still = stillness.matches;
  state.plain = hud.effort.plain;
  state.panels = hud.room.boxes;
  client.advance();
  const now = performance.now();
  if (state.ownId === null) {
    state.aside = hud.titleScreen.aside;
    stroll(state, hud.titleScreen.looks.look, now);
  }
  advanceScene(state, now);
  if (net.playing) {
    events.emit('frame');
    hud.notes.waiting(state.lacks.first((lack) => lack(state)));
  }
  // What the map covers need not be drawn.
  if (!lookout.frame()) view.render(state);
}

function showReadings() {
  if (state.ownId === null || document.hidden) return;
  hud.readingsPanel.show(measures.take());
  minimap.render(state);
}

// The part book has this on a page of its own, under the same key.
if (!hud.tools.keys.has('n')) hud.deed({ letter: 'n', sign: 'people', label: 'You', at: 30, act: events.emitter('you') });

// For the browser's console and for tests: nothing in the page may depend on it.
globalThis.flatlands = { net, state, view, lookout, parts };

// Tells again.js and early.js that the page has begun.
document.documentElement.dataset.begun = '';
resize();
if (live) {
  hud.titleScreen.close();
  lookout.open();
} else hud.titleScreen.obeyEarly();
setInterval(showReadings, READINGS_EVERY);
requestAnimationFrame(frame);
