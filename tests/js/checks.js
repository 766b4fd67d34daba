// What the golden vectors hold the page's modules to. Each check takes the vectors of its name and
// returns those that are wrong.

import { decode, encode } from '../../static/msgpack.js';
import { Replica } from '../../static/replica.js';
import { Terrain } from '../../static/terrain.js';
import { leg, positionAt } from '../../static/track.js';
import { Walk } from '../../static/walk.js';

const ground = new Terrain(2013);
const blocked = (col, row) => ground.blocked(col, row);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
const fieldsOf = ({ x, y, dx, dy, start, duration }) => [x, y, dx, dy, start, duration];

export function terrain(vectors) {
  return vectors.filter(({ seed, chunk, sums, first }) => {
    const { kinds, heights, woods, paths } = new Terrain(seed).chunk(...chunk);
    const layers = [kinds, heights, woods, paths];
    const got = layers.map((layer) => layer.reduce((sum, value, i) => sum + value * (i + 1), 0));
    return !same(got, sums)
      || first.some((tile, i) => !same(layers.map((layer) => layer[i]), tile));
  });
}

/** The legs of each walk, planned one by one, and by a Walk that follows its intent. */
export function track(vectors) {
  return vectors.filter(({ start, intent, pace, legs }) => {
    let [x, y, t] = start;
    const walk = new Walk(blocked);
    walk.begin(x, y, t);
    walk.pace = pace;
    walk.follow(intent, t);
    for (const { track: expected, at } of legs) {
      const got = leg(blocked, x, y, intent, t, pace);
      if (got === null || !same(fieldsOf(got), expected)) return true;
      if (!same(fieldsOf(walk.track), expected) || walk.arrived) return true;
      if (at.some(([age, ...place]) => !same(positionAt(got, t + age), place))) return true;
      t = got.start + got.duration;
      [x, y] = positionAt(got, t);
      walk.advance(t);
    }
    // Of the longest walks the vectors hold only the beginning.
    return legs.length < 12 && (!walk.arrived || leg(blocked, x, y, intent, t, pace) !== null);
  });
}

export function msgpack({ good, bins, bad }) {
  const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const throws = (Kind, act) => {
    try {
      act();
    } catch (error) {
      return error instanceof Kind;
    }
    return false;
  };
  return [
    ...good.filter(({ value, bytes }) => !same(decode(bytesOf(bytes).buffer), value)
      || hexOf(encode(value)) !== bytes),
    ...bins.filter(([content, bytes]) => hexOf(decode(bytesOf(bytes).buffer)) !== content),
    ...bad.filter((bytes) => !throws(RangeError, () => decode(bytesOf(bytes).buffer))),
    ...[1.5, NaN, 2 ** 53, undefined, {}, 1n].filter((value) =>
      !throws(TypeError, () => encode(value))).map(String),
  ];
}

/** The players that are known after messages, each with the node time at which it came. A message is
 * the hexadecimal digits of its bytes. */
export function replica(vectors) {
  return vectors.filter(({ messages, players }) => {
    const known = new Replica();
    for (const [now, hex] of messages) {
      known.expire(now);
      known.apply(decode(bytesOf(hex).buffer), now);
    }
    const got = [...known.players.values()].sort((a, b) => a.id - b.id).map((player) =>
      [player.id, player.seq, player.ack, player.name, player.dimmed, fieldsOf(player.track),
        player.square, player.look, player.pace, Object.values(player.values)]);
    return !same(got, players);
  });
}
