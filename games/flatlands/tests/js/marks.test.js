// Arrows at the edge of the screen and beside panels, as the view draws them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { canvas, draw } from '../../../../tests/js/drawing.js';
import { apart, covers } from './boxes.js';
import { nothing } from './people.js';

draw();
const [{ arrowAt, drawArrows }, { Screen }] = await Promise.all(
  ['marks', 'screen'].map((name) => import(`../../page/view/${name}.js`)));

const TILE = 32;

/** Draw the arrows of a state whose camera is at (0, 0) on a screen of a size; return their pills, each [left, top, right,
 * bottom], and all words in them. */
function drawn(width, height, known) {
  const state = Object.assign(nothing(), { camera: { x: 0, y: 0 } }, known);
  const screen = new Screen(), on = canvas(width, height);
  screen.look(state.camera, TILE, width, height);
  drawArrows(on.getContext(), state, screen, 1, 1);
  const pills = on.calls.filter(([name]) => name === 'roundRect').map(([, x, y, w, h]) => [x, y, x + w, y + h]);
  const words = on.calls.filter(([name]) => name === 'drawImage')
    .flatMap(([, picture]) => picture.calls.flatMap(([name, text]) => name === 'fillText' ? [text] : []));
  return { pills, words };
}

/** What the page has at the edges of a phone that lies on its side. */
const PANELS = [[6, 6, 190, 44], [460, 6, 562, 118], [6, 250, 250, 314], [452, 204, 562, 314]]
  .map(([left, top, right, bottom]) => ({ left, top, right, bottom }));

test('arrows at the edge of a low screen never cover each other, and panels only where there is no room', () => {
  for (const [width, height] of [[568, 320], [667, 375]]) {
    for (let turn = 0; turn < 72; turn++) {
      const x = 34 * Math.cos(turn / 36 * Math.PI), y = 34 * Math.sin(turn / 36 * Math.PI);
      const friends = [[0, 0], [0, 2], [2, 0]].map(([dx, dy], i) =>
        ({ x: x + dx, y: y + dy, id: 90_001 + i, look: 0, label: `A friend far away ${i}` }));
      const arrows = [{ x, y, id: null, look: 0, label: 'plaza' }, ...friends];
      const { pills } = drawn(width, height, { arrows });
      assert.equal(pills.length, 4);
      apart(pills, `${width}, ${turn}`);
      for (const [left, top, right, bottom] of pills) {
        assert.ok(left >= 0 && top >= 0 && right <= width && bottom <= height, `${width}, ${turn}`);
        assert.ok(right - left <= 88, 'long names are cut');
      }
      const beside = drawn(width, height, { arrows, panels: PANELS }).pills;
      assert.ok(beside.length > 0);
      apart(beside, `${width}, ${turn}, with panels`);
    }
  }
  const [friend] = drawn(568, 320, { arrows: [{ x: 34, y: 8, id: 90_001, look: 0, label: 'Bob' }], panels: PANELS }).pills;
  assert.ok(!PANELS.some(({ left, top, right, bottom }) => covers(friend, [left, top, right, bottom])));
  assert.equal(arrowAt((friend[0] + friend[2]) / 2, (friend[1] + friend[3]) / 2, 0)?.id, 90_001, 'it can be clicked');
});

test('a landmark under a panel has a sign beside it, and needs none elsewhere', () => {
  const name = 'Gull Light', panel = { left: 480, right: 720 };
  for (const [y, top, bottom] of [[9, 630, 780], [-9, 20, 140]]) {
    const seen = (foot) => {
      const arrow = { x: foot + 0.5, y: y + 0.5, label: name, id: null, look: 0, kind: 'lighthouse' };
      const mark = { kind: arrow.kind, name, foot, x: foot, y };
      return drawn(1280, 800, { arrows: [arrow], panels: [{ ...panel, top, bottom }], marks: [mark] });
    };
    const { pills: [sign, ...others], words } = seen(-3), px = 640 - 2.5 * TILE, py = 400 + (y + 0.5) * TILE;
    assert.deepEqual([others, words], [[], [name]]);
    // It covers neither the picture nor the hearth in front of it.
    for (const taken of [[480, top, 720, bottom], [px - 32, py - 190, px + 32, py + 70]]) {
      assert.ok(!covers(sign, taken), `${sign} covers ${taken}`);
    }
    assert.ok(Math.hypot((sign[0] + sign[2]) / 2 - px, (sign[1] + sign[3]) / 2 - py) < 300, 'it is near');
    assert.deepEqual(seen(9).pills, []);
  }
});
