// What is said of the ember: a note with a flame, and a line that shrinks as it burns down.

import { element, icon, show } from '../hud/element.js';

export class EmberNote {
  constructor() {
    this.text = element('span', {});
    this.rest = element('i', {});
    // It is not read out, since it changes with every step: toasts say what happens.
    this.root = element('div', { class: 'ember note panel', hidden: true }, icon('flame'), this.text, this.rest);
  }

  /** Show a sentence, and how much is left (1 .. 0), or null if nobody carries the ember; null hides it.
   * @param {string | null} text @param {number | null} left */
  show(text, left) {
    show(text !== null, this.root);
    if (text !== null && this.text.textContent !== text) this.text.textContent = text;
    this.rest.style.transform = `scaleX(${left ?? 0})`;
  }
}
