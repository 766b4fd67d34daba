// The ember and the fires: what the page shows of them, and what a player does about them.

import { PART } from '../landmarks.js';
import { nameAt, TITLES_FROM } from '../view/atlas.js';
import { Ember, keyOf, NOTE, placeOf } from './ember.js';
import { FIRE, Fires, firesOf } from './fire.js';
import { drawFlame, EmberPicture } from './flame.js';
import { EmberNote } from './note.js';
import { Relay } from './relay.js';

const COLOUR = '#ff8a3c';
const FLAME = 8, FLAME_FAR = 14;          // css px: the height of a flame on the two maps
const TAU = Math.PI * 2;

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, minimap, map, hud, session, events, sound }) {
  const ember = new Ember(), note = new EmberNote(), relay = new Relay(state, client, hud, sound, ember, note, session.shownErrors, events);
  const carrier = () => ember.held?.id ?? null, holder = () => state.drawn.get(carrier() ?? -1);
  view.things.add({ type: FIRE, Pictures: Fires });
  view.things.others.add(10, () => firesOf(ember, state));
  view.walkers.add(carrier, (tile) => new EmberPicture(tile, ember));
  minimap.under.add(10, (drawing, toX, toY, now) => {
    for (const mark of state.marks) {
      const px = toX(mark.foot + 0.5), py = toY(mark.y + 0.5);
      if (ember.fires.has(keyOf(mark))) drawFlame(drawing.ctx, px, py, FLAME * drawing.dpr);
      if (mark === ember.goal?.mark) ringAt(drawing.ctx, px, py, (8 + Math.sin(now / 320)) * drawing.dpr, 2 * drawing.dpr);
    }
  });
  minimap.over.add(10, ({ ctx, dpr, size }, toX, toY) => {
    const walker = holder(), px = toX(walker?.x ?? NaN), py = toY(walker?.y ?? NaN);
    if (walker !== undefined && !walker.own && px >= 0 && py >= 0 && px <= size && py <= size) drawFlame(ctx, px, py, FLAME * dpr);
  });
  map.layers.add(10, (ctx, picture, dpr) => drawAll(ctx, ember, holder(), picture, dpr));
  map.said.add(10, () => ember.goal?.mark.name ?? null);
  map.sights.add(10, () => ember.goal && placeOf(ember.goal.mark));
  hud.note(70, note.root);
  state.burns = (mark) => ember.fires.has(keyOf(mark));
  state.steps.add(1, () => {
    const now = state.clock.now(state.now);
    ember.held = ember.carried(now);
    if (state.ownId !== null) ember.advance(state.landmarks, now);
  });
  state.notes.add(40, NOTE);
  events.on('frame', () => relay.frame());
  state.next.add(5, () => relay.carryStep());
  state.next.add(38, () => relay.fireStep());
  events.on('followed', (id) => relay.grasp(id));
  return ember;
}

function ringAt(ctx, x, y, radius, width) {
  ctx.strokeStyle = COLOUR;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, TAU);
  ctx.stroke();
}

/** Draw the fires, who carries the ember if that is in view, and the landmark that is to burn next, on the map of everybody. */
function drawAll(ctx, { fires, goal }, holder, { gaze, side, now, still, named }, dpr) {
  for (const fire of [...fires.values(), ...(holder === undefined ? [] : [holder])]) {
    const { x, y } = gaze.toScreen(fire.x / side, fire.y / side);
    drawFlame(ctx, x, y, FLAME_FAR);
  }
  if (goal === null) return;
  const { mark } = goal, place = { x: mark.x + 0.5, y: mark.y + 0.5, label: mark.name };
  const { x, y } = gaze.toScreen(place.x / side, place.y / side);
  named.push({ ...place, px: x, py: y, w: 13, h: 13 });
  ringAt(ctx, x, y, 13 + (still ? 0 : 2 * Math.sin(now / 320)), 2.5);
  if (PART * gaze.scale / side < TITLES_FROM) return;
  named.push({ ...place, ...nameAt(ctx, `${mark.name} is dark`, x, y + 24, 14, dpr) });
}
