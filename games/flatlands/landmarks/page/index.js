// The landmarks that the player finds: what the page says of them, and shows on the map of everybody.

import { Discoveries, forgetFound, nearestUnfound, NOTE, tilesFound } from './discoveries.js';

/** @param {import('../main.js').Game} game */
export function install({ client, state, map, hud, session, events, sound }) {
  const discoveries = new Discoveries(session, hud, sound);
  /** @type {import('../landmarks.js').Landmark | null} Where the next step leads, as long as it is not much farther than another. */
  let goal = null;

  /** @returns {import('../next.js').Step | null} */
  function step() {
    const { here } = state, away = ({ x, y }) => Math.hypot(x - here.x, y - here.y), next = nearestUnfound(state, barred);
    if (next !== null && (goal === null || !isWanted(goal) || away(next) < away(goal) / 2)) goal = next;
    if (goal === null || !isWanted(goal)) return null;
    const { foot, y, name } = goal;
    return { key: keyOf(goal), text: `Find ${name}`, place: { x: foot + 0.5, y: y + 2.5, name } };
  }

  /** Return whether a landmark is neither found nor out of reach. */
  const isWanted = ({ x, y }) => !barred.has(`${x}:${y}`) && !tilesFound().some((each) => each.x === x && each.y === y);
  const keyOf = ({ x, y }) => `landmark ${x}:${y}`;
  /** @type {Set<string>} The tiles of landmarks to which no way was found. */
  const barred = new Set();
  events.on('barred', () => goal !== null && state.aim?.label === goal.name && barred.add(`${goal.x}:${goal.y}`));
  discoveries.onFound = () => {
    events.emit('did', 'landmark');
    if (state.found !== null && state.aim?.label === state.found.name) state.aim = null;
  };
  state.next.add(40, () => state.did.has('landmark') ? null : step());
  state.next.add(70, step);
  map.tilesFound = tilesFound;
  state.notes.add(10, NOTE);
  client.on.message('finders', (column, row, place, of, first) =>
    discoveries.showFinders(state.landmarks.of(column, row), place, of, first));
  events.on('frame', () => discoveries.look(state, performance.now()));
  events.on('anew', forgetFound);
}
