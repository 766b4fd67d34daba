// The line with the next step: a click goes there, or does it.

import { element, icon, show } from './element.js';

/** What the line shows: a text; the direction of its place in words, which the arrow shows, and in radians from the east, clockwise,
 * or '' and null if it has none. @typedef {{ text: string, way: string, turn: number | null }} Shown */

export class NextLine {
  constructor() {
    this.onGo = () => {};
    this.onClose = () => {};
    this.arrow = icon('arrow');
    this.text = element('span', { class: 'text' });
    this.way = element('span', { class: 'unseen' });
    const go = element('button', { type: 'button', class: 'go', title: 'Your next step' }, this.arrow, this.text, this.way);
    const close = element('button', { type: 'button', class: 'close', 'aria-label': 'Hide this step', title: 'Hide this step' }, icon('close'));
    go.addEventListener('click', () => this.onGo());
    close.addEventListener('click', () => this.onClose());
    this.root = element('div', { class: 'chip panel next playing', role: 'group', 'aria-label': 'Next step', hidden: true }, go, close);
  }

  /** @param {Shown | null} step  null hides the line */
  show(step) {
    show(step !== null, this.root);
    if (step === null) return;
    for (const [part, words] of /** @type {[Element, string][]} */ ([[this.text, step.text], [this.way, step.way && ` ${step.way}`]])) {
      if (part.textContent !== words) part.textContent = words;
    }
    this.arrow.style.transform = step.turn === null ? '' : `rotate(${Math.round(step.turn / (Math.PI / 8)) * 22.5}deg)`;
  }
}
