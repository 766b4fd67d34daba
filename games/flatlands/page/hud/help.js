// The help: how to play with keys and mouse, or with fingers, whichever this device has.

import { Ordered } from '../ordered.js';
import { element, icon } from './element.js';

const BY_KEYS = [['Arrows', 'walk'],
  ['Click', 'walk there; hold the button to keep walking'],
  ['Click on a walker', 'follow them; click again to mute them'],
  ['Enter', 'chat; ↑ scrolls back, and /find Ben finds Ben'],
  ['1 to 7', 'wave, heart, laugh, dance, hey!, huh?, bow'],
  ['Escape', 'close what is open']];
// The first of each is the name of an icon, if it is one of a button.
const BY_TOUCH = [['', 'Stick', 'walk'], ['', 'Touch', 'walk there; hold to keep walking'],
  ['', 'Touch a walker', 'follow them; touch again to mute them'],
  ['', 'Touch an arrow', 'follow the player it points to, or walk to the place'],
  ['chat', 'Talk', 'say something, or read what was said']];
const FIRST = 6;                          // so many lines are shown before the others are asked for
const FORGETS = 'This server restarts at least once a day, and then forgets what was found and left here.';

const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1);

export class Help {
  /** It lists `deeds` too, as they are when it is opened; `walking` resolves to what is printed on the keys that
   * walk.
   * @param {import('./tools.js').Deed[]} deeds @param {Promise<string[]>} walking */
  constructor(deeds, walking) {
    this.deeds = deeds;
    this.arrows = 'Arrows';
    walking.then((keys) => this.arrows = `Arrows or ${keys.join(' ')}`);
    const list = (sort) => element('dl', { class: sort });
    this.keys = [list('fine'), list('fine')];
    this.touches = [list('coarse'), list('coarse')];
    /** @type {Ordered<string>} What is said below. */
    this.texts = new Ordered();
    this.texts.add(100, 'The world is divided into squares, and each square is a channel. You receive '
      + 'only the squares around your screen, so the world can be endless.');
    this.lines = element('div', {});
    this.more = /** @type {HTMLDetailsElement} */ (element('details', {}, element('summary', {}, 'More'),
      this.keys[1], this.touches[1], this.lines));
    const forgets = document.querySelector('meta[name=forgets][content=restart]') !== null;
    const warning = forgets ? [element('p', {}, FORGETS)] : [];
    const end = element('form', { class: 'end', method: 'dialog' }, element('div', { class: 'row-of-buttons' },
      element('button', { type: 'submit', class: 'play', autofocus: true }, 'Back to the world')));
    this.root = element('dialog', { class: 'help panel', 'aria-label': 'Help' },
      element('h2', {}, 'How to play'), this.keys[0], this.touches[0], ...warning, this.more, end);
  }

  /** Fill in what a player can do, and what is to be known: all but the first lines are folded. */
  fill() {
    const [[, walks], ...others] = BY_KEYS;
    const rows = [[this.arrows, walks], ...others, ...this.deeds.filter(({ letter }) => letter !== '')
      .map(({ letter, label, help }) => [letter.toUpperCase(), `${lower(label)}: ${help}`])];
    const touches = [...BY_TOUCH, ...this.deeds.map(({ sign, label, help }) => [sign, label, help])];
    fold(this.keys, rows.map(([key, text]) => [element('dt', {}, key), element('dd', {}, text)]));
    fold(this.touches, touches.map(([sign, word, text]) =>
      [element('dt', {}, ...(sign === '' ? [] : [icon(sign), ' ']), word), element('dd', {}, text)]));
    this.lines.replaceChildren(...this.texts.all.map((text) => element('p', {}, text)));
    this.more.open = false;
  }
}

/** Put the first lines into one list, and the others into another one.
 * @param {HTMLElement[]} lists @param {HTMLElement[][]} lines */
function fold([first, rest], lines) {
  first.replaceChildren(...lines.slice(0, FIRST).flat());
  rest.replaceChildren(...lines.slice(FIRST).flat());
}
