// The chat: what players said, and the field to say something. Closed, it shows the last few lines for
// a while; open, it scrolls back.

import { faceOf } from '../faces.js';
import { composes } from '../keys.js';
import { TEXT_LIMIT } from '../protocol.js';
import { byTouch, element } from './element.js';

const LINES = 100;                        // that are kept
const COUNTS_FROM = 90;                   // letters from which on the remaining ones are counted
const FADES_AFTER = 14000;                // ms
const STEP = 44;                          // css px that an arrow key scrolls
const FIND = /^\/find\s+(.*)/i;           // the rest is typed into the list of who is near
const NEAR_END = 8;                       // css px: this near to the last line, it follows new ones

export class Chat {
  /** `giveFocusBack` gives the focus to the world.
   * @param {import('../events.js').Events} events @param {() => void} giveFocusBack */
  constructor(events, giveFocusBack) {
    this.events = events;
    this.isOpen = false;
    this.giveFocusBack = giveFocusBack;
    this.log = element('ol', { class: 'log', tabindex: '0', 'aria-live': 'polite',
      'aria-label': 'What was said' });
    this.field = element('input', { type: 'text', maxlength: TEXT_LIMIT, autocomplete: 'off',
      enterkeyhint: 'send', 'aria-label': 'Say something',
      placeholder: `Say something, or /find Ben…${byTouch() ? '' : '  (Enter)'}` });
    this.counter = element('span', { class: 'counter', 'aria-live': 'polite' });
    const form = element('form', {}, this.field, this.counter);
    this.root = element('section', { class: 'chat panel', 'aria-label': 'Chat' }, this.log, form);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.field.value.trim();
      // A text that was not sent stays.
      if (text !== '' && !this.events.emit('say', text)) return;
      this.field.value = '';
      this.close();
    });
    this.field.addEventListener('input', () => {
      this.#count();
      const [, name] = FIND.exec(this.field.value) ?? [];
      if (name === undefined) return;
      this.field.value = '';
      this.close();
      this.events.emit('find', name);
    });
    this.root.addEventListener('focusin', () => this.#turn(true));
    this.root.addEventListener('focusout', (event) => {
      if (!this.root.contains(event.relatedTarget)) this.#turn(false);
    });
    this.root.addEventListener('keydown', (event) => this.#key(event));
    this.root.addEventListener('keyup', (event) => event.stopPropagation());
  }

  open() {
    this.root.classList.add('open');      // first, because a hidden field cannot get the focus
    this.field.focus({ preventScroll: true });
  }

  close() {
    if (!this.isOpen) return;
    this.giveFocusBack();
  }

  /** Scroll by keys, which would walk in the world. */
  #key(event) {
    event.stopPropagation();
    if (composes(event)) return;
    const { log } = this, page = log.clientHeight - STEP;
    const by = { ArrowUp: -STEP, ArrowDown: STEP, PageUp: -page, PageDown: page }[event.key];
    if (event.key === 'Escape') this.close();
    else if (event.key === 'Enter' && event.target === log) this.field.focus();
    else if (by !== undefined) {
      event.preventDefault();
      log.scrollTop += by;
    }
  }

  #turn(open) {
    this.root.classList.toggle('open', open);
    if (open === this.isOpen) return;
    this.isOpen = open;
    this.#count();
    this.log.scrollTop = this.log.scrollHeight;
    if (open) this.events.emit('typing');
  }

  #count() {
    const { length } = this.field.value;
    this.counter.textContent = length >= COUNTS_FROM ? String(TEXT_LIMIT - length) : '';
  }

  /** Add a line. */
  add(name, colourId, look, text) {
    const { log } = this;
    // Each in its own element, so that a name and a text written in different directions do not
    // mix.
    const who = element('b', {}, element('bdi', {}, name));
    who.style.color = faceOf(colourId, look).ink;
    const line = element('li', { dir: 'auto' }, who, ' ', element('bdi', {}, text));
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
    log.append(line);
    while (log.children.length > LINES) log.firstChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
    setTimeout(() => line.classList.add('old'), FADES_AFTER);
  }
}
