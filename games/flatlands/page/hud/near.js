// The list of who and what is near: for keys, and for players who cannot see the canvas.

import { faceOf, isComputer } from '../faces.js';
import { composes } from '../keys.js';
import { element, icon, show } from './element.js';

/** @typedef {import('../near.js').Near} Near */

export class NearDialog {
  constructor() {
    /** Called with the letters of a name that the player looks for. @type {(text: string) => void} */
    this.onSeek = () => {};
    this.field = element('input', { type: 'text', maxlength: 40, autocomplete: 'off', 'aria-label': 'Find',
      placeholder: 'Find people and places…' });
    this.field.addEventListener('input', () => this.onSeek(this.text));
    this.field.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key !== 'Enter' || composes(event)) return;
      event.preventDefault();
      /** @type {HTMLButtonElement | null} */ (this.root.querySelector('ul:not([hidden]) button'))?.click();
    });
    this.list = element('ul', { 'aria-label': 'Walkers' });
    this.nobody = element('p', {}, 'Nobody is in sight.');
    this.places = element('ul', { 'aria-label': 'Places' });
    this.root = element('dialog', { class: 'help near panel', 'aria-label': 'Who is near' },
      element('h2', {}, 'Who is near'), this.field, this.list, this.nobody, this.places,
      element('form', { class: 'end', method: 'dialog' },
        element('button', { type: 'submit', class: 'play quiet' }, 'Close')));
  }

  /** What is looked for. */
  get text() {
    return this.field.value.trim();
  }

  /** Fill the list; `onChoose(near, act)` is called with what was chosen once the dialog is closed; `act`
   * is 'open', 'wave' or 'follow'.
   * @param {Near[]} walkers @param {Near[]} places @param {(near: Near, act: string) => void} onChoose */
  fill(walkers, places, onChoose) {
    const row = (near) => {
      const { name, way, walker } = near, who = element('bdi', {}, name);
      const button = (act, attributes, ...children) => {
        const made = element('button', { type: 'button', ...attributes }, ...children);
        made.addEventListener('click', () => {
          this.root.close();
          onChoose(near, act);
        });
        return made;
      };
      const far = element('span', {}, way);
      if (walker === null) return element('li', {}, button('open', {}, who, ' ', far));
      who.style.color = faceOf(walker.id, walker.look).ink;
      const kind = isComputer(walker.id)
        ? [icon('wind'), element('i', { class: 'unseen' }, 'clockwork '), ' '] : [];
      const small = (act, sign, label) => button(act, { 'aria-label': label, title: label }, icon(sign));
      return element('li', {}, button('open', {}, ...kind, who, ' ', far),
        small('wave', 'emote', `Wave to ${name}`), small('follow', 'follow', `Follow ${name}`));
    };
    this.list.replaceChildren(...walkers.map(row));
    this.places.replaceChildren(...places.map(row));
    this.nobody.textContent = this.text === '' ? 'Nobody is in sight.' : 'No name contains these letters.';
    show(walkers.length > 0, this.list);
    show(walkers.length === 0, this.nobody);
  }
}
