// The buttons, the dialog with the invite link, and the key hints.

import { element, icon, show } from './element.js';
import { makeHelp } from './help.js';
import { makeLegend } from './legend.js';

export class Tools {
  /** `on` has { grid(), home(), invite(), chat(), emote(), you(), cairn(), board(), sound(),
   * help() }. */
  constructor(on) {
    this.help = makeHelp();
    this.link = new LinkDialog();
    this.grid = button('grid', 'Grid', 'Show squares and channels (G)', on.grid);
    this.grid.setAttribute('aria-pressed', 'false');
    this.board = button('board', 'Board', 'Board of gems (B)', on.board);
    this.cairn = button('cairn', 'Leave a cairn', 'Leave a cairn here (C)', on.cairn);
    this.sound = button('sound', 'Mute sounds', 'Mute sounds (Q)', on.sound);
    for (const each of [this.cairn, this.board]) show(false, each);
    this.root = element('nav', { class: 'tools panel', 'aria-label': 'Actions' },
      this.grid,
      button('home', 'Home', 'Home to the plaza, and back again (H)', on.home),
      button('invite', 'Invite', 'Invite a friend (I)', on.invite),
      button('chat', 'Chat', 'Say something (Enter)', on.chat),
      button('emote', 'Emotes', 'Wave, laugh, dance … (E)', on.emote),
      button('you', 'You', 'Your name and your face (N)', on.you),
      this.cairn, this.board, this.sound,
      button('help', 'Help', 'Help', on.help));
    const key = (name) => element('kbd', {}, name);
    this.keys = element('aside', { class: 'keys panel', 'aria-label': 'Keys' },
      ...'WASD'.split('').map(key), 'walk', key('Enter'), 'chat', key('G'), 'grid', key('O'), 'map');
    this.legend = makeLegend();
  }

  /** Show the buttons that are about what lasts. */
  showLasting() {
    for (const each of [this.cairn, this.board]) show(true, each);
    this.root.classList.add('many');
  }

  /** Show whether sounds are on. */
  setSound(on) {
    const label = on ? 'Mute sounds' : 'Unmute sounds';
    this.sound.replaceChildren(icon(on ? 'sound' : 'silence'));
    this.sound.setAttribute('aria-label', label);
    this.sound.title = `${label} (Q)`;
  }

  setGrid(on) {
    this.grid.setAttribute('aria-pressed', String(on));
    this.legend.hidden = !on;
  }
}

function button(sign, label, title, onClick) {
  const made = element('button', { type: 'button', 'aria-label': label, title }, icon(sign));
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
