// The help: how to play with keys and mouse, or with fingers, whichever this device has.

import { element, icon } from './element.js';

const BY_KEYS = [['Arrows or W A S D', 'walk'],
  ['Click', 'walk there; hold the button to keep walking'],
  ['Click on a walker', 'follow them; once more, and they can be muted'],
  ['Enter', 'chat; ↑ scrolls back'],
  ['G', 'grid: squares, channels, margins'], ['H', 'home to the plaza, and back again'],
  ['O', 'map of everybody: + − and arrows, Enter leads to a square'],
  ['1 to 6', 'wave, heart, laugh, dance, hey!, huh?'], ['E', 'ring of emotes'],
  ['I', 'invite a friend'], ['N', 'your book, and your name and face'], ['V', 'sounds on or off'],
  ['B', 'board: who found the most gems'],
  ['M', 'who and what is near'], ['Escape', 'close what is open']];
// The first of each is the name of an icon, if it is one of a button.
const BY_TOUCH = [['', 'Stick', 'walk'], ['', 'Touch', 'walk there; hold to keep walking'],
  ['', 'Touch a walker', 'follow them; once more, and they can be muted'],
  ['', 'Touch an arrow', 'follow whom, or walk to what, it shows'],
  ['chat', 'Talk', 'say something, or read what was said'],
  ['emote', 'Wave', 'wave, laugh, dance …'],
  ['home', 'Home', 'to the plaza, and back again'], ['globe', 'Map', 'who is where in the world'],
  ['people', 'Near', 'who and what is near'], ['invite', 'Invite', 'a link for a friend'],
  ['book', 'Book', 'what you found and did, and your name and face'],
  ['gem', 'Gems', 'board: who found the most'], ['sound', 'Sounds', 'on or off']];
const FORGETS = 'This server forgets gems, scores and cairns when it restarts, which is once a day at least.';

const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1);

/** Return the dialog that explains how to play. `onGrid()` shows the grid overlay, or hides it;
 * `walking` becomes what is printed on the keys that walk.
 * @param {() => void} onGrid @param {Promise<string[]>} walking @param {import('../kinds.js').Deed[]} deeds */
export function makeHelp(onGrid, walking, deeds) {
  const byKeys = deeds.map(({ letter, label, help }) => [letter.toUpperCase(), `${lower(label)}: ${help}`]);
  const byTouch = deeds.map(({ sign, label, help }) => [sign, label, help]);
  const forgets = document.querySelector('meta[name=forgets]') !== null;
  const close = element('button', { type: 'submit', class: 'play' }, 'Back to the world');
  const grid = element('button', { type: 'submit', class: 'play quiet' }, 'Show the grid');
  grid.addEventListener('click', onGrid);
  const help = element('dialog', { class: 'help panel', 'aria-label': 'Help' },
    element('h2', {}, 'How to play'),
    element('dl', { class: 'fine' }, ...[...BY_KEYS, ...byKeys].flatMap(([key, text]) =>
      [element('dt', {}, key), element('dd', {}, text)])),
    element('dl', { class: 'coarse' }, ...[...BY_TOUCH, ...byTouch].flatMap(([sign, word, text]) =>
      [element('dt', {}, ...(sign === '' ? [] : [icon(sign), ' ']), word),
        element('dd', {}, text)])),
    element('p', {}, 'Gems lie in the world, most of them near paths. Walk over one and it is yours; '
      + 'another then appears somewhere else.'),
    ...(forgets ? [element('p', {}, FORGETS)] : []),
    element('p', {}, 'The world is divided into squares, and each square is a channel. You receive '
      + 'only the squares around your screen, so the world can be endless.'),
    element('form', { method: 'dialog' }, element('div', { class: 'row-of-buttons' }, close, grid)));
  walking.then((keys) => {
    help.querySelector('dt').textContent = `Arrows or ${keys.join(' ')}`;
  });
  return help;
}
