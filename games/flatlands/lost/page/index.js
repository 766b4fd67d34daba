// The lost thing of the day: what the page shows and says of it.

import { LostThings, NAMES, NOTE } from './lost.js';
import { LostPictures, Worn } from './pictures.js';

const LOST = 'Lost';                      // the name of the kind of things
const COLOUR = '#ef476f';

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, minimap, hud, events, sound }) {
  const lost = new LostThings();
  let asked = false;                      // whether the next message answers a question
  view.things.add({ type: LOST, Pictures: LostPictures });
  minimap.kinds.set(LOST, (drawing, px, py) => drawing.dot(px, py, 2.4 * drawing.dpr, COLOUR));
  // Those of two days may be worn.
  for (const nth of [0, 1]) {
    const worn = () => [...lost.worn(state.clock.now())][nth] ?? [null, 0];
    view.walkers.add(() => worn()[0], (tile) => new Worn(tile, () => worn()[1]));
  }
  client.on.begun(() => {
    asked = hud.lasts;
    if (asked) client.do.lost();
  });
  client.on.message('lost', (rows) => {
    const own = state.ownId ?? 0, before = lost.worn(state.clock.now()).get(own), isNews = !asked;
    lost.rows = rows;
    asked = false;
    const what = lost.worn(state.clock.now()).get(own);
    if (!isNews || what === undefined || before !== undefined) return;
    sound.spark();
    hud.toast(`You found the lost ${NAMES[what]}! You wear it until tomorrow, and everybody sees it.`);
    events.emit('did', 'lost');
  });
  state.notes.add(65, NOTE);
  state.board.add(10, () => lost.hint(state.clock.now()));
  state.next.add(66, (each) => lost.step(each));
  return lost;
}
