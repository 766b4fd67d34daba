// Squares that bloom, and what a dance lacks, as a page knows them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Blooms, NOTE } from '../../page/blooms.js';
import { DANCE, showEmote } from '../../../page/emotes.js';
import { advanceScene } from '../../../page/scene.js';
import { Terrain } from '../../../../../static/terrain.js';
import { UNIT } from '../../../../../static/track.js';
import { among, comes } from '../../../tests/js/people.js';

const ADA = 2 ** 31 + 1, BOB = 2 ** 31 + 2, CID = 2 ** 31 + 3, COG = 5, DAY = 86_400_000;

/** Let things lie in a square of 16 tiles: blooms by their ids, until a node time, in its last tile. */
function lay(state, col, row, ...blooms) {
  state.replica.things.set(`${col}:${row}`, blooms.map(([id, until]) => ({ kind: 4, type: 'Bloom', id, version: 1,
    square: [col, row], x: (col * 16 + 15.5) * UNIT, y: (row * 16 + 15.5) * UNIT,
    values: { until, first: 'Ann', second: 'Ben', third: 'Cid' } })));
  state.replica.thingChanges++;
}

test('a square blooms while a bloom lies there, and a player is shown it once, in place or as news', () => {
  const state = among([], ADA), { grown } = state, blooms = new Blooms(grown);
  state.terrain = new Terrain(2013);
  state.replica.side = 16;
  assert.equal(blooms.look(state), null);
  lay(state, 0, 0, ['Bloom:a', 3_600_000]);
  assert.match(blooms.look(state) ?? '', /^This square blooms until .*, for Ann, Ben and Cid\.$/);
  assert.equal(blooms.look(state), null);
  assert.deepEqual([blooms.blooming(15, 0), blooms.blooming(16, 0)], ['Bloom:a', '']);
  const { length } = grown.changes;
  assert.ok(length > 4 && grown.changes.every(({ x, y }) => x >= 0 && x < 16 && y >= 0 && y < 16));
  // In another square only what is new, and near, is shown.
  lay(state, -1, 0, ['Bloom:b', 3_600_000]);
  assert.equal(blooms.look(state), null);
  lay(state, 3, 0, ['Bloom:c', 2 * DAY]);
  assert.equal(blooms.look(state), null);
  lay(state, -1, -1, ['Bloom:d', 2 * DAY]);
  assert.match(blooms.look(state) ?? '', /until tomorrow|until \d/);
  lay(state, 0, 0);
  assert.equal(blooms.look(state), null);
  assert.equal(blooms.blooming(15, 0), '');
  assert.ok(grown.changes.length > length, 'it is painted anew');
  // Nothing is sent of the end of one whose square was let go.
  state.replica.things.delete('-1:0');
  state.clock.now = () => 4_000_000;
  blooms.look(state);
  assert.deepEqual([blooms.blooming(-1, 0), blooms.blooming(-1, -1)], ['', 'Bloom:d']);
});

test('a player who dances with others is shown what is missing', () => {
  const state = among([[BOB, 3], [CID, 5], [COG, 2]], ADA), blooms = new Blooms(state.grown);
  state.replica.side = 16;
  const dance = (...ids) => ids.forEach((id) => showEmote(state, id, DANCE, state.now));
  dance(BOB, COG);
  assert.equal(blooms.missing(state), null, 'she does not dance');
  dance(ADA);
  assert.equal(blooms.missing(state), `N${BOB} is dancing with you. With a third dancer, this square will bloom.`);
  dance(CID);
  assert.equal(blooms.missing(state), 'Keep dancing, all of you: this square will bloom soon.');
  comes(state, CID, -5);
  advanceScene(state, state.now + 1000);
  assert.match(blooms.missing(state) ?? '', /and you dance in different squares/);
  state.muted.add(CID);
  advanceScene(state, state.now + 1000);
  assert.match(blooms.missing(state) ?? '', /With a third/);
  lay(state, 0, 0, ['Bloom:a', DAY]);
  blooms.look(state);
  assert.equal(blooms.missing(state), null, 'it blooms already');
  lay(state, 0, 0);
  blooms.look(state);
  assert.ok(blooms.missing(state));
  state.now += 5000;
  assert.equal(blooms.missing(state), null, 'it is over');
});

test('the book lists who danced', () => {
  const [text, place] = NOTE.say(['bloom', 1, 'Ben', 3, 20, 0], /** @type {any} */ (null));
  assert.equal(text, 'You, Ben and a third danced until a square bloomed 20 tiles east of the plaza.');
  assert.deepEqual(place, { x: 20.5, y: 0.5, name: 'where you danced' });
});
