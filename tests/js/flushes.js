// Makes the flushes that a server writes, for tests of what the page reads in them.

import * as P from '../../static/protocol.js';

/** An enter event of a player in a slot. Its track begins when its batch does, unless `age` says
 * otherwise. */
export const enter = (id, seq, slot, { ack = 0, name = `P${id}`, dimmed = false, x = 0, y = 0,
  dx = 0, dy = 0, age = 0, look = 0, pace = 100, values = [] } = {}) =>
  [P.EVENT_ENTER, id, seq, ack, name, dimmed, slot, x, y, dx, dy, age, look, pace, values];

/** The bytes of tracks, each { slot, seq, ack, x, y, dx, dy, age }, with slots of one byte or, if
 * `slotBytes` is 2, of two. */
export function records(tracks, slotBytes = 1) {
  const size = slotBytes + 12, bytes = new Uint8Array(size * tracks.length);
  const view = new DataView(bytes.buffer);
  tracks.forEach(({ slot, seq, ack = 0, x = 0, y = 0, dx = 0, dy = 0, age = 0 }, i) => {
    const at = i * size, rest = at + slotBytes;
    if (slotBytes === 1) view.setUint8(at, slot);
    else view.setUint16(at, slot, true);
    view.setUint8(rest, seq & 255);
    view.setUint8(rest + 1, ack & 255);
    [x, y, dx, dy, age].forEach((value, j) => view.setInt16(rest + 2 + 2 * j, value, true));
  });
  return bytes;
}

/** A flush of batches that was written at node time `now`, ms. */
export const flush = (now, ...batches) => [P.FLUSH, 1, now, batches];

/** The joined sketches of one source, each { slot, seq, ack, px, py, sx, sy }, in the order of slots. */
export function sketches(some) {
  const bytes = [];
  let before = -1;
  for (const { slot, seq, ack = 0, px = 0, py = 0, sx = 0, sy = 0 } of some) {
    for (; slot - before > 255; before += 255) bytes.push(0);
    bytes.push(slot - before, seq & 15 | (ack & 15) << 4, px, py, sx & 255, sy & 255);
    before = slot;
  }
  return new Uint8Array(bytes);
}
