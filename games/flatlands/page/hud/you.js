// The dialog in which a player changes its name and its look, or begins as somebody else.

import { NAME_LIMIT } from '../protocol.js';
import { byTouch, element, show } from './element.js';
import { Looks } from './looks.js';

export class YouDialog {
  /** For `portraitOn` see Looks.
   * @param {import('../events.js').Events} events */
  constructor(events, portraitOn) {
    this.looks = new Looks(portraitOn);
    this.field = element('input', { id: 'own-name', type: 'text', maxlength: NAME_LIMIT,
      required: true, autocomplete: 'nickname', autocapitalize: 'words', spellcheck: 'false',
      enterkeyhint: 'done' });
    this.warning = element('p', { class: 'warning', role: 'alert' });
    const cancel = element('button', { type: 'button', class: 'play quiet' }, 'Cancel');
    this.anew = element('button', { type: 'button', class: 'link' });
    const form = element('form', { method: 'dialog' }, this.looks.root,
      element('label', { for: 'own-name' }, 'Name'), this.field,
      element('div', { class: 'row-of-buttons' },
        element('button', { type: 'submit', class: 'play' }, 'Save'), cancel));
    this.root = element('dialog', { class: 'help you panel', 'aria-label': 'You' },
      element('h2', {}, 'You'), form, this.warning, this.anew);
    cancel.addEventListener('click', () => this.root.close());
    form.addEventListener('submit', () => {
      const name = this.field.value.trim();
      if (name !== '') events.emit('appear', name, this.looks.look);
    });
    this.anew.addEventListener('click', () => {
      if (this.warning.textContent === '') return this.#warn();
      this.root.close();
      events.emit('anew');
    });
  }

  /** Prepare the dialog, which is about to be opened, for a player of this name and look. */
  open(name, look) {
    this.field.value = name;
    this.looks.look = look;
    this.warning.textContent = '';
    this.anew.textContent = 'Start over …';
    show(true, this.anew);
  }

  /** Turn the face and select the name, once the dialog has been opened. */
  opened() {
    this.looks.turn();
    // On a touch screen the focus would open the keyboard over the face.
    if (byTouch()) return;
    this.field.focus();
    this.field.select();
  }

  #warn() {
    this.warning.textContent = 'This browser will forget who you are: your name, your place and '
      + 'what you have found. You cannot undo this.';
    this.anew.textContent = 'Yes, start over';
  }
}
