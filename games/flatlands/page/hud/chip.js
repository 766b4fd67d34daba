// A chip: a short reading in the strip at the upper left, such as who is in view, how many gems the player has,
// or a running clock. It is hidden while it has nothing to show.

import { element, icon, show } from './element.js';

export class Chip {
  /** `sign` is one of ICONS or a path, and `hue` the colour that fills it, or null. `about` says what the chip shows; with
   * `onClick` it is a button, and says what that does.
   * @param {string} sign @param {string} about @param {(() => void) | null} onClick @param {string | null} hue */
  constructor(sign, about, onClick = null, hue = null) {
    this.about = about;
    this.sign = icon(sign);
    this.text = element('span', { class: 'text' });
    this.spoken = element('span', { class: 'unseen' });
    this.root = onClick === null ? element('p', {}) : element('button', { type: 'button' });
    this.root.className = 'chip panel';
    this.root.title = about;
    this.root.hidden = true;
    this.root.append(this.sign, this.text, this.spoken);
    if (hue !== null) this.sign.style.setProperty('--hue', hue);
    if (onClick !== null) this.root.addEventListener('click', onClick);
  }

  /** Show a text; null hides the chip. Screen readers read `more` after it.
   * @param {string | null} text */
  show(text, more = `: ${this.about}`) {
    show(text !== null, this.root);
    if (text === null) return;
    for (const [part, words] of [[this.text, text], [this.spoken, more]]) {
      if (part.textContent !== words) part.textContent = words;
    }
  }
}
