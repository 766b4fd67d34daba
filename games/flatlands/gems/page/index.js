// Gems: what the page shows of them, and who found the most.

import { pickUp } from '../things.js';
import { drawDiamond, GEM_NAMES, gemOf, Gems } from '../view/gems.js';
import { Board } from './board.js';
import { Counter } from './counter.js';

const GEM = 'Gem';                        // the name of the kind of things
const ASKS_EVERY = 1000;                  // ms between two questions for the board
const IN_SIGHT = 40, BESIDE = 16;         // tiles: a gem so near is the next step, the first one and later ones
const AROUND = 3;                         // times as far a gem may be on the way to it
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
  const first = gemStep(IN_SIGHT);
  state.next.add(20, (each) => state.did.has('gem') ? null : first(each));
  state.next.add(60, gemStep(BESIDE));
  events.on('purse', (gems, flies) => counter.have(gems, flies));
  return { board, counter };
}

/** Return a function that returns the step to a gem: to the nearest one within `reach` tiles, and then to that one, even if the way
 * there leads around something.
 * @param {number} reach @returns {(state: import('../state.js').State) => import('../next.js').Step | null} */
function gemStep(reach) {
  /** @type {string | null} */
  let wanted = null;
  return ({ things, here }) => {
    const away = ({ x, y }) => Math.hypot(x - here.x, y - here.y);
    const gems = [...things.values()].filter(({ thing, goneAt }) => thing.type === GEM && goneAt === null)
      .sort((a, b) => away(a) - away(b));
    const kept = gems.find((gem) => gem.thing.id === wanted && away(gem) < AROUND * reach), [nearest] = gems;
    const gem = kept ?? (nearest !== undefined && away(nearest) < reach ? nearest : undefined);
    wanted = gem?.thing.id ?? null;
    if (gem === undefined) return null;
    const { thing: { id }, x, y } = gem, name = `a ${GEM_NAMES[gemOf(id)]} gem`;
    return { key: `gem ${id}`, text: `Take ${name}`, place: { x, y, name } };
  };
}
