// Sentences that come and go: the banner, toasts and the hint of the first steps.

import { element, show } from './element.js';

const TOAST_MS = 3200, HINT_MS = 12000;

export class Notes {
  constructor() {
    this.text = element('span', {});
    // Seen, and not read out each second.
    this.count = element('span', { class: 'count', role: 'timer', 'aria-live': 'off' });
    this.button = element('button', { type: 'button', hidden: true });
    this.banner = element('div', { class: 'banner panel', role: 'status', 'aria-live': 'polite',
      hidden: true }, this.text, this.count, this.button);
    const note = (sort) => element('div', { class: sort + ' panel', role: 'status',
      'aria-live': 'polite' });
    this.toastNote = note('toast');
    this.hintNote = note('hint');
    this.button.addEventListener('click', () => this.onClick?.());
  }

  /** Show the banner: see Hud.banner.
   * @param {string | null} text @param {{ label: string, onClick: () => void } | null} button */
  tell(text, kind, button) {
    show(text !== null, this.banner);
    this.banner.className = 'banner panel ' + kind;
    // What is told once more is not to be read out once more.
    if (this.text.textContent !== text) this.text.textContent = text ?? '';
    this.count.textContent = '';
    this.button.textContent = button?.label ?? '';
    show(button !== null, this.button);
    this.onClick = button?.onClick;
  }

  /** Show beside the banner's text how long something takes. */
  countdown(text) {
    if (this.count.textContent !== text) this.count.textContent = text;
  }

  toast(text) {
    this.#flash(this.toastNote, text, TOAST_MS);
  }

  hint(text) {
    this.#flash(this.hintNote, text, HINT_MS);
  }

  #flash(note, text, time) {
    clearTimeout(note.timer);
    note.classList.toggle('shown', text !== null);
    if (text === null) return;
    note.textContent = text;
    note.timer = setTimeout(() => note.classList.remove('shown'), time);
  }
}
