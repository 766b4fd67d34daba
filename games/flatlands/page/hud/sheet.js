// A sheet: what a player opens beside the world and reads while walking on, such as what can be planted. One at
// a time is open.

import { element, icon, show } from './element.js';

/** @type {Sheet | null} The one that is open. */
let opened = null;

export class Sheet {
  /** `label` is its name, and `heading` is written above `root`, which holds what it shows. */
  constructor(label, heading) {
    /** @type {(open: boolean) => void} Called whenever it opens or closes. */
    this.onTurn = () => {};
    /** Gives the focus to the world; set by Hud. */
    this.giveFocusBack = () => {};
    const close = element('button', { type: 'button', class: 'close', 'aria-label': 'Close' }, icon('close'));
    close.addEventListener('click', () => this.close());
    this.root = element('section', { class: 'sheet panel', role: 'dialog', 'aria-label': label, tabindex: '-1',
      hidden: true }, element('h2', {}, heading), close);
  }

  get isOpen() {
    return !this.root.hidden;
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  open() {
    opened?.close();
    opened = this;
    show(true, this.root);
    // Screen readers then read it, and the keys that walk still work.
    this.root.focus({ preventScroll: true });
    this.onTurn(true);
  }

  close() {
    if (!this.isOpen) return;
    opened = null;
    show(false, this.root);
    this.onTurn(false);
    this.giveFocusBack();
  }
}

/** Close the sheet that is open; return whether there was one. */
export function closeSheet() {
  const was = opened !== null;
  opened?.close();
  return was;
}
