// The chat: the last few lines that players said, and the field to say something.

import { faceOf } from '../faces.js';
import { TEXT_LIMIT } from '../protocol.js';
import { element } from './element.js';

const LINES = 5;
const COUNTS_FROM = 90;                   // letters from which the rest is counted
const FADES_AFTER = 14000;                // ms

export class Chat {
  /** `on` has { say(text), typing() }; `giveFocusBack` gives the focus to the world. */
  constructor(on, giveFocusBack) {
    this.on = on;
    this.isOpen = false;
    this.giveFocusBack = giveFocusBack;
    this.log = element('ol', { class: 'log', role: 'log', 'aria-live': 'polite',
      'aria-label': 'What was said' });
    this.field = element('input', { type: 'text', maxlength: TEXT_LIMIT, autocomplete: 'off',
      enterkeyhint: 'send', 'aria-label': 'Say something',
      placeholder: 'Say something…  (Enter)' });
    this.counter = element('span', { class: 'counter', 'aria-live': 'polite' });
    const form = element('form', {}, this.field, this.counter);
    this.root = element('section', { class: 'chat panel', 'aria-label': 'Chat' }, this.log, form);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.field.value.trim();
      this.field.value = '';
      this.close();
      if (text !== '') this.on.say(text);
    });
    this.field.addEventListener('input', () => this.#count());
    this.field.addEventListener('focus', () => this.#turn(true));
    this.field.addEventListener('blur', () => this.#turn(false));
    this.field.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key === 'Escape') this.close();
    });
    this.field.addEventListener('keyup', (event) => event.stopPropagation());
  }

  open() {
    this.root.classList.add('open');      // first, because a hidden field cannot get the focus
    this.field.focus({ preventScroll: true });
  }

  close() {
    if (!this.isOpen) return;
    this.field.blur();
    this.giveFocusBack();
  }

  #turn(open) {
    this.root.classList.toggle('open', open);
    if (open === this.isOpen) return;
    this.isOpen = open;
    this.#count();
    if (open) this.on.typing();
  }

  #count() {
    const { length } = this.field.value;
    this.counter.textContent = length >= COUNTS_FROM ? String(TEXT_LIMIT - length) : '';
  }

  add(name, colourId, look, text) {
    // Each in an element of its own, so that a name and a text written in different directions do
    // not mix.
    const who = element('b', {}, element('bdi', {}, name));
    who.style.color = faceOf(colourId, look).ink;
    const line = element('li', { dir: 'auto' }, who, ' ', element('bdi', {}, text));
    this.log.append(line);
    while (this.log.children.length > LINES) this.log.firstChild.remove();
    setTimeout(() => line.classList.add('old'), FADES_AFTER);
  }
}
