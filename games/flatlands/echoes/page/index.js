// Races from signpost to signpost, and their echoes: what the page shows of them, and what a player does.

import { Echoes, NOTES } from './echoes.js';
import { RaceNote } from './note.js';
import { Races } from './races.js';
import { drawCourses, drawRings } from './rings.js';

const RINGS_LIT = 0.6;                    // opacity of what the rings of a race light in the dark

/** @param {import('../main.js').Game} game */
export function install({ state, view, hud, session, controls, events, sound }) {
  // After a click on a button, keys must control the walk again.
  const then = (act) => () => {
    act();
    hud.focusWorld();
  };
  const echoes = new Echoes(state), note = new RaceNote(then(() => races.next()), then(() => races.stop()));
  const races = new Races(state, session, hud, sound, echoes, note);
  hud.note(60, note.root);
  hud.key('r', () => races.next());
  view.flat.add(10, (ctx, _, screen) => drawCourses(ctx, echoes, screen));
  view.lights.add(10, (ctx, _, screen, lit) => drawRings(ctx, echoes, screen, RINGS_LIT * lit));
  // Where the server keeps nothing, there are no races.
  if (hud.lasts) state.coursesOf = (post) => state.landmarks.courses(post);
  state.steps.add(20, () => echoes.advance());
  state.next.add(6, () => races.runStep());
  state.next.add(55, () => races.raceStep());
  session.client.on.message('arrived', () => events.emit('did', 'race'));
  NOTES.forEach((each, i) => state.notes.add(90 + i, each));
  session.shownErrors.add('race');
  controls.escapes.add(40, () => races.stop());
  controls.targets.add(20, (cssX, cssY) => {
    const course = view.courseAt(cssX, cssY);
    return course === null ? null : () => races.next(course);
  });
  events.on('frame', () => races.look(performance.now()));
  events.on('put', () => races.stop());
  events.on('cleared', () => echoes.clear());
  return echoes;
}
