// The buttons, the dialog with the invite link, and the key hints.

import { walkingKeys } from '../keys.js';
import { element, icon, show } from './element.js';
import { makeHelp } from './help.js';
import { makeLegend } from './legend.js';

export class Tools {
  /** `on` has { grid(), home(), invite(), chat(), emote(), map(), book(), deed(deed), board(), sound(),
   * help() }; `deeds` are those of kinds.js; `giveFocusBack` gives the focus to the world. On small screens most buttons are entries of a
   * menu, with their words. */
  constructor(on, deeds, giveFocusBack) {
    const walking = walkingKeys(/** @type {any} */ (navigator).keyboard);
    this.help = makeHelp(on.grid, walking, deeds);
    this.link = new LinkDialog();
    this.giveFocusBack = giveFocusBack;
    this.grid = button('grid', 'Grid', 'Show squares and channels (G)', on.grid);
    this.grid.setAttribute('aria-pressed', 'false');
    this.board = button('board', 'Board', 'Board of gems (B)', on.board);
    const buttons = deeds.map((deed) => button(deed.sign, deed.label,
      `${deed.label} here (${deed.letter.toUpperCase()})`, () => on.deed(deed)));
    this.sound = button('sound', 'Mute sounds', 'Mute sounds (V)', on.sound);
    for (const each of [this.grid, this.board]) each.classList.add('large-only');
    this.lasting = [...buttons, this.board];
    for (const each of this.lasting) show(false, each);
    this.entries = element('div', { class: 'entries panel' },
      button('home', 'Home', 'Home to the plaza, and back again (H)', on.home),
      button('invite', 'Invite', 'Invite a friend (I)', on.invite),
      button('book', 'Book', 'Your book, your name and your face (N)', on.book),
      ...buttons, this.sound, button('help', 'Help', 'Help', on.help), this.grid, this.board);
    const map = button('globe', 'Map of everybody', 'Map of everybody (O)', on.map, 'Map');
    this.more = button('more', 'More', 'More', () => this.#openMore(!this.isOpen));
    for (const each of [map, this.more]) each.classList.add('small-only');
    this.root = element('nav', { class: 'tools panel', 'aria-label': 'Actions' },
      button('chat', 'Talk', 'Say something (Enter)', on.chat),
      button('emote', 'Wave', 'Wave, laugh, dance … (E)', on.emote), map, this.more, this.entries);
    this.outside = (event) => {
      if (!this.more.contains(event.target) && !this.entries.contains(event.target)) this.#openMore(false);
    };
    this.entries.addEventListener('click', () => this.#openMore(false));
    this.root.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.isOpen) return;
      event.stopPropagation();
      this.#openMore(false);
      this.giveFocusBack();
    });
    this.#openMore(false);
    const keys = Array.from({ length: 4 }, () => element('kbd', {}));
    walking.then((labels) => labels.forEach((label, i) => keys[i].textContent = label));
    this.keys = element('aside', { class: 'keys panel', 'aria-label': 'Keys' }, ...keys, 'walk');
    this.legend = makeLegend();
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

  /** Show the buttons that are about what lasts. */
  showLasting() {
    for (const each of this.lasting) show(true, each);
    this.root.classList.add('many');
  }

  /** Show whether sounds are on. */
  setSound(on) {
    const label = on ? 'Mute sounds' : 'Unmute sounds';
    this.sound.replaceChildren(icon(on ? 'sound' : 'silence'), element('span', { class: 'word' }, label));
    this.sound.setAttribute('aria-label', label);
    this.sound.title = `${label} (V)`;
  }

  setGrid(on) {
    this.grid.setAttribute('aria-pressed', String(on));
    this.legend.hidden = !on;
  }
}

/** Return a button; its word is shown on small screens only. */
function button(sign, label, title, onClick, word = label) {
  const made = element('button', { type: 'button', 'aria-label': label, title }, icon(sign),
    element('span', { class: 'word' }, word));
  made.addEventListener('click', onClick);
  return made;
}

/** A dialog with a link to share, or to copy by hand. */
class LinkDialog {
  constructor() {
    this.field = element('input', { type: 'text', readonly: true, 'aria-label': 'Invite link' });
    this.note = element('p', { class: 'warning' });
    this.share = element('button', { type: 'button', class: 'play' }, 'Share');
    this.copy = element('button', { type: 'button', class: 'play' }, 'Copy');
    this.root = element('dialog', { class: 'help panel', 'aria-label': 'Invite' },
      element('h2', {}, 'Invite a friend'),
      element('p', {}, 'Anyone who opens this link starts beside you. The link is valid for a day.'),
      element('form', { method: 'dialog' }, this.field, this.note,
        element('div', { class: 'row-of-buttons' }, this.share, this.copy,
          element('button', { type: 'submit', class: 'play quiet' }, 'Close'))));
    this.share.addEventListener('click', () => this.#share());
    this.copy.addEventListener('click', () => this.#copy());
  }

  /** Offer a link in the open dialog; `local` if it leads to this machine only. */
  offer(link, local) {
    this.field.value = link;
    this.note.textContent = local ? 'It works on this machine only. For others, start the server by '
      + 'make play HOST=0.0.0.0 and open the address that it prints.' : '';
    this.copy.textContent = 'Copy';
    // Both need https, or a page of this machine.
    show(typeof navigator.share === 'function', this.share);
    show(navigator.clipboard !== undefined, this.copy);
    this.field.focus();
    this.field.select();
  }

  async #share() {
    try {
      await navigator.share({ title: 'Flatlands', text: 'Come and walk with me:', url: this.field.value });
      this.root.close();
    } catch (error) {
      // Whoever changes their mind still has the link in the field.
      if (!(error instanceof DOMException)) throw error;
    }
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.field.value);
      this.copy.textContent = 'Copied';
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.field.select();
    }
  }
}
