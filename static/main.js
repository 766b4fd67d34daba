// The game: joins the connection, what is known, one's own walk, the drawing and the page. Only
// this module knows all the others.

import { Clock } from './clock.js';
import { Hud } from './hud.js';
import { Input } from './input.js';
import { suggestName } from './names.js';
import { Net } from './net.js';
import * as P from './protocol.js';
import { Scene } from './scene.js';
import { State } from './state.js';
import { Terrain } from './terrain.js';
import { UNIT } from './track.js';
import { Minimap } from './view/minimap.js';
import { tileSize, View } from './view/view.js';
import { Walk } from './walk.js';

const READINGS_EVERY = 250;               // ms
const RATES_OVER = 2000;                  // ms over which messages and bytes a second are counted
const VIEWPORT_AFTER = 250;               // ms that a resize waits for the next one
const HOME_WALKS = 40;                    // tiles: nearer to home one walks, from afar one returns
const MINIMAP = 160, MINIMAP_SMALL = 88;  // css px
const NARROW = 640;                       // css px: less is a phone
const NAME_KEY = 'flatlands.name';
// Joiners, which scripts and emoji need, are kept.
const UNSAYABLE =
  /(?![\u200c\u200d\ufe0e\ufe0f])[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
const INVITATION_LIMIT = 512;             // characters
const TITLE_SEED = 2013;                  // the ground behind the title, until the server tells

const canvas = document.getElementById('world');
const stillness = matchMedia('(prefers-reduced-motion: reduce)');
const clock = new Clock(), state = new State();
let terrain = new Terrain(TITLE_SEED);
const walk = new Walk((x, y) => terrain.blocked(x, y));
const scene = new Scene(state, walk, clock);
let view = new View(canvas, terrain, state.side);
let minimap = new Minimap(document.getElementById('minimap'), terrain);
let linked = true;                        // the server hears the others
let ownId = null, ownSeq = -1, margins = { lead: 4, drop: 8 }, side = state.side;
let viewport = { w: 40, h: 25 };          // tiles on the screen
let near = invitedBy(), onInvitation = () => {};

const hud = new Hud(document.getElementById('hud'), {
  onStart: start,
  onSay: say,
  onHome: goHome,
  onGrid: toggleGrid,
  onInvite: invite,
  onMute: mute,
  onPlayHere: () => {
    hud.banner(null);
    net.open({ ...hello(), near: null });
  },
  onStick: (dx, dy) => input.stick(dx, dy),
  onChatOpen: (open) => {
    if (open) input.rest();
  },
});

// Beside the page, wherever that is: a proxy may have put it into a folder.
const net = new Net(new URL('ws', location.href.replace(/^http/, 'ws')).href, clock, {
  welcome,
  message,
  error: (code, sentence) => {
    const own = state.players.get(ownId);
    if (code === 'flood' && own !== undefined) walk.refused(own);
    if (['flood', 'say', 'crowded', 'muted', 'notice'].includes(code)) hud.toast(sentence);
  },
  quiet: (is) => {
    if (is) walk.freeze(clock.now());
    else if (walk.thaw(clock.now())) scene.cut();
    tellLine();
  },
  lost: (why) => {
    rest();
    hud.banner(why === null ? 'Connection lost.' : sentenceOf(why), 'warn',
      { button: 'Try now', onClick: () => net.connect() });
  },
  waiting: (ms) => hud.countdown(ms === 0 ? 'Trying …' : `Next try in ${Math.ceil(ms / 1000)} s`),
  refused: (code, sentence) => {
    rest();
    ownId = null;
    state.clear();
    scene.clear();
    hud.banner(null);
    hud.title(savedName());
    hud.titleError(sentence);
  },
  takenOver: () => {
    rest();
    hud.banner('You went on playing in another window.', 'info',
      { button: 'Play here', onClick: () => net.open({ ...hello(), near: null }) });
  },
});

const input = new Input(canvas, {
  heading: (dx, dy) => {
    if (!net.playing) return;
    scene.goal = null;
    hud.hint(null);
    const t = Math.floor(clock.now());
    net.act(P.WALK, walk.follow(dx === 0 && dy === 0 ? null : { heading: [dx, dy] }, t), t, dx, dy);
  },
  tap: (cssX, cssY) => {
    if (!net.playing) return;
    canvas.focus();
    const id = view.walkerAt(lastScene, cssX, cssY);
    if (id !== null && id !== ownId) return showMenu(id, cssX, cssY);
    hud.hint(null);
    const { x, y } = view.tileAt(lastScene, cssX, cssY);
    goTo(x, y);
  },
  key: (code, target) => {
    if (!net.playing || target.closest('dialog, .popover')) return false;
    if (code === 'Enter' && target instanceof HTMLButtonElement) return false;
    if (code === 'Enter') hud.openChat();
    else if (code === 'KeyG') toggleGrid();
    else if (code === 'KeyH') goHome();
    else if (code === 'KeyI') invite();
    else if (code === 'KeyM') menuOfNearest();
    else return false;
    return true;
  },
  rest: () => {
    if (net.playing && !walk.arrived) stop();
  },
});

let lastScene = null, sized = '', viewportTimer = 0;
const rates = [];                         // { at, messages, bytes } of the last RATES_OVER

state.onSay = (player, text) => {
  if (scene.muted.has(player.id)) return;
  scene.say(player, text, performance.now());
  hud.log(scene.names.get(player.id) ?? player.name, player.id, text);
};

/** The invitation in the page's address; in older links it is a player's id. */
function invitedBy() {
  const text = new URLSearchParams(location.search).get('near');
  if (text === null || text.length > INVITATION_LIMIT) return null;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

function savedName() {
  return sessionStorage.getItem(NAME_KEY) ?? localStorage.getItem(NAME_KEY) ?? suggestName();
}

function hello() {
  return { name: savedName(), width: Math.ceil(viewport.w), height: Math.ceil(viewport.h), near };
}

function start(name) {
  const trimmed = name.trim();
  if (trimmed === '') return hud.titleError('Please choose a name, so that others can greet you.');
  sessionStorage.setItem(NAME_KEY, trimmed);
  localStorage.setItem(NAME_KEY, trimmed);
  hud.banner('Connecting …', 'info');
  net.open(hello());
}

/** Say something; what comes along unseen with pasted text, and nobody may say, is left out. */
function say(text) {
  const sayable = text.replace(UNSAYABLE, '').trim();
  if (sayable !== '') net.act(P.SAY, sayable);
}

function welcome([, , id, now, seed, x, y, newSide, , , lead, drop]) {
  if (seed !== terrain.seed || newSide !== side) {
    terrain = new Terrain(seed);
    side = newSide;
    view = new View(canvas, terrain, side);
    minimap = new Minimap(document.getElementById('minimap'), terrain);
    sized = '';
  }
  const first = ownId === null;
  ownId = id;
  ownSeq = -1;
  near = null;
  linked = true;
  state.side = side;
  margins = { lead: lead / UNIT, drop: drop / UNIT };
  state.clear();
  state.clocks.clear();
  scene.clear();
  scene.cut();
  clock.sample(performance.now(), now, performance.now());
  walk.begin(x, y, now);
  history.replaceState(null, '', location.pathname);
  hud.banner(null);
  hud.play();
  if (first) {
    hud.hint(matchMedia('(pointer: coarse)').matches
      ? 'Walk with the stick, or touch the place where you want to go.'
      : 'Walk with the arrow keys or WASD, or click where you want to go.');
    canvas.focus();
  }
  input.repeat();
}

function message(told) {
  const now = clock.now();
  state.apply(told, now);
  if (told[0] === P.BATCH) {
    // The lateness of what began a moment ago; older tracks say nothing of it.
    const [, , , node, , , sent, , events] = told;
    for (const event of events) {
      const age = event[0] === P.EVENT_TRACK ? event.at(-2) : 0;
      if (age < 250) scene.heard(now - sent - (state.clocks.get(node) ?? 0) + age);
    }
  } else if (told[0] === P.INVITATION) {
    onInvitation(told[1]);
  } else if (told[0] === P.LINK) {
    linked = told[1];
    tellLine();
  }
  const own = state.players.get(ownId);
  if (own !== undefined && own.seq !== ownSeq) {
    ownSeq = own.seq;
    if (walk.reconcile(own, now)) scene.cut();
    if (walk.ended) {
      // The server heard nothing of us for a while. What is still held goes on.
      walk.ended = false;
      scene.goal = null;
      input.repeat();
    }
  }
}

/** Tell what is wrong with the line, if anything is. */
function tellLine() {
  if (net.quiet) hud.banner('No answer from the server …', 'warn');
  else if (!linked) {
    hud.banner('This server has lost its link to the others: you see only some of the players.',
      'warn');
  } else hud.banner(null);
}

/** What the server gave as a reason, as a sentence. */
function sentenceOf(reason) {
  return reason.charAt(0).toUpperCase() + reason.slice(1) + '.';
}

/** The connection is gone: nothing moves that nobody tells of. */
function rest() {
  walk.halt(clock.now());
  scene.goal = null;
}

function stop() {
  const t = Math.floor(clock.now());
  scene.goal = null;
  net.act(P.WALK, walk.follow(null, t), t, 0, 0);
}

function goTo(x, y) {
  const t = Math.floor(clock.now());
  const goal = [Math.floor(x * UNIT), Math.floor(y * UNIT)];
  scene.goal = { x, y, at: performance.now() };
  net.act(P.GO, walk.follow({ goal }, t), t, ...goal);
}

function goHome() {
  if (!net.playing) return;
  const [x, y] = walk.drawn(clock.now());
  if (Math.hypot(x, y) <= HOME_WALKS) return goTo(0.5, 0.5);
  walk.follow(null, Math.floor(clock.now()));
  net.act(P.HOME, walk.number);
}

function toggleGrid() {
  scene.overlay = !scene.overlay;
  hud.setGrid(scene.overlay);
}

/** Ask the server for an invitation, and copy a link with it. */
function invite() {
  if (!net.playing) return;
  copy(new Promise((resolve) => {
    onInvitation = (text) => resolve(new URL(`?near=${text}`, location.href).href);
  }));
  net.act(P.INVITE);
}

async function copy(link) {
  try {
    // A page may copy only while a click is fresh: the clipboard takes what is still to come.
    const blob = link.then((text) => new Blob([text], { type: 'text/plain' }));
    await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
    hud.toast('Invite link copied: whoever opens it starts beside you.');
  } catch {
    // Without https or permission the clipboard is closed: show the link instead.
    hud.showLink(await link);
  }
}

function showMenu(id, cssX, cssY) {
  const name = scene.names.get(id);
  if (name !== undefined) hud.walkerMenu(id, name, scene.muted.has(id), cssX, cssY);
}

function menuOfNearest() {
  const [x, y] = walk.drawn(clock.now());
  const others = lastScene.walkers.filter((walker) => !walker.own);
  others.sort((a, b) => Math.hypot(a.x - x, a.y - y) - Math.hypot(b.x - x, b.y - y));
  if (others.length === 0) return hud.toast('Nobody is in sight.');
  const at = view.pointOf(lastScene, others[0].x, others[0].y);
  showMenu(others[0].id, at.x, at.y);
}

function mute(id, muted) {
  if (muted) scene.muted.add(id);
  else scene.muted.delete(id);
}

function resize() {
  const key = `${innerWidth}x${innerHeight}@${devicePixelRatio}`;
  if (key === sized) return;
  sized = key;
  view.resize(innerWidth, innerHeight, devicePixelRatio);
  const narrow = innerWidth <= NARROW || innerHeight <= NARROW;
  minimap.resize(narrow ? MINIMAP_SMALL : MINIMAP, devicePixelRatio);
  const tile = tileSize(innerWidth, innerHeight);
  viewport = { w: innerWidth / tile, h: innerHeight / tile };
  clearTimeout(viewportTimer);
  viewportTimer = setTimeout(() => {
    const { width, height } = hello();
    if (net.hello !== null) Object.assign(net.hello, { width, height });
    if (net.playing) net.send(P.VIEWPORT, width, height);
  }, VIEWPORT_AFTER);
}

function frame() {
  requestAnimationFrame(frame);
  resize();
  const at = performance.now(), now = clock.now(at);
  walk.advance(now);
  if (!walk.arrived) net.stir();
  state.expire(now);
  lastScene = scene.make(at, ownId, viewport, margins, stillness.matches);
  lastScene.insets = hud.insets();
  view.render(lastScene);
}

function showReadings() {
  if (ownId === null || document.hidden) return;
  const at = performance.now(), [x, y] = walk.drawn(clock.now());
  const { messages, bytes } = net.received;
  rates.push({ at, messages, bytes });
  while (at - rates[0].at > RATES_OVER) rates.shift();
  const passed = Math.max(at - rates[0].at, 1) / 1000;
  const { held } = state;
  hud.readings({
    name: scene.names.get(ownId) ?? savedName(),
    position: { x: Math.floor(x), y: Math.floor(y) },
    square: { col: Math.floor(x / side), row: Math.floor(y / side) },
    ping: net.playing && !net.quiet ? clock.ping : null,
    walkers: lastScene === null ? 0 : lastScene.walkers.filter(inView).length,
    held: held === null ? 0 : (held.c1 - held.c0 + 1) * (held.r1 - held.r0 + 1),
    messages: (messages - rates[0].messages) / passed,
    bytes: (bytes - rates[0].bytes) / passed,
  });
  const dots = (lastScene?.walkers ?? []).map(({ x: dotX, y: dotY, id, own }) =>
    ({ x: dotX, y: dotY, id, own }));
  minimap.render({ x, y }, viewport, dots, at);
}

function inView({ x, y, own }) {
  return !own && Math.abs(x - scene.camera.x) <= viewport.w / 2
    && Math.abs(y - scene.camera.y) <= viewport.h / 2;
}

// For the browser's console, and for tests: to look at, not to build on.
globalThis.flatlands = { clock, net, scene, state, walk, own: () => state.players.get(ownId) };

hud.title(savedName(), { invitedBy: near === null ? undefined : 'a friend' });
setInterval(showReadings, READINGS_EVERY);
requestAnimationFrame(frame);
