// Who and what is near: fills the list that M opens, finds others by a few letters, and announces to screen readers who
// comes and why a walk ended.

import { WAVE } from './emotes.js';
import { farFrom, foundIn, Guide, placesNear, walkersNear } from './near.js';

const SEEKS_AFTER = 250;                  // ms after a letter: the server allows four questions a second

/** @param {import('./main.js').Game} game */
export function install({ client, state, view, hud, controls, navigation, events }) {
  const guide = new Guide();
  /** What the server has found last: people, and two lists of places. @type {[any[], any[], any[]]} */
  let sought = [[], [], []];
  let seeking = 0;                        // the timer until the server is asked

  /** List who and what is near, and let the player find others by a few letters, at first those of `text`. */
  function open(text = '') {
    if (!client.net.playing) return;
    sought = [[], [], []];
    hud.openNear(walkersNear(state), placesNear(state), choose, seek, text);
  }

  /** @param {import('./near.js').Near} near */
  function choose({ walker, x, y, name }, act) {
    if (walker === null || (act === 'open' && hud.nearDialog.text !== '')) return events.emit('go', x, y, name);
    if (act === 'follow') return events.emit('follow', walker.id);
    if (act === 'wave') return events.emit('emote', WAVE);
    const at = view.pointOf(state, walker.x, walker.y);
    controls.showMenu(walker.id, at.x, at.y);
  }

  /** Show at once what the page knows, and ask the server once no letter has come for a moment. */
  function seek(text) {
    clearTimeout(seeking);
    showFound(text);
    if (text !== '') seeking = setTimeout(() => client.do.seek(text), SEEKS_AFTER);
  }

  function showFound(text) {
    const walkers = walkersNear(state), places = placesNear(state);
    if (text === '') return hud.nearDialog.fill(walkers, places, choose);
    const far = farFrom(state, client.replica.side, ...sought);
    hud.nearDialog.fill(foundIn(text, [...walkers, ...places, ...far], state.here), [], choose);
  }

  events.on('near', () => open());
  events.on('find', open);
  client.on.message('sought', (text, people, ...places) => {
    sought = [people.filter(([id]) => id !== state.own?.id), places[0], places[1] ?? []];
    if (hud.nearDialog.root.open && hud.nearDialog.text === text) showFound(text);
  });
  events.on('frame', () => {
    const sentence = guide.look(state, navigation.goesOn);
    if (sentence !== null) hud.announce(sentence);
  });
}
