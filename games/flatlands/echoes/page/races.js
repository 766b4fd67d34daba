// What the player does about races: it learns at a signpost who holds which course, begins a race there, and learns
// how that has ended. It never touches the page by itself.

import { PLOT_SIDE, RING } from '../landmarks.js';
import { wayTo } from '../near.js';
import { isOne, resultOf, secondsOf } from './echoes.js';

/** @typedef {import('./echoes.js').Race} Race */
/** @typedef {import('../landmarks.js').Course} Course */
/** @typedef {import('../state.js').Sign} Sign */
/** @typedef {import('../state.js').State} State */

const READ_AFTER = 400;                   // ms at a signpost after which the player reads who holds its courses
const REPORT_EVERY = 2000;                  // ms between two messages to the server that the player has arrived
const SHOWN = 9000;                       // ms for which it is shown how a race has ended

export class Races {
  /** @param {State} state @param {import('../session.js').Session} session
   * @param {import('../hud/hud.js').Hud} hud @param {import('../sound.js').Sound} sound
   * @param {import('./echoes.js').Echoes} echoes @param {import('./note.js').RaceNote} note */
  constructor(state, session, hud, sound, echoes, note) {
    this.echoes = echoes;
    this.note = note;
    this.state = state;
    this.session = session;
    this.hud = hud;
    this.sound = sound;
    /** @type {Sign | null} The signpost that is read, */
    this.sign = null;
    this.readAt = Infinity;               // when it is asked who holds its courses, performance time, ms,
    /** @type {Map<number, string>} and who does in what time, by their sides. */
    this.holders = new Map();
    /** @type {Race | null} The race of this page's player in the last frame, */
    this.race = null;
    this.reportedAt = -Infinity;          // and when it last reported its arrival.
    /** @type {{ clock: string, text: string, until: number } | null} How the last race has ended. */
    this.result = null;
    const { on } = session.client;
    on.event('Race', (_, values, id) => this.#begin(id, values));
    on.message('courses', (i, j, rows) => {
      if (this.sign?.i !== i || this.sign?.j !== j) return;
      this.holders = new Map(rows.map(([side, ms, name, own]) => [side, `${own ? 'you' : name} ${secondsOf(ms)}`]));
    });
    on.message('arrived', (i, j, side, ms, won, otherMs, otherName, own) =>
      this.#arrived(i, j, side, { ms, won, otherMs, otherName, own }));
    // The server, which may be another one, says whether the race is still on.
    on.begun(() => this.#reportArrival());
    on.error((code) => {
      if (code === 'race') this.#off(null);
      // The player had not arrived: it was reported too soon.
      else if (code === 'far' && this.race !== null) this.race.endedAt = NaN;
    });
  }

  /** Show what there is to do, and report to the server when the player has arrived; called in each frame.
   * @param {number} now  performance time, ms */
  look(now) {
    const { state, note } = this, race = this.echoes.own();
    if (this.race?.over) this.#off('The race is off: your time is up.');
    this.race = race;
    this.#read(state.sign, now);
    if (state.sign !== null) {
      for (const each of state.sign.courses) each.best = this.holders.get(each.side);
      state.sign.chosen = race === null ? -1 : state.sign.courses.findIndex((each) => isOne(each, race.course));
    }
    if (race !== null) return this.#follow(race, now);
    if (this.result !== null && now < this.result.until) {
      return note.show({ clock: this.result.clock, text: this.result.text, button: '', stop: false });
    }
    note.show(null);
  }

  /** Begin a race at the signpost that is read: on the course at an `index` of its courses, or else on the one after
   * the last that was chosen. */
  next(index = -1) {
    const { state: { sign }, race, session, hud } = this;
    if (sign === null) return race === null ? hud.toast('Races begin at signposts, where paths meet: choose a line of the board.') : undefined;
    const { courses } = sign, chosen = courses.findIndex((each) => race !== null && isOne(each, race.course));
    if (courses.length === 0) return hud.toast('No path leads from here to another signpost.');
    const { from, side } = courses[index < 0 ? (chosen + 1) % courses.length : index];
    this.result = null;
    this.state.did.add('race');
    session.client.do.race(from.i, from.j, side);
  }

  /** Return the step to run on, in a race.
   * @returns {import('../next.js').Step | null} */
  runStep() {
    if (this.race === null) return null;
    const { name, to: { x, y } } = this.race.course;
    return { key: 'run', text: `Run to ${name}`, place: { x: x + 0.5, y: y + 0.5, name } };
  }

  /** Return the step to race, for the first time, at the signpost that is read.
   * @returns {import('../next.js').Step | null} */
  raceStep() {
    const { state: { sign, did } } = this, [first] = did.has('race') ? [] : sign?.courses ?? [];
    return first === undefined ? null : { key: 'race', text: `Race to ${first.name}`, act: () => this.next(0) };
  }

  /** End the race; return whether there was one. */
  stop() {
    return this.#off(null);
  }

  /** @param {Sign | null} sign */
  #read(sign, now) {
    if (sign?.x !== this.sign?.x || sign?.y !== this.sign?.y) {
      this.sign = sign;
      this.holders.clear();
      this.readAt = now + READ_AFTER;
    }
    if (sign === null || now < this.readAt) return;
    this.readAt = Infinity;
    if (sign.courses.length > 0) this.session.client.do.courses(sign.i, sign.j);
  }

  /** Show the clock of the player's race.
   * @param {Race} race */
  #follow({ course, begunAt, endedAt, ms, name }, now) {
    const { note, state: { sign } } = this, to = `${course.name}: ${ms === 0 ? 'be the first' : `${name} ${secondsOf(ms)}`}`;
    const begun = !Number.isNaN(begunAt), ended = !Number.isNaN(endedAt);
    const another = !begun && sign !== null && sign.courses.length > 1;
    const clock = (begun ? ((ended ? endedAt : now) - begunAt) / 1000 : 0).toFixed(1);
    const text = ended ? `${course.name}!` : begun ? `To ${to}` : `Go! To ${to}`;
    note.show({ clock, text, button: another ? 'Another route' : '', stop: true });
    if (!ended || now < this.reportedAt + REPORT_EVERY) return;
    this.reportedAt = now;
    this.#reportArrival();
  }

  /** Report to the server that the player has arrived. */
  #reportArrival() {
    if (this.race === null) return;
    const { from, side } = this.race.course;
    this.session.client.do.arrive(from.i, from.j, side);
  }

  #begin(id, echo) {
    const { state, hud } = this, { here } = state;
    // Nothing can be seen of courses far away, and looking for their signposts takes a few ms.
    if (Math.max(Math.abs(echo.x * PLOT_SIDE - here.x), Math.abs(echo.y * PLOT_SIDE - here.y)) > 2 * PLOT_SIDE) return;
    const from = state.landmarks.post(echo.x, echo.y);
    const course = from && state.landmarks.courses(from).find(({ side }) => side === echo.side);
    if (!course) return;
    if (id === state.ownId) this.#off(null);
    this.echoes.take(id, course, echo);
    if (id !== state.ownId) return;
    this.race = this.echoes.own();
    this.reportedAt = -Infinity;
    state.aim = { x: course.to.x + 0.5, y: course.to.y + 0.5, reach: RING / 2, label: course.name, quiet: true };
    hud.announce(`Race to ${course.name}, ${wayTo(course.to.x - from.x, course.to.y - from.y)}. `
      + 'The clock starts when you leave the ring around the signpost.');
  }

  #arrived(i, j, side, run) {
    const { state, hud, sound, race } = this;
    if (race === null || !isOne(race.course, { from: { i, j }, side })) return;
    const text = resultOf(race.course.name, run), walker = state.drawn.get(race.runner);
    this.result = { clock: secondsOf(run.ms), text, until: state.now + SHOWN };
    hud.announce(`${secondsOf(run.ms)}. ${text}`);
    if (run.won) sound.spark();
    else sound.chime();
    if (run.won && walker !== undefined) walker.sparkAt = state.now;
    // Its echo goes on until it is there, too.
    race.waits = false;
    this.#forget();
  }

  /** End the player's race, and say why; return whether there was one.
   * @param {string | null} why */
  #off(why) {
    if (this.race === null) return false;
    if (why !== null) this.hud.toast(why);
    this.race.over = true;
    this.#forget();
    return true;
  }

  #forget() {
    const { state, race } = this, { aim } = state;
    this.race = null;
    if (race !== null && aim?.x === race.course.to.x + 0.5 && aim.y === race.course.to.y + 0.5) state.aim = null;
  }
}
