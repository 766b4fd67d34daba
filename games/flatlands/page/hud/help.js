// The help: how to play with keys and mouse, or with fingers, whichever this device has.

import { element, icon } from './element.js';

const BY_KEYS = [['Arrows', 'walk'],
  ['Click', 'walk there; hold the button to keep walking'],
  ['Click on a walker', 'follow them; click again to mute them'],
  ['Enter', 'chat; /find Ben finds Ben'],
  ['1 to 7', 'wave, heart, laugh, dance, hey!, huh?, bow'],
  ['O', 'the map: click a place, and an arrow leads there'],
  ['M', 'who and what is near'],
  ['Escape', 'close what is open']];
// The first of each is the name of an icon, if it is one of a button.
const BY_TOUCH = [['', 'Stick', 'walk'], ['', 'Touch', 'walk there; hold to keep walking'],
  ['', 'Touch a walker', 'follow them; touch again to mute them'],
  ['', 'Touch an arrow', 'follow the player it points to, or walk to the place'],
  ['chat', 'Talk', 'say something, or read what was said'],
  ['emote', 'Wave', 'or laugh, dance, bow'],
  ['globe', 'Map', 'touch a place, and an arrow leads there'],
  ['people', 'Near', 'who and what is near']];
const FORGETS = 'This server restarts at least once a day, and then forgets what was found and left here.';

export class Help {
  /** `walking` resolves to what is printed on the keys that walk; `onSound()` turns the sounds on or off.
   * @param {Promise<string[]>} walking @param {() => void} onSound */
  constructor(walking, onSound) {
    const arrows = element('dt', {}, BY_KEYS[0][0]);
    walking.then((keys) => arrows.textContent = `Arrows or ${keys.join(' ')}`);
    const keys = BY_KEYS.flatMap(([key, text], i) => [i === 0 ? arrows : element('dt', {}, key), element('dd', {}, text)]);
    const touches = BY_TOUCH.flatMap(([sign, word, text]) =>
      [element('dt', {}, ...(sign === '' ? [] : [icon(sign), ' ']), word), element('dd', {}, text)]);
    const forgets = document.querySelector('meta[name=forgets][content=restart]') !== null;
    this.sound = element('button', { type: 'button', class: 'play quiet', 'aria-keyshortcuts': 'v', title: 'V' });
    this.sound.addEventListener('click', onSound);
    const end = element('form', { class: 'end', method: 'dialog' }, element('div', { class: 'row-of-buttons' },
      element('button', { type: 'submit', class: 'play', autofocus: true }, 'Back to the world'), this.sound));
    this.root = element('dialog', { class: 'help panel', 'aria-label': 'Help' },
      element('h2', {}, 'How to play'), element('dl', { class: 'fine' }, ...keys),
      element('dl', { class: 'coarse' }, ...touches), ...(forgets ? [element('p', {}, FORGETS)] : []), end);
  }
}
