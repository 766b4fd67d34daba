// Squares that bloom: what the page shows and says of them.

import { Blooms, NOTE } from './blooms.js';
import { Wreaths } from './wreaths.js';

/** @param {import('../main.js').Game} game */
export function install({ state, view, hud, events, sound }) {
  const blooms = new Blooms(state.grown);
  state.grown.blooming = (x, y) => blooms.blooming(x, y);
  view.things.add({ type: 'Bloom', Pictures: Wreaths });
  state.lacks.add(20, () => blooms.read(state) ?? blooms.missing(state));
  state.notes.add(80, NOTE);
  events.on('frame', () => {
    const sentence = blooms.look(state);
    if (sentence === null) return;
    sound.spark();
    if (blooms.read(state) === null) hud.toast(sentence);
  });
}
