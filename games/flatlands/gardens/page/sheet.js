// The sheet for planting: what can be planted, and how many gems the player has for it.

import { element } from '../hud/element.js';
import { KINDS } from './looks.js';

export class GardenSheet {
  /** `sheet` is an empty one, `pictureOf(prop)` returns the picture of a prop, and `on` has
   * { sow(kind), purse() }: plant, and ask how many gems are left.
   * @param {import('../hud/sheet.js').Sheet} sheet @param {(prop: string) => HTMLCanvasElement}
   * pictureOf @param {{ sow: (kind: number) => void, purse: () => void }} on */
  constructor(sheet, pictureOf, on) {
    this.sheet = sheet;
    this.left = element('p', { role: 'status' });
    this.buttons = KINDS.map(({ name, prop }, i) => {
      const button = element('button', { type: 'button' }, pictureOf(prop), name);
      button.addEventListener('click', () => on.sow(i + 1));
      return button;
    });
    sheet.root.classList.add('garden');
    sheet.root.append(this.left, element('div', { class: 'kinds' }, ...this.buttons));
    this.showGems(null);
    sheet.onTurn = (open) => open && on.purse();
  }

  /** Show how many gems are left; null while that is not known.
   * @param {number | null} gems */
  showGems(gems) {
    for (const button of this.buttons) button.disabled = gems === null || gems < 1;
    this.left.textContent = gems === null ? 'Each costs a gem.'
      : gems < 1 ? 'Each costs a gem: find one first. They lie beside the paths.'
        : `You have ${gems} ${gems === 1 ? 'gem' : 'gems'} to plant, on the tile in front of you.`;
    // So that Enter plants. The keys that walk still do.
    if (document.activeElement === this.sheet.root) this.buttons[0].focus({ preventScroll: true });
  }
}
