// Boxes on a screen, each [left, top, right, bottom].

import assert from 'node:assert/strict';

export const covers = ([left, top, right, bottom], other) =>
  left < other[2] && other[0] < right && top < other[3] && other[1] < bottom;

/** Assert that none of some boxes covers another. */
export function apart(boxes, why) {
  boxes.forEach((one, i) => boxes.slice(0, i).forEach((other) =>
    assert.ok(!covers(one, other), `${why}: ${one} covers ${other}`)));
}
