// The game: makes the state, the drawing, the panels, the session and the controls, and connects
// them. Only this module knows all the others.

import { Client } from './client.js';
import { Controls } from './controls.js';
import { randomLook } from './faces.js';
import { Hud } from './hud/hud.js';
import { Input } from './input.js';
import { KINDS } from './kinds.js';
import { Lookout } from './lookout.js';
import { Measures } from './measures.js';
import { advanceScene } from './scene.js';
import { Session } from './session.js';
import { Sound } from './sound.js';
import { Spectator } from './spectator.js';
import { State } from './state.js';
import { stroll } from './strollers.js';
import { AtlasView } from './view/atlas.js';
import { Minimap } from './view/minimap.js';
import { Portrait, propPicture, signOf } from './view/portrait.js';
import { tileSize, View } from './view/view.js';

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
const view = new View(canvas, state.terrain, KINDS);
const deeds = KINDS.flatMap(({ deed }) => deed === undefined ? []
  : { ...deed, lasts: true, act: () => deed.act(controls) });
const minimap = new Minimap(document.getElementById('minimap'));
const hud = new Hud(document.getElementById('hud'), {
  start: (name, look) => session.start(name, look),
  say: (text) => controls.say(text),
  home: () => controls.goHome(),
  grid: () => controls.toggleGrid(),
  invite: () => controls.invite(),
  sound: () => controls.toggleSound(),
  scores: () => controls.scores(),
  build: (text) => controls.build(text),
  stone: () => controls.stone(),
  hide: () => controls.hide(),
  closeCairn: () => controls.closeCairn(),
  mute: (id, muted) => controls.mute(id, muted),
  follow: (id) => controls.follow(id),
  unfollow: () => controls.unfollow(),
  near: () => controls.openNear(),
  find: (text) => controls.openNear(text),
  stick: (dx, dy) => input.stick(dx, dy),
  typing: () => input.rest(),
  emote: (emote) => controls.emote(emote),
  waveBack: () => controls.waveBack(),
  race: () => controls.races.next(),
  stopRace: () => controls.races.stop(),
  book: () => controls.openBook(),
  sow: (kind) => controls.garden.sow(kind),
  purse: () => controls.garden.ask(),
  almanac: () => controls.openAlmanac(),
  goToPlace: (x, y, name) => controls.goToPlace(x, y, name),
  you: () => controls.openYou(),
  appear: (name, look) => controls.appear(name, look),
  anew: () => session.startAnew(),
  map: () => lookout.open(),
  zoom: (factor) => lookout.zoom(factor),
  whole: () => lookout.whole(),
  closeMap: () => lookout.close(),
  unaim: () => controls.endAim(),
}, { portraitOn: (own) => new Portrait(own), signOf, propPicture }, deeds, live);
const session = new Session(client, state, hud, () => input.repeat());
const controls = new Controls(state, session, hud, view, new Sound());
const input = new Input(canvas, controls);
const spectator = new Spectator(net.url, (message) => lookout.message(message));
const lookout = new Lookout(state, hud, new AtlasView(document.getElementById('atlas')), net,
  spectator, live);
client.on.message((message) => {
  lookout.message(message);
  state.grown.take(message, client);
});
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
  view.resize(innerWidth, innerHeight, dpr);
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
  controls.frame();
  // What the map covers need not be drawn.
  if (!lookout.frame()) view.render(state);
}

function showReadings() {
  if (state.ownId === null || document.hidden) return;
  hud.readingsPanel.show(measures.take());
  minimap.render(state);
}

// For the browser's console and for tests: nothing in the page may depend on it.
globalThis.flatlands = { net, state, view, lookout };

// Tells again.js and early.js that the page has begun.
document.documentElement.dataset.begun = '';
resize();
if (live) {
  hud.titleScreen.close();
  lookout.open();
} else hud.titleScreen.obeyEarly();
setInterval(showReadings, READINGS_EVERY);
requestAnimationFrame(frame);
