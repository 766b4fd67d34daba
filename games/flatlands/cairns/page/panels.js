// The card that shows the line of a cairn, and the dialog in which a player writes one.

import { faceOf } from '../faces.js';
import { TEXT_LIMIT } from '../protocol.js';
import { element, show } from '../hud/element.js';

const ANSWERED_WITHIN = 5000;             // ms in which the server may refuse a cairn
const EDGE = 8;                           // css px between the card and the screen's edge
const TAIL = 9;                           // css px from the card to the tip of its tail
const TAIL_EDGE = 22;                     // css px from the card's corner to the tail at least

export class CairnCard {
  /** `on` has { stone(), hide(), closeCairn() }. `onMoved()` is called when the card has moved. */
  constructor(on, giveFocusBack, onMoved) {
    this.giveFocusBack = giveFocusBack;
    this.onMoved = onMoved;
    this.shown = '';                      // what the card says, to change the page only if needed,
    this.placed = '';                     // and where it is
    /** @type {{ width: number, height: number, right: number, bottom: number } | null} Its size, and
     * that of the window, css px, once they were measured. */
    this.size = null;
    addEventListener('resize', () => this.size = null);
    this.text = element('p', { class: 'line' });
    this.who = element('p', { class: 'who' });
    this.stone = element('button', { type: 'button' }, 'Add a stone');
    this.hide = element('button', { type: 'button', class: 'quiet' }, 'Hide');
    this.buttons = element('div', { class: 'row-of-buttons' }, this.stone, this.hide);
    this.root = element('section', { class: 'cairn panel', hidden: true }, this.text, this.who,
      this.buttons);
    this.liveRegion = element('span', { class: 'unseen', role: 'status' });
    this.stone.addEventListener('click', on.stone);
    this.hide.addEventListener('click', on.hide);
    this.root.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      on.closeCairn();
    });
  }

  /** Show a cairn's line above or below a place, in css px. `may` says which buttons the card has.
   * @param {import('../replica.js').Thing} cairn @param {{ stone: boolean, hide: boolean }} may
   * @param {{ x: number, y: number, below: boolean }} place */
  show(cairn, may, place) {
    const { id, values: { player, name, text, stones } } = cairn;
    const shown = [id, name, text, stones, may.stone, may.hide].join('\n');
    if (shown !== this.shown) {
      this.#write(player, name, text, stones);
      // When a stone is added only the number changes, and the line is not read out again.
      const said = `A cairn. ${name}: ${text}`;
      if (this.liveRegion.textContent !== said) this.liveRegion.textContent = said;
      const focused = this.root.contains(document.activeElement);
      show(may.stone, this.stone);
      show(may.hide, this.hide);
      show(may.stone || may.hide, this.buttons);
      show(true, this.root);
      if (focused && !this.root.contains(document.activeElement)) this.giveFocusBack();
      this.shown = shown;
      this.size = null;
    }
    this.#place(place);
  }

  close() {
    if (this.root.hidden) return;
    const focused = this.root.contains(document.activeElement);
    show(false, this.root);
    this.shown = this.liveRegion.textContent = '';
    if (focused) this.giveFocusBack();
  }

  #write(player, name, text, stones) {
    this.text.replaceChildren(element('bdi', {}, text));
    const who = element('b', {}, element('bdi', {}, name));
    who.style.color = faceOf(player).ink;
    this.who.replaceChildren(who, stones === 1 ? ' · 1 stone' : ` · ${stones} stones`);
    this.root.setAttribute('aria-label', `Cairn of ${name}`);
  }

  #place({ x, y, below }) {
    this.size ??= { width: this.root.offsetWidth, height: this.root.offsetHeight, right: innerWidth,
      bottom: innerHeight };
    const { width, height, right, bottom } = this.size;
    const wanted = below ? y + TAIL : y - height - TAIL;
    const left = Math.min(Math.max(x - width / 2, EDGE), right - width - EDGE);
    const top = Math.min(Math.max(wanted, EDGE), bottom - height - EDGE);
    const tail = Math.min(Math.max(x - left, TAIL_EDGE), width - TAIL_EDGE);
    const placed = [left, top, tail].map((px) => `${Math.round(px)}px`), key = [...placed, below].join();
    if (key === this.placed) return;
    this.placed = key;
    this.root.classList.toggle('below', below);
    this.root.style.transform = `translate(${placed[0]}, ${placed[1]})`;
    this.root.style.setProperty('--tail', placed[2]);
    this.onMoved();
  }
}

export class CairnDialog {
  /** `onBuild(text)` is called with the line that the player leaves. */
  constructor(onBuild) {
    this.field = element('input', { type: 'text', maxlength: TEXT_LIMIT, required: true,
      autocomplete: 'off', enterkeyhint: 'done', 'aria-label': 'One line' });
    const cancel = element('button', { type: 'button', class: 'play quiet' }, 'Cancel');
    const form = element('form', { method: 'dialog' }, this.field,
      element('div', { class: 'row-of-buttons' },
        element('button', { type: 'submit', class: 'play' }, 'Leave it here'), cancel));
    this.root = element('dialog', { class: 'help panel', 'aria-label': 'Leave a cairn' },
      element('h2', {}, 'Leave a cairn here'),
      element('p', {}, 'A heap of stones with one line, for everybody who comes by. It stands '
        + 'for seven days, counted afresh whenever somebody adds a stone.'), form);
    this.left = { text: '', at: -Infinity };    // the last line, and when it was sent
    cancel.addEventListener('click', () => this.root.close());
    form.addEventListener('submit', () => {
      const text = this.field.value.trim();
      this.field.value = '';
      if (text === '') return;
      this.left = { text, at: performance.now() };
      onBuild(text);
    });
  }

  /** Keep the line for another try, if one was left just now. */
  keep() {
    const { text, at } = this.left;
    if (performance.now() - at < ANSWERED_WITHIN && this.field.value === '') this.field.value = text;
  }
}
