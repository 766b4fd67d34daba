// What a flush changes about the players that are known: the edges of the rules of docs/protocol.md that
// the golden vectors, which try them at random, do not come to.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as P from '../../static/protocol.js';
import { Replica } from '../../static/replica.js';
import { enter, flush, records, sketches } from './flushes.js';

const SPAN = 16 * 1024, NONE = new Uint8Array();

/** A replica that holds the squares 0, 0 to 2, 0, in which these events have happened. */
function knowing(...events) {
  const replica = new Replica();
  replica.apply([P.HELD, 0, 0, 2, 0], 0);
  apply(replica, events);
  return replica;
}

function apply(replica, events, { col = 0, source = 0, now = 0 } = {}) {
  replica.apply(flush(now, [col, 0, source, 0, NONE, events]), now);
}

function move(replica, track, { col = 0, source = 0, now = 0 } = {}) {
  replica.apply(flush(now, [col, 0, source, 0, records([track])]), now);
}

const seqOf = (replica, id) => replica.players.get(id)?.seq;

test('a track lasts as long as the speeds of the welcome make it', () => {
  const replica = knowing(enter(7, 1, 0));
  Object.assign(replica, { speed: 1024, diagonal: 512 });
  const lasts = (seq, dx, dy) => {
    move(replica, { slot: 0, seq, dx, dy });
    return replica.players.get(7).track.duration;
  };
  assert.equal(lasts(2, 1025, 0), 1001);
  assert.equal(lasts(3, -600, 600), 1172);
  assert.equal(lasts(4, 3000, -4000), 4883);
  assert.equal(lasts(5, 0, 0), 0);
});

test('a player\'s speed and its values of the game are those of its last enter', () => {
  const replica = new Replica();
  replica.learn([['player', 0, 'Painter', ['colour', 'team']]]);
  replica.apply([P.HELD, 0, 0, 2, 0], 0);
  apply(replica, [enter(7, 1, 0, { pace: 150, values: [3, 'red'] })]);
  move(replica, { slot: 0, seq: 2, dx: 7680 });
  const player = replica.players.get(7);
  assert.deepEqual([player.track.duration, player.values], [1000, { colour: 3, team: 'red' }]);
  apply(replica, [enter(7, 3, 0, { pace: 50, values: [3, 'blue'], dx: 2560 })]);
  assert.deepEqual([player.track.duration, player.values.team], [1000, 'blue']);
});

test('a slot is nobody\'s once its player is gone, and then its next player\'s', () => {
  const replica = knowing(enter(7, 1, 3), [P.EVENT_GONE, 7, 2]);
  move(replica, { slot: 3, seq: 3 });
  assert.deepEqual([replica.players.size, replica.slots.get('0:0').get(0).size], [0, 0]);
  apply(replica, [enter(8, 1, 3)], { now: 13_000 });
  move(replica, { slot: 3, seq: 2 });
  assert.equal(seqOf(replica, 8), 2);
});

test('a seq goes on from the known one, even where its low byte wraps', () => {
  const replica = knowing(enter(7, 250, 0));
  move(replica, { slot: 0, seq: 255 });
  assert.equal(seqOf(replica, 7), 255);
  move(replica, { slot: 0, seq: 256 });
  assert.equal(seqOf(replica, 7), 256);
  // As far ahead as can be derived from an old one.
  move(replica, { slot: 0, seq: 256 + 127 });
  assert.equal(seqOf(replica, 7), 383);
});

test('large seqs and acks go on too', () => {
  const replica = knowing(enter(7, 2 ** 52 + 255, 0, { ack: 2 ** 52 + 254 }));
  move(replica, { slot: 0, seq: 3, ack: 1 });
  const { seq, ack } = replica.players.get(7);
  assert.deepEqual([seq, ack], [2 ** 52 + 256 + 3, 2 ** 52 + 256 + 1]);
});

test('a track whose seq is the known one or older changes nothing, and nor does its ack', () => {
  const replica = knowing(enter(7, 300, 0, { ack: 10 }));
  for (const seq of [300, 299, 200, 300 - 128]) {
    move(replica, { slot: 0, seq, ack: 11, dx: 99 });
    const { ack, track } = replica.players.get(7);
    assert.deepEqual([seqOf(replica, 7), ack, track.dx], [300, 10, 0]);
  }
});

test('items that are left out are empty, and items that are appended are ignored', () => {
  const replica = knowing(enter(7, 1, 0));
  const tracks = (seq) => records([{ slot: 0, seq }]), more = ['more', 99];
  replica.apply(flush(0, [0, 0, 0, 0, tracks(2)]), 0);
  assert.equal(seqOf(replica, 7), 2);
  replica.apply(flush(0, [0, 0, 0, 0, tracks(3), []]), 0);
  assert.equal(seqOf(replica, 7), 3);
  replica.apply(flush(0, [0, 0, 0, 0, tracks(4), [], 2]), 0);
  assert.equal(seqOf(replica, 7), 4);
  const events = [[...enter(8, 1, 1, { x: 5, dx: 6 }), ...more], [P.EVENT_SAY, 8, 'hi', ...more]];
  replica.apply([...flush(0, [0, 0, 0, 0, tracks(5), events, 0, NONE, ...more]), ...more], 0);
  assert.equal(seqOf(replica, 7), 5);
  assert.deepEqual([replica.players.get(8).track.x, replica.players.get(8).track.dx], [5, 6]);
  move(replica, { slot: 1, seq: 2 });
  assert.equal(seqOf(replica, 8), 2);
  replica.apply([P.SNAPSHOT, 0, 0, 0, [[4, ...enter(8, 3, 1), ...more]], ...more], 0);
  move(replica, { slot: 1, seq: 4 }, { source: 4 });
  assert.equal(seqOf(replica, 8), 4);
});

test('an event of an unknown kind changes nothing', () => {
  const replica = knowing(enter(7, 1, 0));
  apply(replica, [[99, 7, 50, 'what'], [1, 7, 50, 0, 0, 0, 0, 0, 0]]);
  assert.equal(seqOf(replica, 7), 1);
});

test('bytes after the last whole record are ignored', () => {
  const replica = knowing(enter(7, 1, 0), enter(8, 1, 1), enter(9, 1, 256));
  const both = records([{ slot: 0, seq: 2 }, { slot: 1, seq: 2 }]);
  const wide = records([{ slot: 256, seq: 2 }], 2);
  replica.apply(flush(0, [0, 0, 0, 0, both.subarray(0, 25), [], 0, wide.subarray(0, 13)]), 0);
  assert.deepEqual([7, 8, 9].map((id) => seqOf(replica, id)), [2, 1, 1]);
  replica.apply(flush(0, [0, 0, 0, 0, both.subarray(0, 5)]), 0);
  assert.equal(seqOf(replica, 8), 1);
});

test('a player on its way from one square to another has a slot in neither', () => {
  const replica = knowing(enter(7, 1, 3, { dx: 5000 }));
  apply(replica, [enter(8, 1, 3)], { col: 1 });
  apply(replica, [[P.EVENT_LEAVE, 7, 2, 1, 0]]);
  move(replica, { slot: 3, seq: 3 });
  move(replica, { slot: 3, seq: 3 }, { col: 1 });
  assert.deepEqual([seqOf(replica, 7), seqOf(replica, 8)], [2, 3]);
  assert.deepEqual([replica.players.get(7).square, replica.players.get(7).track.dx], [[1, 0], 5000]);
  apply(replica, [enter(7, 4, 6)], { col: 1 });
  move(replica, { slot: 3, seq: 5 });
  assert.equal(seqOf(replica, 7), 4);
  move(replica, { slot: 6, seq: 5 }, { col: 1 });
  assert.equal(seqOf(replica, 7), 5);
});

test('slots are forgotten with squares that are no longer held, at a resync and at a new connection', () => {
  const replica = knowing(enter(7, 1, 3));
  apply(replica, [enter(8, 1, 3)], { col: 1 });
  replica.apply([P.HELD, 1, 0, 2, 0], 0);
  assert.deepEqual([...replica.slots.keys()], ['1:0']);
  replica.apply([P.HELD, 0, 0, 2, 0], 0);
  move(replica, { slot: 3, seq: 2 });
  assert.equal(replica.players.size, 1);
  replica.apply([P.RESYNC], 0);
  assert.equal(replica.slots.size, 0);
  replica.apply([P.HELD, 0, 0, 2, 0], 0);
  move(replica, { slot: 3, seq: 2 }, { col: 1 });
  assert.equal(replica.players.size, 0);
});

test('a player that says something is known by its id', () => {
  const replica = knowing(enter(7, 1, 0)), said = [];
  replica.onSay = ({ name }, text) => said.push([name, text]);
  apply(replica, [[P.EVENT_SAY, 7, 'hello'], [P.EVENT_SAY, 8, 'who?'], enter(9, 1, 1),
    [P.EVENT_SAY, 9, 'here']]);
  assert.deepEqual(said, [['P7', 'hello'], ['P9', 'here']]);
});

test('a flush is as late as the latest of its events that has only just begun', () => {
  const replica = knowing(enter(7, 1, 0), enter(8, 1, 1), enter(9, 1, 2));
  const late = (now, ...batches) => {
    replica.apply(flush(1000, ...batches), now);
    return replica.late;
  };
  const track = (slot, seq, age) => records([{ slot, seq, age }]);
  assert.equal(late(1010, [0, 0, 0, 25, track(0, 2, 0)], [0, 0, 0, 0, track(1, 2, 249)]), 259);
  assert.equal(late(1010, [0, 0, 0, 25, track(0, 3, 250)], [0, 0, 0, 0, track(1, 3, -5)]), 5);
  assert.equal(late(1010, [0, 0, 0, 25, track(0, 4, 250)]), -Infinity);
  assert.equal(late(1010, [0, 0, 0, 25, NONE, [enter(9, 2, 2, { age: 5000 })]]), 35);
  assert.equal(late(1010), -Infinity);
});

test('a census counts the batches of each square', () => {
  const replica = knowing();
  for (let i = 0; i < 6; i++) replica.apply(flush(i, [1, 0, 0, 0, NONE], [2, 0, 0, 0, NONE]), i);
  const { rate, flash } = replica.census(10).get('1:0');
  assert.deepEqual([rate, flash], [2, 5]);
});

/** Tell a replica of sketches of source 0 in the square 0, 0, at node time `now`. */
const draw = (replica, some, now = 0) =>
  replica.apply([P.FLUSH, 1, now, [], [[0, 0, 0, 0, sketches(some)]]], now + 20);

test('a sketch says where a player is at the time of its flush, and where it goes', () => {
  const replica = knowing(enter(7, 1, 3), enter(8, 30, 600));
  draw(replica, [{ slot: 3, seq: 4, ack: 2, px: 0, py: 255, sx: 64, sy: -65 },
    { slot: 600, seq: 31, px: 128, py: 1 }], 900);
  const { track, ...player } = replica.players.get(7);
  assert.deepEqual(track, { x: 32, y: SPAN - 32, dx: 4096, dy: -4608, start: 900, duration: 1205 });
  assert.deepEqual([player.seq, player.ack, player.rough, player.sketches], [4, 2, true, 1]);
  assert.deepEqual(replica.players.get(8).track,
    { x: 8224, y: 96, dx: 0, dy: 0, start: 900, duration: 0 });
  assert.equal(replica.late, 20);
});

test('an exact track replaces a sketch', () => {
  const replica = knowing(enter(7, 1, 3));
  draw(replica, [{ slot: 3, seq: 2 }]);
  move(replica, { slot: 3, seq: 3, x: 5 });
  assert.deepEqual([replica.players.get(7).rough, replica.players.get(7).sketches], [false, 2]);
  draw(replica, [{ slot: 3, seq: 4 }]);
  replica.apply([P.SNAPSHOT, 0, 0, 50, [[0, ...enter(7, 4, 3, { x: 77 })]]], 50);
  const { rough, track } = replica.players.get(7);
  assert.deepEqual([rough, track.x], [false, 77]);
});

test('sketches that are cut short, and crowds that are not held, are ignored', () => {
  const replica = knowing(enter(7, 1, 3));
  const some = sketches([{ slot: 3, seq: 2 }]);
  for (let length = 0; length < some.length; length++) {
    replica.apply([P.FLUSH, 1, 0, [], [[0, 0, 0, 0, some.subarray(0, length)]]], 0);
    replica.apply([P.FLUSH, 1, 0, [], [[0, 5, 0, 0, some]]], 0);
  }
  assert.equal(seqOf(replica, 7), 1);
});
