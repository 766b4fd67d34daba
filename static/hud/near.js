// The list of who and what is near: for keys, and for whoever cannot see the canvas.

import { faceOf } from '../faces.js';
import { element, show } from './element.js';

/** @typedef {import('../near.js').Near} Near */

export class NearDialog {
  constructor() {
    this.list = element('ul', { 'aria-label': 'Walkers' });
    this.nobody = element('p', {}, 'Nobody is in sight.');
    this.places = element('ul', { 'aria-label': 'Places' });
    this.root = element('dialog', { class: 'help near panel', 'aria-label': 'Who is near' },
      element('h2', {}, 'Who is near'), this.list, this.nobody, this.places,
      element('form', { method: 'dialog' },
        element('button', { type: 'submit', class: 'play quiet' }, 'Close')));
  }

  /** Fill the list; `onChoose(near)` is called with what is chosen of it, once the dialog is closed.
   * @param {Near[]} walkers @param {Near[]} places @param {(near: Near) => void} onChoose */
  fill(walkers, places, onChoose) {
    const row = (near) => {
      const { name, way, walker } = near, who = element('bdi', {}, name);
      if (walker !== null) who.style.color = faceOf(walker.id, walker.look).ink;
      const button = element('button', { type: 'button' }, who, ' ', element('span', {}, way));
      button.addEventListener('click', () => {
        this.root.close();
        onChoose(near);
      });
      return element('li', {}, button);
    };
    this.list.replaceChildren(...walkers.map(row));
    this.places.replaceChildren(...places.map(row));
    show(walkers.length > 0, this.list);
    show(walkers.length === 0, this.nobody);
  }
}
