// The title screen, on which a player chooses a name and a look.

import { NAME_LIMIT } from '../protocol.js';
import { byTouch, element, show } from './element.js';
import { Looks } from './looks.js';

export class Title {
  /** `onStart(name, look)` is called when the player wants to play; for `portraitOn` see Looks. */
  constructor(onStart, portraitOn) {
    this.looks = new Looks(portraitOn);
    this.live = element('p', { class: 'now', hidden: true });
    this.invited = element('p', { class: 'invited', hidden: true });
    this.field = element('input', { id: 'name', type: 'text', maxlength: NAME_LIMIT,
      required: true, autocomplete: 'nickname', autocapitalize: 'words', spellcheck: 'false',
      enterkeyhint: 'go' });
    this.error = element('p', { class: 'error', role: 'alert' });
    this.button = element('button', { type: 'submit', class: 'play' }, 'Play');
    const form = element('form', { class: 'start' }, this.looks.root,
      element('div', { class: 'naming' }, element('label', { for: 'name' }, 'Your name'),
        element('div', { class: 'row' }, this.field, this.button), this.error));
    const ways = [['Walk', 'arrow keys, WASD or a click', 'use the stick, or tap a spot'],
      ['Talk', 'Enter', 'the speech button'],
      ['Wave', '1', 'the hand'], ['Find others', 'O', 'the globe']];
    this.root = element('section', { class: 'title', 'aria-label': 'Flatlands', hidden: true },
      element('div', { class: 'card panel' },
        element('p', { class: 'brand' }, element('img', { src: 'icon.svg', alt: '' }), 'Flatlands'),
        element('p', { class: 'pitch' },
          'Walk with others through a world without end. Find gems, a lighthouse, a friend.'),
        this.live, this.invited, form,
        element('dl', { class: 'ways' }, ...ways.flatMap(([what, keys, touch]) => [
          element('dt', {}, what), element('dd', {}, element('span', { class: 'fine' }, keys),
            element('span', { class: 'coarse' }, touch))]))));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const name = this.field.value.trim();
      if (name === '') return this.fail('Please choose a name, so that others can greet you.');
      this.fail('');
      this.button.disabled = true;
      onStart(name, this.looks.look);
    });
  }

  open(suggestedName, look, invitedBy) {
    this.field.value = suggestedName;
    this.looks.look = look;
    this.invited.replaceChildren(...invitedBy === null ? [] : [element('bdi', {}, invitedBy),
      ' invited you: you start beside them, or where they were.']);
    show(invitedBy !== null, this.invited);
    this.button.disabled = false;
    show(true, this.root);
    this.looks.turn();
    // On a touch screen the focus would open the keyboard before the player has read anything.
    if (!byTouch()) {
      this.field.focus();
      this.field.select();
    }
  }

  /** Say how many are walking now; null says nothing.
   * @param {string | null} sentence */
  tell(sentence) {
    show(sentence !== null, this.live);
    if (sentence !== null && this.live.textContent !== sentence) this.live.textContent = sentence;
  }

  fail(sentence) {
    this.error.textContent = sentence;
    this.button.disabled = false;
  }

  close() {
    show(false, this.root);
  }
}
