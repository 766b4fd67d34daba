import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Discoveries, forgetFound, NOTE } from '../../page/discoveries.js';
import { storageOf } from '../../../../../tests/js/storage.js';

const OAK = { x: 500, y: -170, name: 'Kettle Oak' }, KNOLL = { x: 900, y: 10, name: 'Long Knoll' };

/** A player's discoveries, the toasts that it was shown, and what the server was sent. */
function discoveries(lasts = true) {
  const toasts = [], sent = [];
  globalThis.localStorage = storageOf();
  const session = { client: { do: { find: (...part) => sent.push(part) } } };
  const seen = new Discoveries(session, { lasts, toast: (text) => toasts.push(text) }, { chime: () => {} });
  return { seen, toasts, sent };
}

test('a server that keeps nothing is not asked about a new landmark', () => {
  const { seen, toasts, sent } = discoveries(false);
  seen.look({ found: OAK }, 1000);
  assert.deepEqual([toasts, sent], [['You found Kettle Oak. Landmarks found: 1.'], []]);
});

test('the server is asked about a new landmark, and its answer is shown', () => {
  const { seen, toasts, sent } = discoveries();
  seen.look({ found: OAK }, 1000);
  assert.deepEqual([toasts, sent], [['You found Kettle Oak. Landmarks found: 1.'], [[3, -2]]]);
  seen.showFinders(OAK, 2, 2);
  assert.equal(toasts[1], 'You are the second to find Kettle Oak. Landmarks found: 1.');
  seen.look({ found: OAK }, 9000);
  assert.equal(sent.length, 1);
});

test('a server that does not answer is asked again, five times, whenever the player is there', () => {
  const { seen, sent } = discoveries();
  for (let now = 0; now < 30_000; now += 100) seen.look({ found: OAK }, now);
  assert.equal(sent.length, 5);
  seen.look({ found: null }, 30_100);
  seen.look({ found: OAK }, 40_000);
  assert.equal(sent.length, 6);
  seen.look({ found: KNOLL }, 41_000);
  seen.look({ found: null }, 41_100);
  seen.look({ found: null }, 50_000);
  assert.equal(sent.length, 7);
});

test('the server is asked once about a landmark that the browser knows, and its answer is not news', () => {
  const { seen, toasts, sent } = discoveries();
  globalThis.localStorage.setItem('flatlands.found', '500:-170');
  seen.look({ found: OAK }, 1000);
  seen.showFinders(OAK, 1, 1, 'Ada');
  for (const found of [null, OAK, null, OAK]) seen.look({ found }, 9000);
  assert.deepEqual([toasts, sent], [['Kettle Oak', 'Kettle Oak', 'Kettle Oak'], [[3, -2]]]);
  forgetFound();
  seen.look({ found: null }, 20_000);
  seen.look({ found: OAK }, 30_000);
  seen.showFinders(OAK, 2, 2);
  assert.equal(toasts.at(-1), 'You are the second to find Kettle Oak. Landmarks found: 1.');
});

test('the book shows a landmark that was found, and of how many had found it before', () => {
  const known = /** @type {any} */ ({ of: (i, j) => (i === 3 && j === -2 ? { x: 500, y: -170, name: 'Kettle Oak' } : null) });
  const say = (n, i, j) => NOTE.say(['landmark', 1, '', n, i, j], known);
  const [text, place] = say(1, 3, -2);
  assert.equal(text, 'You were the first to find Kettle Oak: your name is carved there.');
  assert.deepEqual(place, { x: 500.5, y: -169.5, name: 'Kettle Oak' });
  assert.equal(say(12, 9, 9)[0], 'You were the 12th to find a landmark.');
});
