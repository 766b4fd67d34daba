// The ring of emotes around the player's walker: seven buttons, for fingers and for keys.

import { EMOTES } from '../emotes.js';
import { letterOf } from '../keys.js';
import { element } from './element.js';

const SIGN = 30;                          // css px
const BACK = ['ArrowLeft', 'ArrowUp'], ON = ['ArrowRight', 'ArrowDown'];

export class Ring {
  /** `onEmote(emote)` is called with an emote's number; `signOf(emote, side)` returns a picture of it. */
  constructor(onEmote, signOf, giveFocusBack) {
    this.giveFocusBack = giveFocusBack;
    this.buttons = EMOTES.slice(1).map(({ name }, i) => {
      const sign = signOf(i + 1, SIGN), label = `${name} (${i + 1})`;
      sign.setAttribute('aria-hidden', 'true');
      const button = element('button', { type: 'button', class: `at-${i + 1}`, 'aria-label': label,
        title: label }, sign);
      button.addEventListener('click', () => {
        this.close(true);
        onEmote(i + 1);
      });
      return button;
    });
    this.root = element('div', { class: 'ring', role: 'dialog', 'aria-label': 'Emotes',
      hidden: true }, ...this.buttons);
    this.outside = (event) => {
      if (!this.root.contains(event.target)) this.close(false);
    };
    this.root.addEventListener('keydown', (event) => this.#key(event));
  }

  get isOpen() {
    return !this.root.hidden;
  }

  toggle() {
    if (this.isOpen) return this.close(true);
    this.root.hidden = false;
    this.buttons[0].focus({ preventScroll: true });
    document.addEventListener('pointerdown', this.outside, true);
  }

  close(focus) {
    if (!this.isOpen) return;
    this.root.hidden = true;
    document.removeEventListener('pointerdown', this.outside, true);
    if (focus) this.giveFocusBack();
  }

  #key(event) {
    const { buttons } = this, at = buttons.indexOf(event.target);
    const by = BACK.includes(event.key) ? -1 : ON.includes(event.key) ? 1 : 0;
    if (event.key === 'Escape' || letterOf(event) === 'e') this.close(true);
    else if (event.key >= '1' && event.key <= String(buttons.length)) buttons[event.key - 1].click();
    else if (by !== 0) buttons[(at + by + buttons.length) % buttons.length].focus();
    else return;
    // In the world these keys mean other things.
    event.stopPropagation();
    event.preventDefault();
  }
}
