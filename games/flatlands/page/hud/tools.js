// What a player can do apart from walking: two buttons that are always shown, a menu of all else by name, and
// the key of each.

import { walkingKeys } from '../keys.js';
import { element, icon, show } from './element.js';
import { Help } from './help.js';
import { makeLegend } from './legend.js';

const LATER = 90;                         // the place of a deed that names none

/**
 * What a player can do: by the letter of its key ('' if it has none), and by an entry of the menu, unless
 * `elsewhere` says that another button does it. `sign` is the picture, one of ICONS or a path, and `help` what the help says.
 * One that `lasts` is hidden where the server keeps nothing. `at` is its place among them, from 0 on: those from 100 on are at the end.
 * @typedef {{ letter: string, sign: string, label: string, help: string, act: () => void, lasts?: boolean,
 * elsewhere?: boolean, at?: number }} Deed
 */

export class Tools {
  /** `on` has { chat(), emote() }; `lasts`: the server keeps what lasts; `giveFocusBack` gives the focus to the world.
   * @param {any} on @param {boolean} lasts @param {() => void} giveFocusBack */
  constructor(on, lasts, giveFocusBack) {
    /** @type {Deed[]} */
    this.deeds = [];
    this.lasts = lasts;
    /** @type {Map<Deed, HTMLElement>} */
    this.entryOf = new Map();
    this.help = new Help(this.deeds, walkingKeys(/** @type {any} */ (navigator).keyboard));
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

  /** Add a deed; return its entry of the menu.
   * @param {Deed} deed */
  add(deed) {
    const { letter, sign, label } = deed;
    const entry = element('button', { type: 'button', 'aria-keyshortcuts': letter || false }, icon(sign),
      element('span', { class: 'word' }, label), element('kbd', { class: 'fine', 'aria-hidden': 'true' }, letter.toUpperCase()));
    entry.addEventListener('click', () => {
      this.#openMore(false);
      // After a click keys must control the walk again, unless the deed opens something.
      this.giveFocusBack();
      deed.act();
    });
    const { at = LATER } = deed, after = this.deeds.filter((other) => (other.at ?? LATER) > at);
    this.deeds.splice(this.deeds.length - after.length, 0, deed);
    this.entryOf.set(deed, entry);
    show(!deed.lasts || this.lasts, entry);
    const next = after.find((other) => !other.elsewhere);
    if (!deed.elsewhere) this.entries.insertBefore(entry, (next && this.entryOf.get(next)) ?? null);
    return entry;
  }

  /** Return whether there is a deed with this letter. */
  has(letter) {
    return this.deeds.some((each) => each.letter === letter);
  }

  /** Handle the key of a letter; return whether it does anything. */
  press(letter) {
    const deed = this.deeds.find((each) => each.letter === letter);
    if (deed === undefined || (deed.lasts && !this.lasts)) return false;
    this.#openMore(false);
    deed.act();
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
