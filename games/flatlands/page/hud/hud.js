// The panels over the world. They know the page and not the game: they say what the player wants by
// events. All look alike, and each kind has its place: short readings in the strip at the upper left (`chip`), notes on top
// (`toast`, `hint`), what the player opens beside the map (`sheet`), the chat at the lower left, and what can be done in the menu
// there (`deed`). A new panel is one of these, made by its own module: it needs no CSS.

import { Ordered } from '../ordered.js';
import { AtlasPanel } from './atlas.js';
import { Chat } from './chat.js';
import { byTouch, element, icon, show } from './element.js';
import { Effort, Sample } from './frames.js';
import { NextLine } from './line.js';
import { LinkDialog } from './link.js';
import { Menu } from './menu.js';
import { NearDialog } from './near.js';
import { Notes } from './notes.js';
import { Panels } from './panels.js';
import { Readings } from './readings.js';
import { Ring } from './ring.js';
import { closeSheet, Sheet } from './sheet.js';
import { Stick } from './stick.js';
import { Title } from './title.js';
import { Tools } from './tools.js';
import { YouDialog } from './you.js';

/** @typedef {import('./tools.js').Deed} Deed */

const SAMPLE_AFTER = 5000;                // ms
const LIVE_MS = 10000;                    // for which a screen reader can still reach a sentence

export class Hud {
  /** `root` holds canvas#minimap and the title; the panels are put around them. `pictures` has what
   * Looks and Ring need: { portraitOn(canvas), signOf(emote, side) }. With `live` only the map
   * of everybody is shown. What the player wants is an event, such as 'home'.
   * @param {import('../events.js').Events} events */
  constructor(root, events, pictures, live) {
    const focusWorld = () => this.focusWorld();
    /** @type {import('../events.js').Events['emitter']} */
    const says = (name) => events.emitter(name);
    // After a click on a button, keys must control the walk again and not press the button.
    /** @type {import('../events.js').Events['emitter']} */
    const then = (name) => (...given) => {
      const done = events.emit(name, ...given);
      focusWorld();
      return done;
    };
    this.root = root;
    this.events = events;
    this.titleScreen = new Title(root.querySelector('#title'), says('start'), pictures.portraitOn);
    this.readingsPanel = new Readings(says('near'));
    /** The line with the next step. */
    this.line = new NextLine();
    this.chat = new Chat(events, focusWorld);
    this.stick = new Stick(says('stick'));
    this.notes = new Notes(then('unfollow'));
    this.menu = new Menu(events, focusWorld);
    this.nearDialog = new NearDialog();
    this.linkDialog = new LinkDialog(says('photo'));
    this.typing = says('typing');
    this.youDialog = new YouDialog(events, pictures.portraitOn);
    this.ring = new Ring(says('emote'), pictures.signOf, focusWorld);
    // What happens on the canvas, for screen readers.
    this.liveRegion = element('div', { class: 'unseen', role: 'log', 'aria-label': 'What happens' });
    // A wave is returned at once.
    this.emote = () => events.emit('waveBack') || this.ring.toggle();
    /** @type {Ordered<HTMLElement>} What the book has besides its lines. */
    this.pages = new Ordered();
    /** Whether the server keeps what lasts. */
    this.lasts = document.querySelector('meta[name=forgets][content=always]') === null;
    this.tools = new Tools({ chat: () => this.chat.open(), emote: this.emote, sound: says('sound') }, this.lasts, focusWorld);
    const world = element('button', { type: 'button', class: 'world', 'aria-label': 'Map of everybody',
      title: 'Map of everybody (O)' }, icon('globe'));
    this.map = element('section', { class: 'map panel', 'aria-label': 'Map' });
    const minimap = root.querySelector('#minimap');
    if (minimap !== null) this.map.append(minimap);
    this.map.append(world);
    this.map.addEventListener('click', says('map'));
    this.atlas = new AtlasPanel({ zoom: then('zoom'), whole: then('whole'), close: says('closeMap'),
      unaim: then('unaim') }, live);
    const { root: readings, strip, list } = this.readingsPanel;
    const { notes, tools: { legend } } = this, { root: stick } = this.stick;
    /** Where parts of the game put what has a place in the world. */
    this.over = element('div', { class: 'playing' });
    /** Where sheets are opened. */
    this.beside = element('div', { class: 'beside playing' }, this.map);
    this.dock = element('div', { class: 'dock panel' }, this.chat.root, this.tools.root);
    // The title stays where it is: the player may be typing there.
    this.titleScreen.root.before(
      this.over,
      element('div', { class: 'top' }, readings, this.line.root, this.beside, notes.root),
      element('div', { class: 'bottom playing' }, this.dock, legend, stick), this.liveRegion,
      element('div', { class: 'playing' }, this.menu.root, this.ring.root), this.atlas.root);
    root.append(this.tools.help.root, this.linkDialog.root, this.nearDialog.root, this.youDialog.root);
    this.room = new Panels(root, [strip, this.line.root, list, this.map, this.dock, legend, stick,
      ...notes.root.children]);
    this.#addAll();
    this.effort = new Effort();
    /** @type {Sample | null} The frames that are measured now, or were last. */
    this.sample = null;
    this.pageTitle = document.title;
    // A page that nobody sees draws no frames.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) document.title = this.pageTitle;
      if (this.sample !== null) this.#sampleFrames();
    });
    this.#keepAboveKeyboard();
  }

  #addAll() {
    /** @type {import('../events.js').Events['emitter']} */
    const says = (name) => this.events.emitter(name);
    const { tools } = this;
    for (const [letter, act] of /** @type {[string, () => void][]} */ ([['e', this.emote], ['o', says('map')],
      ['m', says('near')], ['v', says('sound')], ['g', says('grid')]])) tools.keys.set(letter, act);
    this.deed({ at: 10, letter: 'h', sign: 'home', label: 'Home', act: says('home') });
    this.deed({ at: 20, letter: 'i', sign: 'invite', label: 'Invite', act: says('invite') });
    this.deed({ at: 100, letter: '', sign: 'help', label: 'Help', act: () => this.#showDialog(tools.help.root) });
  }

  /** Show a note when none before it has anything to say. The banner has the place 0, toasts have 10, hints 30, what
   * the player waits for 40, and who is followed 80.
   * @param {number} at @param {HTMLElement} root */
  note(at, root) {
    this.notes.add(at, root);
    this.room.watch(root);
  }

  /** Return a new sheet; add what it shows to its `root`. `label` is its name. */
  sheet(label, heading) {
    const sheet = new Sheet(label, heading);
    sheet.giveFocusBack = () => this.focusWorld();
    this.beside.append(sheet.root);
    this.room.watch(sheet.root);
    return sheet;
  }

  /** Open a sheet, or close it. */
  toggleSheet(sheet) {
    this.hint(null);                      // there may be no room for both
    sheet.toggle();
  }

  /** Let the key of a letter do something that no entry of the menu does.
   * @param {() => void} act */
  key(letter, act) {
    this.tools.keys.set(letter, act);
  }

  /** Let the player do something by a key and an entry of the menu, which is returned.
   * @param {Deed} deed */
  deed(deed) {
    return this.tools.add(deed);
  }

  /** Show the title and ask for a name and a look. `invitedBy` says who invited the player, or is null.
   * @param {string | null} invitedBy */
  title(suggestedName, look, invitedBy = null) {
    this.menu.close(false);
    this.ring.close(false);
    closeSheet();
    this.stick.release();
    this.hint(null);                      // it is about the walk
    this.titleScreen.open(suggestedName, look, invitedBy);
    this.#turn();
  }

  /** Show the panels of the title, of the map of everybody or of the game. */
  #turn() {
    this.root.dataset.shows = !this.titleScreen.root.hidden ? 'title' : this.atlas.root.hidden ? 'game' : 'map';
  }

  play() {
    this.titleScreen.close();
    this.#turn();
    clearTimeout(this.sampling);
    this.sampling = setTimeout(() => this.#sampleFrames(), SAMPLE_AFTER);
  }

  /** Give the focus to the world, so that keys control the walk; or to the map while that is shown. */
  focusWorld() {
    const open = !this.atlas.root.hidden;
    document.getElementById(open ? 'atlas' : 'world')?.focus({ preventScroll: true });
  }

  /** Show the panels of the map of everybody instead of the others, or the others again. */
  openAtlas(is) {
    if (is) {
      this.typing();
      this.menu.close(false);
      this.ring.close(false);
      this.hint(null);
    }
    this.atlas.open(is);
    this.#turn();
  }

  /** Show the banner with a text that stays, of the kind 'info' or 'warn', and a button if the player
   * can do something about it. null hides the banner.
   * @param {string | null} text @param {{ label: string, onClick: () => void } | null} button */
  banner(text, kind = 'info', button = null) {
    const focused = this.notes.banner.contains(document.activeElement);
    this.notes.showBanner(text, kind, button);
    if (focused && button === null) this.focusWorld();
  }

  /** Let screen readers read what happened, if it is shown only on the canvas. */
  announce(text) {
    const line = element('p', {}, text);
    this.liveRegion.append(line);
    setTimeout(() => line.remove(), LIVE_MS);
  }

  /** Show in the tab's title what happens, as long as the page is hidden. */
  callBack(text) {
    if (document.hidden) document.title = `${text} · ${this.pageTitle}`;
  }

  /** Let the player change its name and its look. */
  openYou(name, look) {
    this.typing();
    this.youDialog.open(name, look);
    this.#showDialog(this.youDialog.root);
    this.youDialog.opened();
  }

  /** Open a dialog of a part of the game, which is in the page from then on.
   * @param {HTMLDialogElement} dialog */
  openDialog(dialog) {
    if (!dialog.isConnected) this.root.append(dialog);
    this.typing();
    this.#showDialog(dialog);
  }

  /** Show a link to be shared, or copied by hand; `local` if it leads to this machine only. */
  showLink(link, local) {
    this.#showDialog(this.linkDialog.root);
    this.linkDialog.offer(link, local);
  }

  /** Show a dialog. When it is closed, the focus is in the world again.
   * @param {HTMLDialogElement} dialog */
  #showDialog(dialog) {
    this.focusWorld();
    this.hint(null);                      // it would shine through
    dialog.showModal();
    dialog.scrollTop = 0;                 // it may have scrolled to the button that has the focus
  }

  /** Show a sentence for some seconds, at least `least` ms, and in the tab's title while the page is hidden. With an `onGo()`
   * there is a button that calls it, to go to what the sentence is about.
   * @param {(() => void) | null} onGo */
  toast(text, onGo = null, least = 0) {
    this.notes.toast(text, onGo === null ? null : () => {
      onGo();
      this.focusWorld();
    }, least);
    this.callBack(text);
  }

  /** Show a hint for a while, or `touched` on a device used with fingers; null hides it.
   * @param {string | null} text */
  hint(text, touched = text) {
    this.notes.hint(byTouch() ? touched : text);
  }

  /** List who and what is near, or only what contains a text: see NearDialog.
   * @param {import('../near.js').Near[]} walkers @param {import('../near.js').Near[]} places
   * @param {(near: import('../near.js').Near, act: string) => void} onChoose
   * @param {(text: string) => void} onSeek */
  openNear(walkers, places, onChoose, onSeek, text = '') {
    this.typing();
    this.nearDialog.onSeek = onSeek;
    this.nearDialog.field.value = text;
    this.nearDialog.fill(walkers, places, onChoose);
    this.#showDialog(this.nearDialog.root);
    if (text !== '') onSeek(text);
  }

  /** Close the sheet that is open; return whether there was one. */
  closeSheet() {
    return closeSheet();
  }

  setSound(on) {
    this.tools.help.sound.textContent = on ? 'Mute sounds' : 'Unmute sounds';
  }

  setGrid(on) {
    show(on, this.tools.legend);
    this.readingsPanel.open(on);
    if (on) this.hint(null);              // on the smallest screens there is no room for both
  }

  /** Measure how long frames take, and draw as much as this machine can. */
  #sampleFrames() {
    const sample = this.sample = new Sample();
    const count = (at) => {
      if (this.sample !== sample) return;
      const took = sample.frame(at);
      if (took === null) return requestAnimationFrame(count);
      this.effort.judge(took);
      this.root.classList.toggle('plain', this.effort.plain);
      if (!this.effort.coarse) this.sampling = setTimeout(() => this.#sampleFrames(), SAMPLE_AFTER);
    };
    requestAnimationFrame(count);
  }

  /** Lift the chat above the keyboard of a phone, which covers the page without resizing it. */
  #keepAboveKeyboard() {
    const { visualViewport } = window;
    if (!visualViewport) return;
    const lift = () => {
      const covered = innerHeight - visualViewport.height - visualViewport.offsetTop;
      this.root.style.setProperty('--keyboard', Math.max(0, Math.round(covered)) + 'px');
      this.room.moved();
      if (covered > 0) scrollTo(0, 0);
    };
    visualViewport.addEventListener('resize', lift);
    visualViewport.addEventListener('scroll', lift);
  }
}
