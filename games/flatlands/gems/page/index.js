// Gems: what the page shows of them, and the board.

import { pickUp } from '../things.js';
import { drawDiamond, Gems } from '../view/gems.js';
import { Board } from './board.js';

const GEM = 'Gem';                        // the name of the kind of things
const ASKS_EVERY = 1000;                  // ms between two questions for the board

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, minimap, hud, events, sound }) {
  const { on } = client, board = new Board(() => ask());
  let askedAt = -Infinity;                // performance time, ms

  /** Ask for the board, but not so often that the server would refuse it. */
  function ask() {
    const now = performance.now();
    if (!client.net.playing || now - askedAt < ASKS_EVERY) return;
    askedAt = now;
    client.do.scores();
  }

  view.things.add({ type: GEM, Pictures: Gems });
  minimap.kinds.set(GEM, ({ ctx, dpr }, px, py, id) => drawDiamond(ctx, px, py, id, dpr));
  hud.putSheet(board, { letter: 'b', sign: 'board', label: 'Board', help: 'who found the most gems', lasts: true, at: 60 });
  hud.readingsPanel.strip.append(board.counter.root);
  hud.root.append(board.liveRegion);
  hud.tools.help.texts.add(10, 'Gems lie in the world, most of them near paths. Walk over one and it is yours; '
    + 'another then appears somewhere else.');
  on.begun(() => client.do.scores());
  on.message('board', (gems, place, of, top) => board.show({ gems, place, of }, top));
  on.message('found', (id, version, gems, place, of) => {
    const gem = pickUp(state, id, version), { x, y } = gem ?? state.here;
    const flies = (gem !== null || view.things.isUnseen(id)) && !state.still && !document.hidden;
    sound.chime();
    board.won({ gems, place, of }, flies ? { ...view.pictureOf(id), ...view.pointOf(state, x, y) } : null);
  });
  events.on('purse', (gems, flies) => board.have(gems, flies));
  return board;
}
