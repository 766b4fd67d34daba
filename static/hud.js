// The panels over the world. They know the page, not the game: what happens is told to callbacks.

import { Chat } from './hud/chat.js';
import { Menu } from './hud/menu.js';
import { Notes } from './hud/notes.js';
import { Readings } from './hud/readings.js';
import { Stick } from './hud/stick.js';
import { Title } from './hud/title.js';
import { Tools } from './hud/tools.js';
import { element } from './hud/element.js';

const NO_INSETS = { top: 0, right: 0, bottom: 0, left: 0, panels: [] };
const SAMPLE_AFTER = 5000, PAUSE = 250;   // ms
const SAMPLED = 150, SLOW = 18.5;         // frames; ms a frame
const ROOM = 6;                           // css px between a panel and what must not touch it

export class Hud {
  /** `root` holds canvas#minimap; the panels are put around it. */
  constructor(root, callbacks) {
    const focusWorld = () => document.getElementById('world').focus({ preventScroll: true });
    this.root = root;
    this.focusWorld = focusWorld;
    this.titleScreen = new Title(callbacks.onStart);
    this.readingsPanel = new Readings();
    this.chat = new Chat({ say: callbacks.onSay, open: callbacks.onChatOpen }, focusWorld);
    this.stick = new Stick(callbacks.onStick);
    this.notes = new Notes();
    this.menu = new Menu(callbacks.onMute, focusWorld);
    this.onPlayHere = callbacks.onPlayHere;
    // After a click the keys must walk again, not press the button once more.
    const then = (act) => () => {
      act();
      focusWorld();
    };
    this.tools = new Tools({ grid: then(callbacks.onGrid), home: then(callbacks.onHome),
      invite: then(callbacks.onInvite), chat: () => this.openChat() });
    this.map = element('section', { class: 'map panel', 'aria-label': 'Map' });
    const minimap = root.querySelector('#minimap');
    if (minimap !== null) this.map.append(minimap);
    this.playing = element('div', { class: 'playing', hidden: true },
      this.readingsPanel.root, this.map, this.tools.root, this.tools.legend, this.tools.keys,
      this.chat.root, this.stick.root, this.menu.root);
    root.append(this.playing, this.titleScreen.root, this.notes.hintNote, this.notes.toastNote,
      this.notes.banner, this.tools.help, this.tools.link.root);
    for (const dialog of [this.tools.help, this.tools.link.root]) {
      dialog.addEventListener('close', focusWorld);
    }
    this.known = NO_INSETS;
    addEventListener('resize', () => this.#measure());
    this.#keepAboveKeyboard();
  }

  title(suggestedName, { invitedBy } = {}) {
    this.playing.hidden = true;
    this.menu.close(false);
    this.stick.release();
    this.titleScreen.open(suggestedName, invitedBy);
    this.known = NO_INSETS;
  }

  titleError(sentence) {
    this.titleScreen.fail(sentence);
  }

  play() {
    this.titleScreen.close();
    this.playing.hidden = false;
    this.#measure();
    clearTimeout(this.sampling);
    this.sampling = setTimeout(() => this.#sampleFrames(), SAMPLE_AFTER);
  }

  readings(values) {
    this.readingsPanel.show(values);
    this.#measure();
  }

  banner(text, kind = 'info', { button, onClick = this.onPlayHere } = {}) {
    const focused = this.notes.banner.contains(document.activeElement);
    this.notes.tell(text, kind, { button, onClick });
    if (focused && button === undefined) this.focusWorld();
  }

  countdown(text) {
    this.notes.countdown(text);
  }

  log(name, colourId, text) {
    this.chat.add(name, colourId, text);
  }

  openChat() {
    this.chat.open();
  }

  walkerMenu(id, name, muted, cssX, cssY) {
    this.menu.open(id, name, muted, cssX, cssY);
  }

  /** Show a link that could not be copied. */
  showLink(link) {
    this.tools.link.open(link);
  }

  toast(text) {
    this.notes.toast(text);
  }

  hint(text) {
    this.notes.hint(text);
  }

  setGrid(on) {
    this.tools.setGrid(on);
    this.#measure();
  }

  /** What marks on the canvas must keep clear of, in css px: { top, right, bottom, left } of the
   * screen's edges, and `panels` ({ left, top, right, bottom } each). Measured a few times a
   * second, so asking costs nothing. */
  insets() {
    return this.known;
  }

  #measure() {
    if (this.playing.hidden) return;
    const panels = [];
    for (const { root } of [this.readingsPanel, { root: this.map }, this.tools,
      { root: this.tools.keys }, { root: this.tools.legend }, this.chat, this.stick]) {
      const { left, top, right, bottom } = root.getBoundingClientRect();
      if (right > left) {
        panels.push({ left: left - ROOM, top: top - ROOM, right: right + ROOM,
          bottom: bottom + ROOM });
      }
    }
    this.known = { ...NO_INSETS, panels };
  }

  /** Blurring what moves behind the panels is too dear for some machines: where frames come late
   * the panels go without. */
  #sampleFrames() {
    let frames = 0, first = 0, last = 0;
    const count = (at) => {
      if (last !== 0 && at - last > PAUSE) first = frames = 0;      // the tab slept
      if (first === 0) first = at;
      last = at;
      if (frames++ < SAMPLED) requestAnimationFrame(count);
      else if ((at - first) / SAMPLED > SLOW) this.root.classList.add('plain');
      else this.sampling = setTimeout(() => this.#sampleFrames(), SAMPLE_AFTER);
    };
    requestAnimationFrame(count);
  }

  /** The keyboard of a phone covers the page without resizing it: lift the chat above it. */
  #keepAboveKeyboard() {
    const { visualViewport } = window;
    if (!visualViewport) return;
    const lift = () => {
      const covered = innerHeight - visualViewport.height - visualViewport.offsetTop;
      this.root.style.setProperty('--keyboard', Math.max(0, Math.round(covered)) + 'px');
      if (covered > 0) scrollTo(0, 0);
    };
    visualViewport.addEventListener('resize', lift);
    visualViewport.addEventListener('scroll', lift);
  }
}
