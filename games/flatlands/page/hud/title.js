// The title screen, on which a player chooses a name and a look. Its card leaves the picture free on one side.

import { byTouch, element, show } from './element.js';
import { Looks } from './looks.js';

export class Title {
  /** `root` is the title as the document has it. `onStart(name, look)` is called when the player wants
   * to play; for `portraitOn` see Looks.
   * @param {HTMLElement} root */
  constructor(root, onStart, portraitOn) {
    /** @returns {any} */
    const part = (selector) => root.querySelector(selector);
    this.root = root;
    /** What the player did before this module was loaded, as early.js has kept it. */
    this.early = document.documentElement.dataset;
    this.live = part('.now');
    this.awaits = part('.awaits');
    this.invited = part('.invited');
    this.form = part('form');
    this.field = part('input');
    this.error = part('.error');
    this.button = part('.play');
    /** From the page's middle to the middle of what the card leaves free, in parts of the page's width and height. */
    this.aside = { x: 0, y: 0 };
    const card = part('.card'), observer = new ResizeObserver(() => this.#look(card));
    for (const one of [root, card]) observer.observe(one);
    this.looks = new Looks(portraitOn);
    part('.looks').replaceWith(this.looks.root);
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      const name = this.field.value.trim();
      if (name === '') return this.fail('Please choose a name, so that others can greet you.');
      this.fail('');
      delete this.early.typed;
      this.button.disabled = true;
      onStart(name, this.looks.look);
    });
  }

  /** Show the title. A name that the player has already typed stays. */
  open(suggestedName, look, invitedBy) {
    const typed = 'typed' in this.early;
    if (!typed) this.field.value = suggestedName;
    this.looks.look = look;
    this.invited.replaceChildren(...invitedBy === null ? [] : [element('bdi', {}, invitedBy),
      ' invited you: you start beside them, or where they were.']);
    show(invitedBy !== null, this.invited);
    this.button.disabled = false;
    show(true, this.root);
    this.looks.turn();
    // On a touch screen the focus would open the keyboard before the player has read anything.
    if (typed || byTouch()) return;
    this.field.focus();
    this.field.select();
  }

  /** Find out what the card leaves free: what is beside it, or above it on upright screens. */
  #look(card) {
    const { left, top, right } = card.getBoundingClientRect(), { clientWidth: wide, clientHeight: high } = this.root;
    if (right === left) return;
    this.aside = wide > high ? { x: right / wide / 2, y: 0 } : { x: 0, y: (top / high - 1) / 2 };
  }

  /** Play, if the player pressed Play before this was possible. */
  obeyEarly() {
    if ('pressed' in this.early) this.form.requestSubmit();
  }

  /** Say how many are walking now; null says nothing.
   * @param {string | null} sentence */
  showTotals(sentence) {
    show(sentence !== null, this.live);
    if (sentence !== null && this.live.textContent !== sentence) this.live.textContent = sentence;
  }

  /** Say what awaits the player; null says nothing.
   * @param {string | null} sentence */
  remind(sentence) {
    show(sentence !== null, this.awaits);
    this.awaits.textContent = sentence ?? '';
  }

  fail(sentence) {
    this.error.textContent = sentence;
    this.button.disabled = false;
  }

  close() {
    show(false, this.root);
  }
}
