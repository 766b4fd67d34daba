// What the session shows the player, over panels that only note it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BOW, WAVE } from '../../page/emotes.js';
import * as P from '../../../../static/protocol.js';
import { Events } from '../../page/events.js';
import { State } from '../../page/state.js';
import { storageOf } from '../../../../tests/js/storage.js';
import { comes } from './people.js';

const OWN = 2 ** 31 + 0, ADA = 2 ** 31 + 1, CLOCK = 7;

/** Return a session that plays with a person and a clockwork walker in sight, the client that it listens to, and what the
 * panels are given: each list is empty again once it was read. */
async function playing(context) {
  context.mock.timers.enable({ apis: ['setInterval'] });
  delete globalThis.BroadcastChannel;
  Object.assign(globalThis, { localStorage: storageOf(), sessionStorage: storageOf(),
    matchMedia: () => ({ matches: false }), location: { href: 'http://localhost:8000/', search: '' }, document: { hidden: false, addEventListener() {} } });
  const { Client } = await import('../../../../static/client.js');
  const { Session } = await import('../../page/session.js');
  const client = new Client(), state = new State(client), heard = { toasts: [], lines: [], tab: [], read: [] };
  const hud = /** @type {any} */ ({ title() {}, lasts: false, toast: (text) => heard.toasts.push(text),
    callBack: (text) => heard.tab.push(text), announce: (text) => heard.read.push(text),
    chat: { add: (name, _id, _look, text) => heard.lines.push(`${name}: ${text}`) } });
  const session = new Session(client, state, hud, new Events());
  const begin = () => {
    state.ownId = OWN;
    for (const [id, away] of [[OWN, 0], [ADA, 2], [CLOCK, 3]]) comes(state, id, away);
  };
  return { client, state, session, hud, begin, heardIn: (list) => heard[list].splice(0) };
}

test('a player is shown refusals that it cannot see for itself, and once those that the page repeats', async (context) => {
  const { client, session, hud, begin, heardIn } = await playing(context);
  const refuse = (...codes) => {
    for (const code of codes) client.net.on.error(code, `the ${code}`);
    return heardIn('toasts');
  };
  assert.deepEqual(refuse('flood'), [], 'the title shows it');
  begin();
  assert.deepEqual(refuse('keys', 'flood', 'keys', 'flood', 'taken'), ['The keys.', 'The flood.', 'The flood.']);
  assert.deepEqual(refuse('store'), [], 'there is nothing to take');
  hud.lasts = true;
  session.shownErrors.add('taken');
  assert.deepEqual(refuse('store', 'taken', 'keys'), ['The store.', 'The taken.']);
});

test('of what clockwork says the chat has only what it says to the player, and a hidden tab and screen readers announce who acts', async (context) => {
  const { client, begin, heardIn } = await playing(context);
  begin();
  const says = (id, text) => client.replica.onSay(client.replica.players.get(id), text);
  says(CLOCK, 'Nobody listens');
  says(CLOCK, `N${OWN}, I am a computer`);
  says(ADA, 'I am somebody');
  says(OWN, 'So am I');
  assert.deepEqual(heardIn('lines'), [`N7: N${OWN}, I am a computer`, `N${ADA}: I am somebody`, `N${OWN}: So am I`]);
  assert.deepEqual(heardIn('tab'), ['N7 spoke', `N${ADA} spoke`]);
  for (const id of [ADA, CLOCK, OWN]) client.replica.onEvent('Emote', id, { emote: WAVE });
  assert.deepEqual(heardIn('tab'), [`N${ADA} waved`]);
  assert.deepEqual(heardIn('read'), [`N${ADA} waved.`, `You and N${ADA} wave to each other: a spark!`]);
  client.replica.onEvent('Emote', ADA, { emote: BOW });
  assert.deepEqual([heardIn('tab'), heardIn('read')], [[`N${ADA} bowed`], [`N${ADA} bowed.`]]);
});

test('clockwork asks a player who has no mouse to touch it', async (context) => {
  const { client, begin, heardIn } = await playing(context);
  begin();
  const asks = () => {
    client.replica.onSay(client.replica.players.get(CLOCK), `Click me, N${OWN}`);
    return heardIn('lines');
  };
  assert.deepEqual(asks(), [`N7: Click me, N${OWN}`]);
  globalThis.matchMedia = () => /** @type {any} */ ({ matches: true });
  assert.deepEqual(asks(), [`N7: Touch me, N${OWN}`]);
});

test('who has waved to the player and was waved to is its friend, as is its host, and clockwork is not', async (context) => {
  const { client, state, session, hud, begin } = await playing(context);
  begin();
  hud.hint = () => {};
  const wave = (id) => client.replica.onEvent('Emote', id, { emote: WAVE });
  for (const id of [CLOCK, OWN, ADA]) wave(id);
  assert.deepEqual([...state.friends], []);
  wave(OWN);
  assert.deepEqual([...state.friends], [ADA]);
  comes(state, ADA + 1, 4);
  client.listeners.emit('applied', [P.HOST, `N${ADA + 1}`, true]);
  assert.deepEqual([...state.friends], [ADA, ADA + 1]);
  Object.assign(hud, { banner() {}, titleScreen: { fail() {} } });
  client.net.on.refused('kicked', 'an operator sent you away');
  assert.deepEqual([...state.friends], []);
  assert.equal(session.started, false);
});

test('a window that played a moment ago plays on when it is loaded again, and no other one does', async (context) => {
  const { client, hud } = await playing(context), { Session } = await import('../../page/session.js');
  const { identity } = client, started = [];
  Object.assign(hud, { banner() {} });
  client.open = async ({ name }) => started.push(name);
  const loaded = async (ago, token = 'a token', search = '') => {
    Object.assign(globalThis.location, { search });
    Object.assign(identity, { token, name: 'Wren' });
    sessionStorage.setItem('flatlands.played', String(Date.now() - ago));
    new Session(client, new State(client), hud, new Events());
    await new Promise((resolve) => setImmediate(resolve));
    return started.splice(0);
  };
  assert.deepEqual(await loaded(60_000), ['Wren']);
  assert.deepEqual(await loaded(6 * 60_000), []);
  assert.deepEqual(await loaded(-60_000), [], 'the clock was set back');
  assert.deepEqual(await loaded(60_000, 'a token', '?near=5'), [], 'an invitation is shown');
  identity.keep.forget('flatlands.token');
  assert.deepEqual(await loaded(60_000, null), [], 'it is somebody else now');
});

test('a browser knows for two days in which world its player has walked, unless that is somebody else now', async (context) => {
  const { client, state, hud, begin } = await playing(context), { hasPlayed, Session } = await import('../../page/session.js');
  const day = 24 * 3600 * 1000, { now } = Date;
  let hidden = () => {};
  globalThis.document.addEventListener = /** @type {any} */ ((_, act) => { hidden = act; });
  Object.assign(hud, { banner() {}, titleScreen: { fail() {} } });
  new Session(client, state, hud, new Events());
  hidden();
  assert.equal(hasPlayed(state.terrain.seed), false, 'it is at the title');
  begin();
  hidden();
  assert.deepEqual([hasPlayed(state.terrain.seed), hasPlayed(state.terrain.seed + 1)], [true, false]);
  for (const [days, knows] of [[1.9, true], [2.1, false]]) {
    Date.now = () => now() + days * day;
    assert.equal(hasPlayed(state.terrain.seed), knows);
  }
  Date.now = now;
  client.net.on.refused('kicked', 'an operator sent you away');
  assert.equal(hasPlayed(state.terrain.seed), false);
});
