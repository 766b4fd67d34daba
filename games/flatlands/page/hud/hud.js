// The panels over the world. They know the page and not the game: they report what happens by
// callbacks.

import { AtlasPanel } from './atlas.js';
import { Board } from './board.js';
import { Book } from './book.js';
import { CairnCard, CairnDialog } from './cairns.js';
import { Chat } from './chat.js';
import { byTouch, element, icon, show } from './element.js';
import { Effort, Sample } from './frames.js';
import { Menu } from './menu.js';
import { NearDialog } from './near.js';
import { Notes } from './notes.js';
import { Panels } from './panels.js';
import { Readings } from './readings.js';
import { Ring } from './ring.js';
import { Stick } from './stick.js';
import { Title } from './title.js';
import { Tools } from './tools.js';
import { YouDialog } from './you.js';

const SAMPLE_AFTER = 5000;                // ms
const TOLD_MS = 10000;                    // for which a screen reader may still come to a sentence

export class Hud {
  /** `root` holds canvas#minimap and the title; the panels are put around them. `on` has
   * { start(name, look), say(text), home(), grid(), invite(), sound(), scores(), deed(deed), build(text), stone(), hide(), closeCairn(),
   * mute(id, muted), follow(id), unfollow(), near(), stick(dx, dy), typing(), emote(emote), book(), almanac(), goToPlace(x, y, name), you(), appear(name, look), anew(), map(),
   * zoom(factor), whole(), closeMap() }, and `pictures` what Looks and Ring need: { portraitOn(canvas),
   * signOf(emote, side) }. `deeds` are those of kinds.js. With `live` there is only the map of everybody. */
  constructor(root, on, pictures, deeds, live) {
    const focusWorld = () => this.focusWorld();
    this.root = root;
    this.titleScreen = new Title(root.querySelector('#title'), on.start, pictures.portraitOn);
    this.readingsPanel = new Readings();
    this.chat = new Chat(on, focusWorld);
    this.stick = new Stick(on.stick);
    this.notes = new Notes(() => {
      on.unfollow();
      focusWorld();
    });
    this.menu = new Menu(on, focusWorld);
    this.nearDialog = new NearDialog();
    this.typing = on.typing;
    this.board = new Board(() => {
      this.hint(null);                    // it would cover the board
      on.scores();
    }, focusWorld);
    this.cairnCard = new CairnCard(on, focusWorld, () => this.room.moved());
    this.cairnDialog = new CairnDialog(on.build);
    this.youDialog = new YouDialog(on, pictures.portraitOn);
    this.book = new Book(on);
    this.notes.root.prepend(this.book.card);
    this.ring = new Ring(on.emote, pictures.signOf, focusWorld);
    // What happens on the canvas, for screen readers.
    this.told = element('div', { class: 'unseen', role: 'log', 'aria-label': 'What happens' });
    // After a click on a button the keys must control the walk again, and not press the button.
    const then = (act) => (...given) => {
      act(...given);
      focusWorld();
    };
    this.tools = new Tools({ grid: then(on.grid), home: then(on.home), invite: then(on.invite),
      deed: on.deed, map: on.map, sound: then(on.sound), board: () => this.board.toggle(),
      chat: () => this.openChat(), book: on.book, emote: () => this.ring.toggle(),
      help: () => this.#showDialog(this.tools.help) }, deeds, focusWorld);
    this.readingsPanel.root.append(this.tools.legend);
    this.map = element('section', { class: 'map panel', 'aria-label': 'Map' });
    const minimap = root.querySelector('#minimap');
    if (minimap !== null) this.map.append(minimap);
    const corner = (sort, sign, label) => element('button', { type: 'button', class: sort,
      'aria-label': label.replace(/ \(.*/, ''), title: label }, icon(sign));
    const world = corner('world', 'globe', 'Map of everybody (O)');
    const near = corner('near', 'people', 'Who is near (M)');
    this.map.append(near, world);
    this.map.addEventListener('click', on.map);
    near.addEventListener('click', (event) => {
      event.stopPropagation();            // the map below opens that of everybody
      on.near();
    });
    this.atlas = new AtlasPanel({ zoom: then((factor) => on.zoom(factor)), whole: then(on.whole),
      close: on.closeMap }, live);
    this.playing = element('div', { class: 'playing', hidden: true },
      this.readingsPanel.root, this.map, this.tools.root, this.board.counter, this.board.root,
      this.board.told, this.told, this.cairnCard.root, this.cairnCard.told,
      this.tools.keys, this.chat.root, this.stick.root, this.menu.root, this.ring.root);
    // The title stays where it is: the player may be typing there.
    this.titleScreen.root.before(this.playing, this.atlas.root);
    root.append(this.notes.root, this.notes.banner, this.tools.help, this.tools.link.root,
      this.nearDialog.root, this.cairnDialog.root, this.youDialog.root, this.book.root, this.book.almanac);
    const { count, list } = this.readingsPanel, { hintNote, toastNote, banner, followNote } = this.notes;
    this.room = new Panels(root, [count, list, this.map, this.tools.root, this.tools.keys,
      this.tools.legend, this.chat.root, this.stick.root, this.board.root, this.board.counter,
      this.cairnCard.root, this.book.card, followNote, hintNote, toastNote, banner]);
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

  /** Show the title and ask for a name and a look. `invitedBy` says who invited the player, or is null.
   * @param {string | null} invitedBy */
  title(suggestedName, look, invitedBy = null) {
    this.playing.hidden = true;
    this.menu.close(false);
    this.ring.close(false);
    this.board.close();
    this.stick.release();
    this.titleScreen.open(suggestedName, look, invitedBy);
  }

  titleError(sentence) {
    this.titleScreen.fail(sentence);
  }

  play() {
    this.titleScreen.close();
    this.playing.hidden = false;
    clearTimeout(this.sampling);
    this.sampling = setTimeout(() => this.#sampleFrames(), SAMPLE_AFTER);
  }

  readings(values) {
    this.readingsPanel.show(values);
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
    this.root.classList.toggle('mapped', is);
  }

  /** Show the banner with a text that stays, of the kind 'info' or 'warn', and a button if the player
   * can do something about it. null hides the banner.
   * @param {string | null} text @param {{ label: string, onClick: () => void } | null} button */
  banner(text, kind = 'info', button = null) {
    const focused = this.notes.banner.contains(document.activeElement);
    this.notes.tell(text, kind, button);
    if (focused && button === null) this.focusWorld();
  }

  countdown(text) {
    this.notes.countdown(text);
  }

  /** Add a line to the chat. */
  log(name, colourId, look, text) {
    this.chat.add(name, colourId, look, text);
  }

  /** Let screen readers read what happened, if it can be seen on the canvas only. */
  tell(text) {
    const line = element('p', {}, text);
    this.told.append(line);
    setTimeout(() => line.remove(), TOLD_MS);
  }

  /** Show in the tab what happens, as long as the page is hidden. */
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

  /** Open the book of the player. */
  openBook() {
    this.typing();
    this.book.closeCard();
    this.#showDialog(this.book.root);
  }

  /** Open the almanac. */
  openAlmanac() {
    this.typing();
    this.#showDialog(this.book.almanac);
  }

  toggleRing() {
    this.ring.toggle();
  }

  openChat() {
    this.chat.open();
  }

  walkerMenu(id, look, name, muted, cssX, cssY) {
    this.menu.open(id, look, name, muted, cssX, cssY);
  }

  /** Show a link to be shared, or copied by hand; `local` if it leads to this machine only. */
  showLink(link, local) {
    this.#showDialog(this.tools.link.root);
    this.tools.link.offer(link, local);
  }

  /** Show a dialog. When it is closed, the focus is in the world again.
   * @param {HTMLDialogElement} dialog */
  #showDialog(dialog) {
    this.focusWorld();
    dialog.showModal();
    dialog.scrollTop = 0;                 // it may have gone to the button that has the focus
  }

  toast(text) {
    this.notes.toast(text);
  }

  /** Show who is followed, and a button to end that; null hides it.
   * @param {string | null} name */
  following(name) {
    this.notes.following(name);
  }

  /** Show a hint for a while; null hides it. With fingers it is `touched`.
   * @param {string | null} text */
  hint(text, touched = text) {
    this.notes.hint(byTouch() ? touched : text);
  }

  /** List who and what is near: see NearDialog.
   * @param {import('../near.js').Near[]} walkers @param {import('../near.js').Near[]} places
   * @param {(near: import('../near.js').Near, act: string) => void} onChoose */
  openNear(walkers, places, onChoose) {
    this.typing();
    this.nearDialog.fill(walkers, places, onChoose);
    this.#showDialog(this.nearDialog.root);
  }

  /** Ask for the line of a new cairn. */
  openCairn() {
    this.typing();
    this.#showDialog(this.cairnDialog.root);
  }

  /** The server refused something: a line that was just left for a cairn is kept for another try. */
  keepLine() {
    this.cairnDialog.keep();
  }

  /** Show a cairn's line: see CairnCard.
   * @param {import('../replica.js').Thing} cairn @param {{ stone: boolean, hide: boolean }} may
   * @param {{ x: number, y: number, below: boolean }} place */
  showCairn(cairn, may, place) {
    this.cairnCard.show(cairn, may, place);
  }

  hideCairn() {
    this.cairnCard.close();
  }

  /** Show the own score and the best; see Board.
   * @param {import('./board.js').Score} score @param {[string, number, boolean][]} top
   * @param {([string, number, boolean] | null)[]} longest */
  showBoard(score, top, longest) {
    this.board.show(score, top, longest);
  }

  toggleBoard() {
    if (!this.board.counter.hidden) this.board.toggle();
  }

  /** Close the board; return whether it was open. */
  closeBoard() {
    const was = this.board.isOpen;
    this.board.close();
    return was;
  }

  /** The server keeps what lasts: show the counter of gems, and the buttons that are about it. */
  showLasting() {
    show(true, this.board.counter);
    this.tools.showLasting();
  }

  setSound(on) {
    this.tools.setSound(on);
  }

  setGrid(on) {
    this.tools.setGrid(on);
    this.readingsPanel.open(on);
    if (on) this.hint(null);              // it would cover the legend
  }

  /** The panels, which marks on the canvas must not cover. */
  get panels() {
    return this.room.boxes;
  }

  /** Measure how long frames take, and draw what this machine can bear. */
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
