// Gardens, and paths that feet have worn: what the page shows of them, and how a player plants.

import { propPicture } from '../view/portrait.js';
import { addProps, NUMBERS } from '../view/props.js';
import { Looks, NOTE } from './looks.js';
import { Planting } from './planting.js';
import { drawBed, GARDEN } from './plants.js';
import { GardenSheet } from './sheet.js';

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, hud, session, events, sound }) {
  addProps(GARDEN);
  const looks = new Looks(state.grown, (name) => NUMBERS[name]);
  const sheet = new GardenSheet(hud.sheet('Plant', 'Plant with a gem'), propPicture,
  { sow: (kind) => planting.sow(kind), purse: () => planting.ask() });
  const planting = new Planting(state, client, sheet, sound, events);
  if (hud.lasts) hud.key('p', events.emitter('plant'));
  events.on('plant', () => hud.toggleSheet(sheet.sheet));
  client.on.message('sown', () => events.emit('did', 'plant'));
  state.next.add(35, () => planting.step());
  state.grown.looks = looks;
  state.notes.add(50, NOTE);
  session.shownErrors.add('garden');
  view.flat.add(20, (ctx, _, screen) => drawBed(ctx, planting.bed, screen));
  client.on.applied((message) => looks.take(message, client));
  events.on('frame', () => planting.frame());
  return { looks, planting };
}
