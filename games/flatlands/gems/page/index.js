// Gems: what the page shows of them, and who found the most.

import { pickUp } from '../things.js';
import { drawDiamond, GEM_NAMES, gemOf, Gems } from '../view/gems.js';
import { Board } from './board.js';
import { Counter } from './counter.js';

const GEM = 'Gem';                        // the name of the kind of things
const ASKS_EVERY = 1000;                  // ms between two questions for the board
const IN_SIGHT = 40, BESIDE = 16;         // tiles: a gem so near is the next step, the first one and later ones
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
  on.message('found', () => events.emit('did', 'gem'));
  state.next.add(20, () => state.did.has('gem') ? null : nextGem(state, IN_SIGHT));
  state.next.add(60, () => nextGem(state, BESIDE));
  events.on('purse', (gems, flies) => counter.have(gems, flies));
  return { board, counter };
}

/** Return the step to the nearest gem within `reach` tiles, or null.
 * @param {import('../state.js').State} state @param {number} reach @returns {import('../next.js').Step | null} */
function nextGem({ things, here }, reach) {
  let nearest = null, least = reach;
  for (const { thing, x, y, goneAt } of things.values()) {
    const away = Math.hypot(x - here.x, y - here.y);
    if (thing.type === GEM && goneAt === null && away < least) [nearest, least] = [{ id: thing.id, x, y }, away];
  }
  if (nearest === null) return null;
  const { id, x, y } = nearest, name = `a ${GEM_NAMES[gemOf(id)]} gem`;
  return { key: `gem ${id}`, text: `Take ${name}`, place: { x, y, name } };
}
