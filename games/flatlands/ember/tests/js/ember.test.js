// The ember and the fires, as a page knows them, and what its player does about them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BURNS, Ember, NOTE, placeOf } from '../../page/ember.js';
import { Events } from '../../../page/events.js';
import { listOf } from '../../../page/near.js';
import { Relay } from '../../page/relay.js';
import * as P from '../../../../../static/protocol.js';

const ME = P.FIRST_PERSON_ID, ADA = ME + 1, BOB = ME + 2, CLOCKWORK = 7;
const NEAR = { x: 60, y: 10, foot: 61, name: 'Gull Light' }, FAR = { x: -100, y: 10, foot: -100, name: 'Amber Mill' };
const marks = new Map([['0,0', NEAR], ['-1,0', FAR]]);
const landmarks = { knows: () => true, of: (i, j) => marks.get(`${i},${j}`) ?? null };
const DAY = 86_400_000;

test('the player who holds the ember for longest has it, until it burns out', () => {
  const ember = new Ember();
  assert.equal(ember.carried(0), null);
  ember.take(ADA, BURNS, 'Ada', 0);
  assert.deepEqual(ember.carried(0), { id: ADA, name: 'Ada', left: 1 });
  ember.take(BOB, BURNS + 500, 'Bob', 500);
  ember.take(ADA, BURNS, 'Ada', 600);
  assert.equal(ember.carried(BURNS / 2 + 500)?.left, 0.5);
  assert.equal(ember.carried(1000)?.id, BOB, 'what comes too late is not believed');
  assert.equal(ember.carried(BURNS + 500), null);
  ember.take(0, BURNS + 500, '', 700);
  assert.equal(ember.carried(800), null, 'it has lit something');
});

test('nobody has the ember for long, whatever was sent', () => {
  const ember = new Ember();
  ember.take(ADA, 10 ** 12, 'Ada', 0);
  assert.equal(ember.carried(0), null);
  ember.take(BOB, BURNS, 'Bob', 0);
  assert.equal(ember.carried(0)?.id, BOB);
});

test('the dark landmark nearest to a fire is the goal, and what burns out is dark again', () => {
  const ember = new Ember();
  ember.advance(landmarks, 0);
  assert.equal(ember.goal, null, 'nothing is known of fires');
  ember.light([]);
  ember.advance(landmarks, 0);
  assert.deepEqual([ember.goal?.mark, ember.goal?.from], [NEAR, '0,0']);
  ember.light([[NEAR.x, NEAR.y, 5000, ['Ada']]]);
  ember.advance(landmarks, 0);
  assert.equal(ember.goal?.mark, FAR);
  ember.advance(landmarks, 6000);
  assert.equal(ember.goal?.mark, NEAR);
  assert.deepEqual([...ember.fires.keys()], ['0,0']);
});

/** A player who begins at a place and knows of the hearth; `frame` lets a second and a half pass. */
function playing(begins = { x: 20, y: 20 }) {
  const did = [], toasts = [], said = [], hears = {}, ember = new Ember();
  const state = { now: 0, ownId: ME, own: {}, here: { x: 0.5, y: 0.5 }, drawn: new Map(), marks: [NEAR, FAR], aim: null,
    landmarks, clock: { now: () => state.now },
    walk: { drawn: () => Object.values(state.now > 0 ? state.here : begins) } };
  const on = { message: (name, hear) => (hears[name] = hear), begun: (hear) => (hears.begun = hear),
    applied: (hear) => (hears.applied = hear), error: (hear) => (hears.error = hear) };
  const does = (name) => (...fields) => did.push([name, ...fields]);
  const client = { on, do: { take: does('take'), light: does('light'), fires: does('fires') } };
  const hud = { toast: (text) => toasts.push(text) }, note = { show: (text) => said.push(text) };
  const shownErrors = new Set(), relay = new Relay(state, client, hud, { ring: () => {} }, ember, note, shownErrors, new Events());
  const frame = () => {
    state.now += 1500;
    ember.advance(landmarks, state.now);
    ember.held = ember.carried(state.now);
    relay.frame();
  };
  hears.begun();
  hears.fires([]);
  state.here = { ...begins };
  frame();
  assert.deepEqual(did.splice(0), [['fires']]);
  return { did, toasts, said, hears, state, ember, relay, frame, shownErrors };
}

const HEARTH = placeOf(null);

test('a player who walks into a fire takes the ember, unless somebody else has it', () => {
  const { did, hears, state, frame } = playing();
  frame();
  state.here = { ...HEARTH };
  hears.ember(ADA, 5000, 'Ada');
  frame();
  assert.deepEqual(did, []);
  frame();
  assert.deepEqual(did, [['take', 0]]);
  frame();
  assert.equal(did.length, 2, 'it is asked again until it is answered');
  hears.error('ember');
  frame();
  assert.equal(did.length, 2, 'it is the turn of others');
  state.here = { x: 20, y: 20 };
  frame();
  state.here = { ...HEARTH };
  frame();
  assert.equal(did.length, 3);
});

test('a player is shown once that it is the turn of others, until it has the ember again', () => {
  const { hears, state, frame, shownErrors } = playing();
  assert.ok(shownErrors.has('ember'));
  hears.error('store');
  assert.ok(shownErrors.has('ember'));
  hears.error('ember');
  frame();
  assert.ok(!shownErrors.has('ember'));
  hears.ember(ME, state.now + BURNS, 'Me');
  frame();
  assert.ok(shownErrors.has('ember'));
});

test('a player who had the ember and still stands in its fire has not walked into that again', () => {
  const { did, hears, state, frame } = playing();
  state.here = { ...HEARTH };
  frame();
  assert.deepEqual(did.splice(0), [['take', 0]]);
  hears.ember(ME, state.now + BURNS, 'Me');
  frame();
  hears.ember(0, state.now + BURNS + 1, '');
  frame();
  frame();
  assert.deepEqual(did, []);
  state.here = { x: 20, y: 20 };
  frame();
  state.here = { ...HEARTH };
  frame();
  assert.deepEqual(did, [['take', 0]]);
});

test('a player who begins in a fire has not walked into it', () => {
  const { did, frame } = playing({ ...HEARTH });
  frame();
  assert.deepEqual(did, []);
});

test('a carrier who is touched hands it over, but only by a click to one who stood there already', () => {
  const { did, hears, state, relay, frame } = playing();
  state.drawn.set(ADA, { x: 21, y: 20 });
  hears.ember(ADA, BURNS, 'Ada');
  frame();
  assert.deepEqual(did, []);
  relay.grasp(ADA);
  assert.deepEqual(did.splice(0), [['take', ADA]]);
  state.drawn.set(ADA, { x: 24, y: 20 });
  frame();
  state.drawn.set(ADA, { x: 21.5, y: 20 });
  frame();
  assert.deepEqual(did.splice(0), [['take', ADA]]);
  state.drawn.set(ADA, { x: 24, y: 20 });
  relay.grasp(ADA);
  assert.deepEqual(did, []);
});

test('clockwork gives it back to one who is near once less than half of it is left', () => {
  const { did, toasts, hears, state, frame } = playing();
  hears.ember(ME, BURNS, 'Me');
  frame();
  state.drawn.set(CLOCKWORK, { x: 24, y: 20 });
  hears.ember(CLOCKWORK, state.now + BURNS + 1500, 'Pike');
  frame();
  assert.equal(toasts.at(-1), 'Pike carries the ember for you. Touch Pike when half of it has burnt.');
  state.drawn.set(CLOCKWORK, { x: 21, y: 20 });
  for (let i = 0; i < 10; i++) frame();
  assert.deepEqual(did, [], 'half of it is left');
  state.drawn.set(CLOCKWORK, { x: 23, y: 20 });
  frame();
  assert.deepEqual(did, []);
  state.drawn.set(CLOCKWORK, { x: 22, y: 20 });
  frame();
  assert.deepEqual(did, [['take', CLOCKWORK]]);
});

test('a dark landmark is lit by the player who brings the ember, and all are shown who did', () => {
  const { did, toasts, said, hears, state, ember, frame } = playing();
  hears.ember(ME, BURNS, 'Me');
  frame();
  assert.equal(toasts.at(-1), 'You have the ember! It burns for 30 s unless somebody takes it.');
  assert.equal(state.aim?.label, 'Gull Light');
  assert.match(said.at(-1), /^Carry the ember to Gull Light, 42 tiles east\.$/);
  state.here = placeOf(NEAR);
  frame();
  assert.deepEqual(did, [['light']]);
  hears.ember(0, BURNS, '');
  hears.fires([[NEAR.x, NEAR.y, DAY, ['Ada', 'Me']]]);
  frame();
  assert.equal(toasts.at(-1), 'Gull Light burns! Ada and Me brought the ember.');
  assert.deepEqual([did.length, state.aim, ember.held], [1, null, null], 'she has not walked into it');
  assert.match(said.at(-1), /^Ada and Me lit this fire\. Amber Mill is dark: bring it an ember from the plaza\.$/);
});

test('a player who gives it away, or lets it burn out, is shown that', () => {
  const { toasts, hears, frame } = playing();
  hears.ember(ME, 5000, 'Me');
  frame();
  hears.ember(ADA, 6000, 'Ada');
  frame();
  assert.equal(toasts.at(-1), 'Ada took the ember from you.');
  hears.ember(ME, 8000, 'Me');
  frame();
  frame();
  frame();
  assert.equal(toasts.at(-1), 'The ember has burnt out. You can take a new one from a fire.');
});

test('everything is asked for again when nodes hear each other again, and now and then', () => {
  const { did, hears, state, frame } = playing();
  hears.applied([P.LINK, false]);
  assert.equal(did.length, 0);
  hears.applied([P.LINK, true]);
  assert.equal(did.length, 1);
  state.now += 100_000;
  frame();
  assert.deepEqual(did, [['fires'], ['fires']]);
});

test('names are listed as in a sentence', () => {
  assert.deepEqual([[], ['Ada'], ['Ada', 'Bob'], ['Ada', 'Bob', 'Cid']].map(listOf),
    ['', 'Ada', 'Ada and Bob', 'Ada, Bob and Cid']);
});

test('the book shows a landmark that was lit, and by how many hands', () => {
  const say = (n) => NOTE.say(['hand', 1, 'Ben', n, 0, 0], /** @type {any} */ (landmarks))[0];
  assert.deepEqual([1, 2, 3, 4].map(say), ['You', 'You and Ben', 'You, Ben and another', 'You, Ben and 2 others']
    .map((hands) => `${hands} brought the ember to Gull Light.`));
});
