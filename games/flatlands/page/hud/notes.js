// Sentences that appear and disappear: the banner, toasts, the hint how to walk, and who is followed.

import { Ordered } from '../ordered.js';
import { element, icon, show } from './element.js';

const TOAST_MS = 3200, LETTER_MS = 80, OFFER_MS = 9000, HINT_MS = 12000, MISSING_MS = 6000, FADE_MS = 400;

export class Notes {
  /** `onUnfollow()` is called when the player wants to stop following. */
  constructor(onUnfollow) {
    this.text = element('span', {});
    // It changes each second, so screen readers do not read it out.
    this.count = element('span', { class: 'count', role: 'timer', 'aria-live': 'off' });
    this.button = element('button', { type: 'button', hidden: true });
    this.banner = element('div', { class: 'banner note panel', role: 'status', 'aria-live': 'polite',
      hidden: true }, this.text, this.count, this.button);
    const note = (sort) => element('div', { class: sort + ' note panel', role: 'status',
      'aria-live': 'polite' });
    this.toastNote = note('toast');
    this.hintNote = note('hint');
    this.waitNote = note('waiting');
    /** @type {string | null} */
    this.waitsFor = null;
    this.followed = element('span', { role: 'status' });
    const stop = element('button', { type: 'button', 'aria-label': 'Stop following',
      title: 'Stop following (Escape)' }, icon('close'));
    stop.addEventListener('click', onUnfollow);
    this.followNote = element('div', { class: 'following note panel', hidden: true }, this.followed, stop);
    // Only the first one is shown: style.css hides the others.
    this.root = element('div', { class: 'notes' });
    /** @type {Ordered<HTMLElement>} */
    this.order = new Ordered();
    this.add(0, this.banner);
    this.add(10, this.toastNote);
    this.add(30, this.hintNote);
    this.add(40, this.waitNote);
    // What has a clock, such as a race, comes before it.
    this.add(80, this.followNote);
    this.button.addEventListener('click', () => this.onClick?.());
  }

  /** Add a note, at a place: see Hud.note.
   * @param {number} at @param {HTMLElement} note */
  add(at, note) {
    this.order.add(at, note);
    this.root.replaceChildren(...this.order.all);
  }

  /** Show or hide the banner: see Hud.banner.
   * @param {string | null} text @param {{ label: string, onClick: () => void } | null} button */
  showBanner(text, kind, button) {
    show(text !== null, this.banner);
    this.banner.className = 'banner note panel ' + kind;
    // Setting the same text again would make screen readers read it out again.
    if (this.text.textContent !== text) this.text.textContent = text ?? '';
    this.count.textContent = '';
    this.button.textContent = button?.label ?? '';
    show(button !== null, this.button);
    this.onClick = button?.onClick;
  }

  /** Show beside the banner's text how long something will still take. */
  countdown(text) {
    if (this.count.textContent !== text) this.count.textContent = text;
  }

  /** Show who is followed; null hides it.
   * @param {string | null} name */
  following(name) {
    this.followed.replaceChildren(...name === null ? [] : ['Following ', element('bdi', {}, name)]);
    show(name !== null, this.followNote);
  }

  /** Show a sentence for as long as it takes to read, at least `least` ms, and with an `onGo()` a button that calls
   * it, to go to what the sentence is about.
   * @param {(() => void) | null} onGo */
  toast(text, onGo, least = 0) {
    if (onGo === null) return this.#flash(this.toastNote, text, Math.max(TOAST_MS, least, LETTER_MS * text.length));
    const go = element('button', { type: 'button' }, 'Go there');
    go.addEventListener('click', () => {
      this.#flash(this.toastNote, null, 0);
      onGo();
    });
    this.#flash(this.toastNote, text, OFFER_MS, go);
  }

  /** Show for a while what the player waits for; null hides it.
   * @param {string | null} text */
  waiting(text) {
    if (text === this.waitsFor) return;
    this.waitsFor = text;
    this.#flash(this.waitNote, text, MISSING_MS);
  }

  hint(text) {
    this.#flash(this.hintNote, text, HINT_MS);
  }

  #flash(note, text, time, ...more) {
    clearTimeout(note.timer);
    const hide = () => {
      note.classList.remove('shown');
      // Once it has faded, keys and screen readers must not find it any more.
      note.timer = setTimeout(() => note.replaceChildren(), FADE_MS);
    };
    if (text === null) return hide();
    note.replaceChildren(text, ...more);
    note.classList.add('shown');
    note.timer = setTimeout(hide, time);
  }
}
