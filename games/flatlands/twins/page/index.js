// Twin stones: what the page shows and says of them.

import { wayTo } from '../near.js';
import { nameAt } from '../view/atlas.js';
import { drawDiamond } from '../view/gems.js';
import { drawTwins, Halves, Stones } from './stones.js';
import { CLOCKWORK, HALF, NOTE, placeOf, TWIN, Twins, twinsOf } from './twins.js';

const HUM_EVERY = 3800;                   // ms
const TAU = Math.PI * 2;
const SIGN = { colour: '#b9a2ff', draw: drawTwins };

/** @typedef {import('../sound.js').Notes} Notes */
/** They open; they hum for one who waits, and for two. @type {Notes} */
const OPEN = [[523.3, 0, 0.9, 1], [784, 0.1, 0.9, 1], [1046.5, 0.2, 1, 1], [1568, 0.3, 1.2, 1], [2093, 0.42, 1.4, 1]];
/** @type {Notes} */
const HUM = [[130.8, 0, 1.8, 1], [196, 0.25, 1.6, 1]];
/** @type {Notes} */
const HUM_FOR_TWO = [...HUM, [329.6, 0.5, 1.4, 1]];

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, minimap, map, hud, events, sound }) {
  const twins = new Twins(), { on } = client;
  let hummedAt = -Infinity;               // performance time, ms
  view.things.add({ type: TWIN, Pictures: Stones });
  view.things.add({ type: HALF, Pictures: Halves, unseen: true });
  minimap.kinds.set(TWIN, ({ ctx, dpr }, px, py) => drawTwins(ctx, px, py, 0.62 * dpr));
  minimap.kinds.set(HALF, ({ ctx, dpr }, px, py, id) => drawDiamond(ctx, px, py, id, dpr));
  minimap.layers.add(10, (drawing, toX, toY, now) => {
    for (const { x, y } of twins.waiting) drawWaiting(drawing, toX(x), toY(y), now);
  });
  map.layers.add(20, (ctx, picture, dpr) => {
    for (const each of twins.waiting) drawName(ctx, each, picture, dpr);
  });
  state.steps.add(10, () => twins.advance(state));
  state.bare.add(10, () => twinsOf(state));
  state.places.add(10, () => twins.places());
  state.pointers.add(10, ({ here }) => twins.waiting.slice(0, 1).map(({ x, y, name }) =>
    ({ x, y, label: `${name} ${Math.round(Math.hypot(x - here.x, y - here.y))}`, id: null, look: 0, sign: SIGN })));
  state.lacks.add(10, () => twins.missing(state));
  state.next.add(10, () => twins.waitingStep(state));
  state.next.add(34, () => twins.firstStep(state));
  state.notes.add(60, NOTE);
  on.message('waits', (id, name, column, row, still) => {
    const { here, aim } = state, news = twins.take([id, name, column, row, still], performance.now());
    if (id === state.ownId || state.muted.has(id)) return;
    const x = column + 0.5, y = row + 0.5, place = placeOf(name);
    if (news) {
      hud.toast(`${name} is waiting at twin stones, ${wayTo(x - here.x, y - here.y)}.`, () => events.emit('go', x, y, place));
    } else if (aim !== null && aim.label === place && !twins.all.has(id)) {
      state.aim = null;
      hud.toast(`${name} is no longer waiting.`);
    }
  });
  on.message('twin', (name) => {
    events.emit('did', 'twin');
    sound.ring(OPEN, 0.8);
    hud.toast(name === '' ? `You and ${CLOCKWORK} have opened twin stones: the gem is yours.`
      : `You and ${name} have opened twin stones: a gem for each.`);
  });
  on.error((code) => {
    if (code === 'twin') twins.alone = true;
  });
  events.on('frame', () => {
    const { on: side = 0, other = null } = twins.stones ?? {}, now = performance.now();
    if (side === 0 || now < hummedAt + HUM_EVERY) return;
    hummedAt = now;
    sound.ring(other === null ? HUM : HUM_FOR_TWO, 0.55);
  });
  return twins;
}

/** Draw the twin stones where somebody waits, with rings around them; at the edge of the map if they are beyond it. */
function drawWaiting({ ctx, size, dpr }, px, py, now) {
  const edge = 9 * dpr, phase = now % 1600 / 1600;
  const share = Math.min((size / 2 - edge) / Math.max(Math.abs(px - size / 2), Math.abs(py - size / 2)), 1);
  const x = size / 2 + (px - size / 2) * share, y = size / 2 + (py - size / 2) * share;
  ctx.strokeStyle = `rgba(255, 255, 255, ${1 - phase})`;
  ctx.lineWidth = 1.6 * dpr;
  ctx.beginPath();
  ctx.arc(x, y, (4 + 9 * phase) * dpr, 0, TAU);
  ctx.stroke();
  drawTwins(ctx, x, y, 0.95 * dpr);
}

/** Draw the twin stones where somebody waits, with that player's name, on the map of everybody. */
function drawName(ctx, { x, y, name }, { gaze, side, named }, dpr) {
  const at = gaze.toScreen(x / side, y / side), place = { x, y, label: placeOf(name) };
  drawTwins(ctx, at.x, at.y, 1.2);
  named.push({ ...place, px: at.x, py: at.y, w: 10, h: 8 }, { ...place, ...nameAt(ctx, name, at.x, at.y + 17, 13, dpr) });
}
