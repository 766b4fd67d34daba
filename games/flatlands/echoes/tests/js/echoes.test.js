// Races and their echoes, as a page knows them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Landmarks } from '../../../page/landmarks.js';
import { Echoes, NOTES, placeAt, resultOf } from '../../page/echoes.js';
import { Races } from '../../page/races.js';
import { advanceScene } from '../../../page/scene.js';
import { Terrain } from '../../../../../static/terrain.js';
import { stand } from '../../../../../static/track.js';
import { among } from '../../../tests/js/people.js';

const ADA = 2 ** 31 + 1, BOB = 2 ** 31 + 2;
const PLAZA = [-1, 0, 0];                 // the course from the first signpost in the west to the plaza

/** Points of a run of 12 s to the plaza, as it is sent. */
const WAY = (() => {
  const bytes = new DataView(new ArrayBuffer(18));
  [[0, 4, 0], [6000, 30, 10], [12000, 72, 3]].forEach(([ms, x, y], i) => {
    bytes.setUint16(i * 6, ms, true);
    bytes.setInt16(i * 6 + 2, x * 128, true);
    bytes.setInt16(i * 6 + 4, y * 128, true);
  });
  return btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)));
})();
const ECHO = { ms: 12000, player: BOB, look: 0, name: 'Bob', way: WAY };
const NOBODY = { ms: 0, player: 0, look: 0, name: '', way: '' };

/** A page whose player stands at the first signpost in the west of the plaza: `go` lets it be so many tiles to the
 * east of there at a time, in ms, `answers` lets it hear the server's answers, and `sent` is what the server was sent. */
function page() {
  const state = among([[BOB, -76]], ADA), sent = [], shown = [], toasts = [], answers = {}, calls = {};
  state.terrain = new Terrain(2013);
  const ask = (name) => (...fields) => sent.push([name, ...fields]);
  const client = { do: { courses: ask('courses'), race: ask('race'), arrive: ask('arrive') },
    on: { event: (_, call) => { calls.event = call; }, message: (name, call) => { answers[name] = call; },
      error: (call) => { calls.error = call; }, begun: (call) => { calls.begun = call; } } };
  const note = { show: (what) => shown.push(what) }, echoes = new Echoes(state);
  state.coursesOf = (post) => state.landmarks.courses(post);
  state.steps.add(0, () => echoes.advance());
  const hud = { lasts: true, toast: (text) => toasts.push(text), announce: () => {} };
  const session = { walked: true, client };
  const races = new Races(state, session, hud, { spark() {}, chime() {} }, echoes, note);
  const go = (tiles, at) => {
    state.walk.begin((tiles - 75.5) * 1024, -2.5 * 1024, at);
    state.replica.players.get(ADA).track = stand((tiles - 75.5) * 1024, -2.5 * 1024, at);
    advanceScene(state, at);
    races.look(at);
  };
  const begin = (id, echo) => calls.event(null, { x: PLAZA[0], y: PLAZA[1], side: PLAZA[2], ...echo }, id);
  go(0, 1000);
  go(0, 2000);
  return { state, races, echoes, sent, shown, toasts, answers, go, begin, error: (code) => calls.error(code, ''), comeBack: () => calls.begun() };
}

test('a player who comes to a signpost reads on its board who holds its courses, and may race', () => {
  const { state, sent, answers, go, races } = page(), best = () => state.sign.courses.map((each) => each.best);
  assert.deepEqual(sent, [['courses', -1, 0]]);
  assert.deepEqual(best(), [undefined, undefined, undefined]);
  answers.courses(-1, 0, [[0, 12345, 'Bob', false]]);
  go(0, 2100);
  assert.deepEqual(best(), ['Bob 12.35 s', undefined, undefined]);
  answers.courses(5, 5, [[0, 1, 'Nobody', false]]);
  go(0, 2200);
  assert.deepEqual(best(), ['Bob 12.35 s', undefined, undefined]);
  races.next();
  assert.deepEqual(sent.at(-1), ['race', -1, 0, 0]);
  races.next(1);
  assert.deepEqual(sent.at(-1), ['race', -1, 0, 1]);
});

test('the clock starts at the ring, and again on every return there, and the echo walks along', () => {
  const { state, shown, go, begin } = page();
  begin(ADA, ECHO);
  go(0, 2500);
  assert.deepEqual(shown.at(-1), { clock: '0.0', text: 'Go! To Plaza: Bob 12.00 s', button: 'Another route', stop: true });
  go(3.9, 3000);
  assert.equal(shown.at(-1).clock, '0.0');
  const [echo] = state.ghosts;
  assert.deepEqual([echo.x, echo.y, echo.walking, echo.name], [-71.5, -2.5, false, 'Bob’s echo']);
  go(4.1, 4000);
  go(10, 5000);
  assert.equal(shown.at(-1).clock, '1.0');
  assert.ok(Math.abs(echo.x - (-71.5 + 26 / 6)) < 0.01 && echo.walking && echo.alpha === 1);
  go(3, 6000);
  assert.equal(shown.at(-1).clock, '0.0');
  assert.equal(echo.x, -71.5);
  go(5, 7000);
  go(20, 9500);
  assert.equal(shown.at(-1).clock, '2.5');
  assert.equal(state.aim?.label, 'Plaza');
});

test('an arrival is reported to the server, again if need be, and its answer ends the race', () => {
  const { state, echoes, sent, shown, toasts, answers, go, begin, error } = page();
  const arrived = () => sent.filter(([name]) => name === 'arrive').length;
  begin(ADA, ECHO);
  go(5, 3000);
  go(75, 14_500);
  assert.deepEqual(sent.at(-1), ['arrive', ...PLAZA]);
  go(75.5, 14_600);
  assert.equal(arrived(), 1);
  // It did not seem so to the server.
  error('far');
  go(70, 14_700);
  assert.equal(shown.at(-1).clock, '11.7');
  go(75, 15_000);
  go(75, 17_000);
  assert.equal(arrived(), 2);
  // The store is away: it is reported again, however long that takes.
  for (let at = 17_000; at < 80_000; at += 500) go(75, at);
  assert.ok(arrived() > 20 && echoes.own() !== null);
  assert.equal(shown.at(-1).clock, '12.0');
  answers.arrived(...PLAZA, 11_900, true, 12_000, 'Bob', false);
  go(75, 80_100);
  assert.deepEqual(shown.at(-1), { clock: '11.90 s', button: '', stop: false,
    text: '0.10 s faster than Bob: the way to Plaza is yours.' });
  assert.ok(echoes.own() === null && state.aim === null && state.drawn.get(ADA)?.sparkAt === 79_500);
  assert.deepEqual(toasts, []);
  for (const at of [90_000, 90_500]) go(75, at);
  assert.equal(echoes.races.size, 0);
});

test('a race is off when the server says so, after a minute, or when the player stops it', () => {
  for (const [end, toast] of [
    [({ error }) => error('race'), undefined],
    [({ races }) => assert.ok(races.stop()), undefined],
    [({ go }) => go(20, 63_100), 'The race is off: your time is up.'],
  ]) {
    const its = page(), { state, echoes, begin, go, toasts, shown } = its;
    begin(ADA, ECHO);
    go(5, 3000);
    end(its);
    go(20, 63_700);
    assert.ok(echoes.own() === null && state.aim === null && shown.at(-1) === null);
    assert.deepEqual(toasts, toast === undefined ? [] : [toast]);
    go(20, 64_000);
    go(20, 64_500);
    assert.equal(echoes.races.size + state.ghosts.length, 0);
    assert.ok(!its.races.stop());
    // Without a race none of that is reported.
    its.error('race');
    assert.equal(toasts.length, toast === undefined ? 0 : 1);
  }
});

test('a player who comes back in a race asks whether it is still on, and nobody else does', () => {
  const { comeBack, sent, begin, go, error, echoes } = page(), before = sent.length;
  comeBack();
  assert.equal(sent.length, before);
  begin(ADA, ECHO);
  go(5, 3000);
  comeBack();
  assert.deepEqual(sent.slice(before), [['arrive', ...PLAZA]]);
  error('far');
  go(9, 4000);
  assert.ok(echoes.own() !== null);
  comeBack();
  error('race');
  assert.equal(echoes.own(), null);
});

test('the echoes of others are seen once they run, until they are out of sight', () => {
  const { state, echoes, begin, go } = page();
  const bob = state.replica.players.get(BOB);
  const at = (x, now) => {
    bob.track = stand(x * 1024, -2.5 * 1024, 0);
    go(0, now);
  };
  at(-75.5, 3000);
  begin(BOB, { ...ECHO, player: 7, name: 'Cyd' });
  at(-75.5, 4000);
  assert.equal(state.ghosts.length, 0);
  at(-71.4, 5000);
  at(-69, 5500);
  assert.deepEqual(state.ghosts.map(({ name, ghostOf }) => [name, ghostOf]), [['Cyd’s echo', 7]]);
  assert.ok(echoes.own() === null && state.aim === null);
  state.replica.players.delete(BOB);
  for (const now of [5600, 6000, 6500, 7000]) go(0, now);
  assert.equal(echoes.races.size + state.ghosts.length, 0);
  // Whoever is muted has no name here either.
  state.muted.add(7);
  begin(ADA, { ...ECHO, player: 7, name: 'Cyd' });
  go(0, 8000);
  assert.equal(state.ghosts[0].name, 'an echo');
});

test('a course that nobody has run has no echo, and a course that does not exist is ignored', () => {
  const { state, echoes, begin, go } = page();
  begin(ADA, { ...NOBODY, x: 0, y: 0, side: 3 });
  begin(BOB, { ...NOBODY, x: 400, y: 900 });
  assert.equal(echoes.races.size, 0);
  assert.ok(!state.landmarks.known.has('post 400,900'));
  begin(ADA, NOBODY);
  go(5, 3000);
  go(20, 9000);
  assert.ok(echoes.own() !== null && state.ghosts.length === 0);
});

test('a player who presses R elsewhere is shown where races begin, and in a race nothing', () => {
  const { races, go, toasts, sent, begin } = page(), before = sent.length;
  go(20, 3000);
  races.next();
  assert.deepEqual([toasts, sent.length], [['Races begin at signposts, where paths meet: choose a line of the board.'], before]);
  begin(ADA, ECHO);
  go(20, 3100);
  races.next();
  assert.deepEqual([toasts.length, sent.length], [1, before]);
});

test('an echo is where its run was, before, in and after it', () => {
  const way = [[0, 1, 2], [1000, 3, 2], [1500, 3, 2], [2000, 3, 6]];
  assert.deepEqual([-5, 0, 500, 1200, 1750, 2000, 9000].map((ms) => placeAt(way, ms)).map(({ x, y }) => [x, y]),
    [[1, 2], [1, 2], [2, 2], [3, 2], [3, 4], [3, 6], [3, 6]]);
});

test('a player is shown who was faster, by how much, and who holds the way', () => {
  const result = (ms, won, otherMs, otherName = '', own = false) =>
    resultOf('Elder Fork', { ms, won, otherMs, otherName, own });
  assert.equal(result(9000, true, 0), 'Nobody was here before you: the way to Elder Fork is yours.');
  assert.equal(result(9000, true, 9800, 'Ben'), '0.80 s faster than Ben: the way to Elder Fork is yours.');
  assert.equal(result(9000, true, 9010, 'Ben', true), '0.01 s faster than your own echo.');
  assert.equal(result(9000, false, 8600, 'Ben'),
    '0.40 s slower than Ben, who holds the record to Elder Fork: 8.60 s.');
  assert.equal(result(9000, false, 9000, 'Ben'),
    'As fast as Ben, who was there first: the way to Elder Fork is theirs.');
  assert.equal(result(9000, false, 9000, 'Ben', true), 'As fast as your own echo.');
  assert.equal(result(9000, false, 8600, 'Ben', true), '0.40 s slower than your own echo, which took 8.60 s.');
});

test('in the book, a course that was won or lost is named by its signposts', () => {
  const landmarks = new Landmarks(new Terrain(2013)), n = 4 * 12345 + 2, [won, lost] = NOTES;
  const [text, place] = lost.say(['beaten', 1, 'Ben', n, 0, 0], landmarks);
  assert.equal(text, 'Ben was faster than you on the way to Fern Corner: 12.35 s.');
  assert.deepEqual(place, { x: 0.5, y: 0.5, name: 'the signpost where it begins' });
  const said = (who, ms) => won.say(['echo', 1, who, ms, 0, 0], landmarks)[0];
  assert.equal(said('Ben', n), 'You beat Ben on the way to Fern Corner: 12.35 s.');
  assert.equal(said('', n), 'You were the first on the way to Fern Corner: 12.35 s.');
  // On another ground, no path leads there any more.
  assert.equal(said('', 4 * 9000 + 3), 'You were the first on the way to a signpost: 9.00 s.');
});
