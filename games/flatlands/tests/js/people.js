// Players as the page knows and draws them.

import { advanceScene } from '../../page/scene.js';
import { State } from '../../page/state.js';
import { Clock } from '../../../../static/clock.js';
import { Replica } from '../../../../static/replica.js';
import { stand, UNIT } from '../../../../static/track.js';
import { Walk } from '../../../../static/walk.js';

/** The state of a page that knows nothing yet. */
export function nothing() {
  return new State({ clock: new Clock(), replica: new Replica(), walk: new Walk(() => false), ground: null });
}

/** Let a state know of a player who stands so many tiles to the east of the plaza. */
export function comes(state, id, away) {
  state.replica.players.set(id, { id, seq: 1, ack: 0, name: `N${id}`, dimmed: false, look: 0,
    pace: 100, values: {},
    track: stand(away * UNIT, 0, 0), square: [0, 0], transitUntil: null, sketches: 0, rough: false });
  state.replica.nameChanges++;
}

/** A state with players so many tiles to the east of the plaza, by their ids, where the own one is. */
export function among(players, ownId = null) {
  const state = nothing();
  state.ownId = ownId;
  state.clock.sample(0, 1000, 0);
  state.walk.begin(0, 0, 1000);
  if (ownId !== null) comes(state, ownId, 0);
  for (const [id, away] of players) comes(state, id, away);
  advanceScene(state, 10);
  return state;
}
