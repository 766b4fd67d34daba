// The landmarks that the player finds: what the page says of them, and shows on the map of everybody.

import { Discoveries, forgetFound, NOTE, tilesFound } from './discoveries.js';

/** @param {import('../main.js').Game} game */
export function install({ client, state, map, hud, session, events, sound }) {
  const discoveries = new Discoveries(session, hud, sound);
  map.tilesFound = tilesFound;
  state.notes.add(10, NOTE);
  client.on.message('finders', (column, row, place, of, first) =>
    discoveries.showFinders(state.landmarks.of(column, row), place, of, first));
  events.on('frame', () => discoveries.look(state, performance.now()));
  events.on('anew', forgetFound);
}
