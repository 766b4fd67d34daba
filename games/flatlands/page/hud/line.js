// The line with the next step: a click goes there, or does it.

import { element, icon, show } from './element.js';

export class NextLine {
  constructor() {
    this.onGo = () => {};
    this.onClose = () => {};
    this.arrow = icon('arrow');
    this.text = element('span', { class: 'text' });
    const go = element('button', { type: 'button', class: 'go', title: 'Your next step' }, this.arrow, this.text);
    const close = element('button', { type: 'button', class: 'close', 'aria-label': 'Hide this step', title: 'Hide this step' }, icon('close'));
    go.addEventListener('click', () => this.onGo());
    close.addEventListener('click', () => this.onClose());
    this.root = element('div', { class: 'chip panel next', role: 'group', 'aria-label': 'Next step', hidden: true }, go, close);
  }

  /** Show a step, and by an arrow in which direction its place is (in radians from the east, clockwise; null if it has none).
   * @param {{ text: string, turn: number | null } | null} step  null hides the line */
  show(step) {
    show(step !== null, this.root);
    if (step === null) return;
    if (this.text.textContent !== step.text) this.text.textContent = step.text;
    this.arrow.style.transform = step.turn === null ? '' : `rotate(${Math.round(step.turn / (Math.PI / 8)) * 22.5}deg)`;
    this.arrow.classList.toggle('star', step.turn === null);
  }
}
