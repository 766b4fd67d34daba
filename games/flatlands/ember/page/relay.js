// What this page's player does about the ember: takes it from a carrier that it touches, or from a fire that it walks
// into, and lights a dark landmark. The server decides; this module asks, and says what becomes of it.

import { isComputer } from '../faces.js';
import { listOf, wayTo } from '../near.js';
import * as P from '../protocol.js';
import { BURNS, keyOf, placeOf, PLAZA_KEY } from './ember.js';

/** @typedef {import('../landmarks.js').Landmark} Landmark */
/** @typedef {import('../state.js').State} State */
/** @typedef {{ key: string, ask: () => void }} Deed  What can be done now; `key` stays the same while that can be done. */

const TOUCH = 1.8, APART = 3;             // tiles: near enough to touch the carrier, if that was farther than
                                          // APART before; a player that follows somebody comes so near
const GRASP = 2.5;                        // tiles: this near, a click takes it; and clockwork gives it back
const LATE = 0.5;                         // how much of it is left when clockwork gives it back
const INTO = 1.2;                         // tiles to a fire that the player has walked into
const LIGHTS = 4;                         // tiles to a landmark's hearth, which stands up to 3.6 from its tile
const BESIDE = 3.5;                       // tiles: this near a fire, its stone is read
const FIRE_WITHIN = 60;                   // tiles to the fire on the plaza: so near it is a next step
const ASKS_EVERY = 1300;                  // ms: the server allows it no more often
const FORGETS = 90000;                    // ms after which all is asked for again, in case something was missed

/** @typedef {import('../sound.js').Notes} Notes */
/** It flares up, and goes out. @type {Notes} */
const FLARE = [[196, 0, 0.3, 1.5], [392, 0.1, 0.5, 1.25]];
/** @type {Notes} */
const OUT = [[587.3, 0, 0.2, 0.75], [293.7, 0.12, 0.5, 0.75]];

export class Relay {
  /** @param {State} state @param {import('../client.js').Client} client @param {import('../hud/hud.js').Hud} hud
   * @param {import('../sound.js').Sound} sound @param {import('./ember.js').Ember} ember @param {import('./note.js').EmberNote} note
   * @param {Set<string>} shownErrors  the codes of errors that the player is shown
   * @param {import('../events.js').Events} events */
  constructor(state, client, hud, sound, ember, note, shownErrors, events) {
    this.events = events;
    this.ember = ember;
    this.note = note;
    this.shownErrors = shownErrors.add('ember');
    this.state = state;
    this.client = client;
    this.hud = hud;
    this.sound = sound;
    this.askedAt = -Infinity;             // performance time, ms, of the last deed
    this.knownAt = -Infinity;             // performance time, ms, when all was asked for
    this.asked = '';                      // the last deed, and the last one that was refused for good
    this.refused = '';
    /** @type {string | null} The fire in which the player has got the ember, until it walks out of it. */
    this.had = null;
    this.apart = 0;                       // `until` of the ember whose carrier was seen farther away
    /** @type {number | null} Who carried it in the last frame. */
    this.before = null;
    const { on } = client;
    on.begun(() => {
      ember.clear();
      this.before = null;
      this.#know();
    });
    on.applied(([kind, linked]) => {
      if (kind === P.LINK && linked) this.#know();
    });
    on.message('ember', (id, until, name) => ember.take(id, until, name, state.clock.now()));
    on.message('fires', (rows) => this.#lit(rows));
    on.error((code) => {
      if (code === 'ember' || code === 'store') this.refused = this.asked;
      // Whose turn it is, a player who stands in a fire is shown once, until it has the ember again.
      if (code === 'ember') shownErrors.delete(code);
    });
  }

  /** Do what can be done, and announce what has happened; called in each frame. */
  frame() {
    const { state } = this, { now } = state;
    if (state.own === undefined) return;
    if (now > this.knownAt + FORGETS) this.#know();
    this.#announceChange();
    if (this.had !== this.#fireWithin(INTO)) this.had = null;
    this.note.show(this.#sentence(), this.ember.held?.left ?? null);
    const deed = this.#deed();
    if (deed?.key !== this.refused) this.refused = '';
    if (deed === null || this.refused !== '' || now < this.askedAt + ASKS_EVERY) return;
    this.askedAt = now;
    this.asked = deed.key;
    deed.ask();
  }

  /** Take the ember from the player `id`, which was clicked, if it carries it and is near. */
  grasp(id) {
    const { state: { drawn, here }, client } = this, carried = this.ember.held, walker = drawn.get(id);
    if (carried?.id !== id || walker === undefined || away(walker, here) > GRASP) return;
    client.do.take(id);
  }

  /** Return the step to carry the ember on, while the player has it.
   * @returns {import('../next.js').Step | null} */
  carryStep() {
    const { ember: { goal, held }, state } = this;
    if (goal === null || held === null || held.id !== state.ownId) return null;
    const { name } = goal.mark;
    return { key: `carry ${name}`, text: `Carry the ember to ${name}`, place: { ...placeOf(goal.mark), name } };
  }

  /** Return the step to take an ember for the first time from a fire in sight, or from that on the plaza.
   * @returns {import('../next.js').Step | null} */
  fireStep() {
    const { ember: { fires, held }, state } = this, plaza = placeOf(null);
    if (state.did.has('ember') || held !== null || this.refused !== '' || !fires.has(PLAZA_KEY)
      || away(plaza, state.here) > FIRE_WITHIN) return null;
    return { key: 'fire', text: 'Walk into the fire and carry it', place: { ...plaza, name: 'the fire' } };
  }

  #know() {
    this.knownAt = this.state.now;
    this.client.do.fires();
  }

  /** @returns {Deed | null} */
  #deed() {
    const { state, client, ember } = this, { here, drawn, marks, ownId } = state, carried = ember.held;
    if (ember.fires.size === 0) return null;
    if (carried?.id === ownId) {
      const mark = marks.find((each) => !ember.fires.has(keyOf(each)) && away(placeOf(each), here) < LIGHTS);
      return mark === undefined ? null : { key: `light ${keyOf(mark)}`, ask: () => client.do.light() };
    }
    if (carried === null) {
      const fire = this.#fireWithin(INTO);
      return fire === null || fire === this.had ? null : { key: `fire ${fire}`, ask: () => client.do.take(0) };
    }
    const walker = drawn.get(carried.id), far = walker === undefined ? Infinity : away(walker, here);
    if (isComputer(carried.id)) {
      return far > GRASP || carried.left >= LATE ? null
        : { key: `back ${ember.until}`, ask: () => client.do.take(carried.id) };
    }
    if (far > APART) this.apart = ember.until;
    return far > TOUCH || this.apart !== ember.until ? null
      : { key: `take ${ember.until}`, ask: () => client.do.take(carried.id) };
  }

  /** Return the key of a fire that burns within `reach` tiles, or null. */
  #fireWithin(reach, here = this.state.here) {
    const { marks } = this.state, { fires } = this.ember;
    if (fires.has(PLAZA_KEY) && away(placeOf(null), here) <= reach) return PLAZA_KEY;
    const mark = marks.find((each) => fires.has(keyOf(each)) && away(placeOf(each), here) <= reach);
    return mark === undefined ? null : keyOf(mark);
  }

  /** Tell the player, if it has got or lost the ember, who carries it now. */
  #announceChange() {
    const { state, hud, sound, before, ember } = this, { ownId } = state, carried = ember.held, id = carried?.id ?? null;
    if (id === before) return;
    this.before = id;
    if (id === ownId) {
      this.had = this.#fireWithin(INTO);
      this.shownErrors.add('ember');
      this.events.emit('did', 'ember');
    }
    if (carried !== null && id === ownId) {
      hud.toast(`You have the ember! It burns for ${BURNS / 1000} s unless somebody takes it.`);
      this.#lead();
    } else if (carried !== null && before === ownId) {
      hud.toast(isComputer(carried.id) ? `${carried.name} carries the ember for you. Touch ${carried.name} when half of it has burnt.`
        : `${carried.name} took the ember from you.`);
    }
    else if (before === ownId && ember.id === ownId) hud.toast('The ember has burnt out. You can take a new one from a fire.');
    if (id === ownId || before === ownId) sound.ring(id === ownId ? FLARE : OUT, 0.9);
  }

  /** Let an arrow lead to the goal, unless one already leads elsewhere. */
  #lead() {
    const { state, ember: { goal } } = this;
    if (state.aim !== null || goal === null) return;
    state.aim = { ...placeOf(goal.mark), reach: LIGHTS, label: goal.mark.name, quiet: true };
  }

  /** Take which landmarks burn, and announce one that was dark. */
  #lit(rows) {
    const { state, hud, ember } = this, known = new Set(ember.fires.keys());
    ember.light(rows);
    // A player that stands there already has not walked into it, even before the first frame.
    const [x, y] = state.walk.drawn(state.clock.now()), into = this.#fireWithin(INTO, { x, y });
    if (into !== null && !known.has(into)) this.refused = `fire ${into}`;
    const news = [...ember.fires.keys()].find((key) => known.size > 0 && !known.has(key));
    if (news === undefined) return;
    const name = ember.nameOf(state.landmarks, news);
    if (state.aim?.label === name) state.aim = null;
    hud.toast(`${name} burns! ${listOf(ember.fires.get(news)?.hands)} brought the ember.`);
  }

  /** Return what is said of the ember here and now, or null. */
  #sentence() {
    const { here, drawn, ownId, landmarks } = this.state, { ember } = this, { goal, held: carried } = ember;
    if (goal === null) return null;
    const { x, y } = placeOf(goal.mark), way = `${goal.mark.name}, ${wayTo(x - here.x, y - here.y)}`;
    if (carried?.id === ownId) return `Carry the ember to ${way}.`;
    if (carried !== null && drawn.has(carried.id)) return `${carried.name} carries the ember to ${way}.`;
    const fire = this.#fireWithin(BESIDE);
    if (fire === null) return null;
    const who = fire === PLAZA_KEY ? 'This fire always burns' : `${listOf(ember.fires.get(fire)?.hands)} lit this fire`;
    if (carried !== null) return `${who}. ${carried.name} carries the ember now.`;
    if (fire === goal.from) return `${who}: walk into it, and carry its ember to ${way}.`;
    return `${who}. ${goal.mark.name} is dark: bring it an ember from ${ember.nameOf(landmarks, goal.from)}.`;
  }
}

function away(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
