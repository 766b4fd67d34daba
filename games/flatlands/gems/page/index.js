// Gems: what the page shows of them, and who found the most.

import { pickUp } from '../things.js';
import { drawDiamond, Gems } from '../view/gems.js';
import { Board } from './board.js';
import { Counter } from './counter.js';

const GEM = 'Gem';                        // the name of the kind of things
const ASKS_EVERY = 1000;                  // ms between two questions for the board
const REFRESHES_EVERY = 10000;            // ms between questions while the book is open

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, minimap, hud, events, sound }) {
  const { on } = client, board = new Board(), counter = new Counter(events.emitter('plant'));
  let askedAt = -Infinity;                // performance time, ms
  /** @type {number | undefined} */
  let refreshing = undefined;

  /** Ask for the board as long as the book is open, but not so often that the server would refuse it. */
  function keepAsking() {
    const now = performance.now();
    if (!client.net.playing || now < askedAt + ASKS_EVERY) return;
    askedAt = now;
    client.do.scores();
    clearTimeout(refreshing);
    refreshing = setTimeout(() => board.root.checkVisibility() && keepAsking(), REFRESHES_EVERY);
  }

  view.things.add({ type: GEM, Pictures: Gems });
  minimap.kinds.set(GEM, ({ ctx, dpr }, px, py, id) => drawDiamond(ctx, px, py, id, dpr));
  if (hud.lasts) hud.pages.add(10, board.root);
  hud.readingsPanel.strip.append(counter.chip.root);
  hud.root.append(counter.liveRegion);
  on.begun(() => client.do.scores());
  on.message('board', (gems, place, of, top) => {
    counter.count({ gems, place, of });
    board.show({ gems, place, of }, top);
  });
  on.message('found', (id, version, gems, place, of) => {
    const gem = pickUp(state, id, version), { x, y } = gem ?? state.here;
    const flies = (gem !== null || view.things.isUnseen(id)) && !state.still && !document.hidden;
    sound.chime();
    counter.won({ gems, place, of }, flies ? { ...view.pictureOf(id), ...view.pointOf(state, x, y) } : null);
  });
  events.on('book', keepAsking);
  events.on('purse', (gems, flies) => counter.have(gems, flies));
  return { board, counter };
}
