// What a player can do apart from walking: two buttons that are always shown, a menu of all else by name, and
// the key of each.

import { walkingKeys } from '../keys.js';
import { Ordered } from '../ordered.js';
import { element, icon } from './element.js';
import { Help } from './help.js';
import { makeLegend } from './legend.js';

const LATER = 90;                         // the place of a deed that names none

/**
 * What a player can do by an entry of the menu, and by the letter of its key ('' if it has none). `sign` is the picture, one of
 * ICONS or a path. One that `lasts` is hidden where the server keeps nothing. `at` is its place in the menu.
 * @typedef {{ letter: string, sign: string, label: string, act: () => void, lasts?: boolean, at?: number }} Deed
 */

export class Tools {
  /** `on` has { chat(), emote(), sound() }; `lasts`: the server keeps what lasts; `giveFocusBack` gives the focus to the world.
   * @param {any} on @param {boolean} lasts @param {() => void} giveFocusBack */
  constructor(on, lasts, giveFocusBack) {
    /** @type {Map<string, () => void>} What the key of each letter does. */
    this.keys = new Map();
    this.lasts = lasts;
    /** @type {Ordered<HTMLElement>} */
    this.menu = new Ordered();
    this.help = new Help(walkingKeys(/** @type {any} */ (navigator).keyboard), on.sound);
    this.giveFocusBack = giveFocusBack;
    this.entries = element('div', { class: 'entries panel' });
    this.more = button('more', 'More', 'More', () => this.#openMore(!this.isOpen));
    const talk = button('chat', 'Talk', 'Say something (Enter)', on.chat);
    talk.classList.add('small-only');
    this.root = element('nav', { class: 'tools', 'aria-label': 'Actions' }, talk,
      button('emote', 'Wave', 'Wave, laugh, dance … (E)', on.emote), this.more, this.entries);
    this.outside = (event) => {
      if (!this.more.contains(event.target) && !this.entries.contains(event.target)) this.#openMore(false);
    };
    this.root.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.isOpen) return;
      event.stopPropagation();
      this.#openMore(false);
      this.giveFocusBack();
    });
    this.#openMore(false);
    this.legend = makeLegend();
  }

  /** Add a deed.
   * @param {Deed} deed */
  add({ letter, sign, label, act, lasts = false, at = LATER }) {
    if (lasts && !this.lasts) return;
    const entry = element('button', { type: 'button', 'aria-keyshortcuts': letter || false }, icon(sign),
      element('span', { class: 'word' }, label), element('kbd', { class: 'fine', 'aria-hidden': 'true' }, letter.toUpperCase()));
    entry.addEventListener('click', () => {
      this.#openMore(false);
      // After a click keys must control the walk again, unless the deed opens something.
      this.giveFocusBack();
      act();
    });
    if (letter !== '') this.keys.set(letter, act);
    this.menu.add(at, entry);
    this.entries.replaceChildren(...this.menu.all);
  }

  /** Handle the key of a letter; return whether it does anything. */
  press(letter) {
    const act = this.keys.get(letter);
    if (act === undefined) return false;
    this.#openMore(false);
    act();
    return true;
  }

  get isOpen() {
    return this.root.classList.contains('open');
  }

  #openMore(is) {
    this.root.classList.toggle('open', is);
    this.more.setAttribute('aria-expanded', String(is));
    if (is) document.addEventListener('pointerdown', this.outside, true);
    else document.removeEventListener('pointerdown', this.outside, true);
  }
}

/** Return a button that is always shown; its word is shown only on small screens. */
function button(sign, label, title, onClick) {
  const made = element('button', { type: 'button', 'aria-label': label, title }, icon(sign),
    element('span', { class: 'word' }, label));
  made.addEventListener('click', onClick);
  return made;
}
