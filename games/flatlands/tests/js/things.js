// Things that lie in a world without people, for tests of what a page draws.

import { advanceThings } from '../../page/things.js';
import * as P from '../../../../static/protocol.js';

const KINDS = [['thing', 0, 'Gem', []],
  ['thing', 1, 'Cairn', ['player', 'name', 'text', 'stones']]];

/** Let a state hold the squares 0, 0 and 1, 0, with things in the first, drawn for a while; return it. */
export function placedThere(state, ...things) {
  state.replica.learn(KINDS);
  state.replica.apply([P.HELD, 0, 0, 1, 0], 0);
  takeThings(state, things, 0);
  frame(state, 1000);
  return state;
}

export function takeThings(state, things, at) {
  state.replica.apply([P.THINGS, 0, 0, things], 0);
  frame(state, at);
}

/** The first that is drawn of the things with an id. */
export const find = ({ things }, id) => [...things.values()].find(({ thing }) => thing.id === id);

export function frame(state, at) {
  state.now = at;
  advanceThings(state);
}
