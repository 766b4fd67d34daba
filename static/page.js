// The page of a game that brings none: players walk and talk, and the game's cells and things are drawn
// plainly, with their names. An author may begin a page with a copy of it.

import { HINT, join } from './game.js';

const SHOWN_FOR = 8000;                   // ms for which what the game says is shown

/** Return the page's element for a selector; it must exist. @returns {any} */
const part = (selector) => document.querySelector(selector);
const line = part('#line'), form = part('form'), words = part('#say');
let fading = 0;

/** Show a line for a while, or until the next one if it `stays`. */
function show(text, stays = false) {
  line.textContent = text === HINT && game.chat !== 'off' ? `${HINT} Press Enter to talk.` : text;
  clearTimeout(fading);
  if (!stays) fading = setTimeout(() => { line.textContent = ''; }, SHOWN_FOR);
}

const game = join({ canvas: part('canvas'), keys: { Enter: () => words.focus() } });
game.on.line(show);
game.on.begun(() => {
  form.hidden = game.chat === 'off';
  part('#phrases').replaceChildren(...game.phrases.map((text) => new Option(text)));
});
game.on.ended(() => { form.hidden = true; });
game.on.messages((name, fields) => show(`${name} ${JSON.stringify(fields)}`));
game.on.events((type, player, values) => show(`${player?.name}: ${type} ${JSON.stringify(values)}`));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  game.say(words.value);
  words.value = '';
  words.blur();
});

// For the browser's console and for tests: nothing in the page may depend on it.
globalThis.flatlands = game;

// For again.js.
document.documentElement.dataset.begun = '';
