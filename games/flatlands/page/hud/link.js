// The dialog with the invite link, and with what else there is to send to a friend.

import { element, show } from './element.js';

/** A dialog with a link to share, or to copy by hand; and a button for a photo. */
export class LinkDialog {
  /** @param {() => void} onPhoto */
  constructor(onPhoto) {
    this.field = element('input', { type: 'text', readonly: true, 'aria-label': 'Invite link' });
    this.note = element('p', { class: 'warning' });
    this.share = element('button', { type: 'button', class: 'play' }, 'Share');
    this.copy = element('button', { type: 'button', class: 'play' }, 'Copy');
    const photo = element('button', { type: 'button', class: 'play quiet' }, 'Photo');
    photo.addEventListener('click', () => {
      this.root.close();
      onPhoto();
    });
    this.root = element('dialog', { class: 'help panel', 'aria-label': 'Invite' },
      element('h2', {}, 'Invite a friend'),
      element('p', {}, 'Anyone who opens this link starts beside you. The link is valid for a day.'),
      element('form', { method: 'dialog' }, this.field, this.note,
        element('div', { class: 'row-of-buttons' }, this.share, this.copy, photo,
          element('button', { type: 'submit', class: 'play quiet' }, 'Close'))));
    this.share.addEventListener('click', () => this.#share());
    this.copy.addEventListener('click', () => this.#copy());
  }

  /** Offer a link in the open dialog; `local` if it leads to this machine only. */
  offer(link, local) {
    this.field.value = link;
    this.note.textContent = local ? 'It works on this machine only. For others, start the server with '
      + 'make play HOST=0.0.0.0 and open the address that it prints.' : '';
    this.copy.textContent = 'Copy';
    // Both need https, or a page from this machine.
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
      // The player may have cancelled, and the link is still in the field.
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
