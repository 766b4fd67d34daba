// What the page measures about itself, for the panel of readings.

import { companyLine } from './atlas.js';
import { isComputer, isDeer } from './faces.js';
import { isInView } from './scene.js';

const RATES_OVER = 2000;                  // ms over which messages and bytes per second count

export class Measures {
  /** @param {import('./state.js').State} state @param {import('./net.js').Net} net */
  constructor(state, net) {
    this.state = state;
    this.net = net;
    /** @type {{ at: number, messages: number, bytes: number }[]} Counts of the last
     * RATES_OVER ms. */
    this.counts = [];
  }

  /** Return what is measured now, as Readings.show takes it. */
  take() {
    const { state, net, counts } = this, { replica, here, own, walkers } = state;
    const at = performance.now(), { messages, bytes } = net.received;
    counts.push({ at, messages, bytes });
    while (at - counts[0].at > RATES_OVER) counts.shift();
    const passed = Math.max(at - counts[0].at, 1) / 1000, { held, side } = replica;
    const seen = walkers.filter((walker) => !walker.own && !isDeer(walker)
      && isInView(state, walker));
    const people = seen.filter(({ id }) => !isComputer(id))
      .sort((a, b) => Number(b.friend) - Number(a.friend) || a.id - b.id)
      .map(({ id, name }) => state.names.get(id) ?? name);
    return {
      name: (own && state.names.get(own.id)) ?? net.hello.name,
      position: { x: Math.floor(here.x), y: Math.floor(here.y) },
      square: { col: Math.floor(here.x / side), row: Math.floor(here.y / side) },
      ping: net.playing && !net.quiet ? state.clock.ping : null,
      company: companyLine(people, seen.length - people.length),
      held: held === null ? 0 : (held.c1 - held.c0 + 1) * (held.r1 - held.r0 + 1),
      messages: (messages - counts[0].messages) / passed,
      bytes: (bytes - counts[0].bytes) / passed,
    };
  }
}
