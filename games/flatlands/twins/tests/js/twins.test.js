import assert from 'node:assert/strict';
import { test } from 'node:test';

import { advanceThings } from '../../../page/things.js';
import { placesNear } from '../../../page/near.js';
import { NOTE, sideOf, standing, Twins } from '../../page/twins.js';
import * as P from '../../../../../static/protocol.js';
import { nothing } from '../../../tests/js/people.js';

const OWN = P.FIRST_PERSON_ID + 1, ADA = OWN + 1, CLOCKWORK = 7;

/** A state with twin stones around (10.5, 5.5), and players at places: [id, x, y]. The first one is the own. */
function at(...players) {
  const state = Object.assign(nothing(), { twins: new Twins() });
  state.replica.learn([['thing', 2, 'Twin', []]]);
  state.replica.apply([P.HELD, 0, 0, 1, 0], 0);
  state.replica.apply([P.THINGS, 0, 0, [[2, 'Twin:0:0:0', 1, 10.5 * 1024, 5.5 * 1024]]], 0);
  state.ownId = OWN;
  stand(state, players, 0);
  return state;
}

function stand(state, players, now) {
  state.walkers = players.map(([id, x, y]) => /** @type {any} */ ({ id, x, y, alpha: 1 }));
  const [[, x, y]] = players;
  state.here = { x, y };
  state.now = now;
  advanceThings(state);
  state.twins.advance(state);
}

test('a player stands on a stone within a tile of its middle', () => {
  const gem = { x: 10, y: 5 };
  assert.deepEqual([[8, 5], [8.9, 5.2], [12, 4.1], [10, 5], [9, 5], [8, 6]].map(([x, y]) => sideOf(gem, { x, y })),
    [-1, -1, 1, 0, 0, 0]);
  const state = at([OWN, 8, 5], [CLOCKWORK, 12, 5]);
  assert.deepEqual(standing(state, gem), [2, 1]);
  state.walkers[1].type = 'Deer';
  assert.deepEqual(standing(state, gem), [2, 0]);
});

test('the page says what is missing, and nothing once it is there', () => {
  const state = at([OWN, 30, 30]);
  assert.equal(state.twins.missing(state), null);
  const say = (now, ...players) => {
    stand(state, players, now);
    return state.twins.missing(state);
  };
  assert.match(say(0, [OWN, 10, 6]), /^Step onto a stone/);
  assert.match(say(0, [OWN, 10, 6], [ADA, 8, 5]), /somebody is waiting for you/);
  assert.match(say(100, [OWN, 8, 5]), /somebody on the other stone. Near the plaza clockwork helps/);
  assert.match(say(200, [OWN, 8, 5], [CLOCKWORK, 12, 5]), /clockwork helps you if no other person is here/);
  state.twins.take([OWN, 'Me', 10, 5, true], 300);
  assert.match(say(300, [OWN, 8, 5]), /everybody within 200 tiles knows/);
  assert.equal(say(400, [OWN, 8, 5], [ADA, 12, 5]), null);
  assert.match(say(3000, [OWN, 8, 5], [ADA, 12, 5]), /as soon as the server reaches its store/);
  state.twins.alone = true;
  assert.match(say(3100, [OWN, 8, 5], [ADA, 12, 5]), /You are on both stones/);
  // Whoever was shown that and goes away, and waits again, is shown anew.
  say(3200, [OWN, 20, 5]);
  state.twins.take([OWN, 'Me', 10, 5, false], 3250);
  assert.match(say(3300, [OWN, 8, 5]), /somebody on the other stone/);
});

test('the book names a person with whom the player has opened them, and no clockwork walker', () => {
  const said = ['Ada', ''].map((who) => NOTE.say(['twin', 0, who, 0, 0, -20], /** @type {any} */ (null))[0]);
  assert.match(said[0], /^You and Ada opened twin stones 20 /);
  assert.match(said[1], /^You and a clockwork walker opened twin stones 20 /);
});

test('a player who waits is news once, and is forgotten when nothing more is heard', () => {
  const state = at([OWN, 30, 30]), { twins } = state;
  assert.equal(twins.take([ADA, 'Ada', 9, 4, true], 0), true);
  assert.equal(twins.take([ADA, 'Ada', 9, 4, true], 20_000), false);
  assert.equal(twins.take([OWN, 'Me', 50, 4, true], 20_000), true);
  stand(state, [[OWN, 30, 30]], 40_000);
  assert.deepEqual(twins.waiting.map(({ name, x, y }) => [name, x, y]), [['Ada', 9.5, 4.5]]);
  state.places.add(0, () => twins.places());
  assert.equal(placesNear(state)[0].name, 'Ada at twin stones');
  state.muted.add(ADA);
  stand(state, [[OWN, 30, 30]], 40_000);
  assert.deepEqual(twins.waiting, []);
  stand(state, [[OWN, 30, 30]], 45_001);
  assert.equal(twins.all.size, 0);
  twins.take([ADA, 'Ada', 9, 4, true], 50_000);
  assert.equal(twins.take([ADA, 'Ada', 9, 4, false], 51_000), false);
  assert.equal(twins.all.size, 0);
});
