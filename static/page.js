// The page of a game that has none of its own: players walk and talk, and what the game has written on the
// ground, lets lie there and keeps is drawn plainly, with its names. Whoever makes a page may begin with it.

import { HINT, join } from './game.js';

const SHOWN_FOR = 8000;                   // ms for which one sees what the game has told

/** Return the page's element of a selector; it must be there. @returns {any} */
const part = (selector) => document.querySelector(selector);
const line = part('#line'), form = part('form'), words = part('#say');
let fading = 0;

/** Show a line: for a while, or until there is another one. */
function show(text, stays = false) {
  line.textContent = text === HINT ? `${HINT} Enter to talk.` : text;
  clearTimeout(fading);
  if (!stays) fading = setTimeout(() => { line.textContent = ''; }, SHOWN_FOR);
}

const game = join({ canvas: part('canvas'), keys: { Enter: () => words.focus() } });
game.on.line(show);
game.on.begun(() => { form.hidden = false; });
game.on.ended(() => { form.hidden = true; });
game.on.anything((name, fields) => show(`${name} ${JSON.stringify(fields)}`));
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
