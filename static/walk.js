// One's own walk: predicted at once with the server's own rules, then held to what the server says.
// It never touches the page and sends nothing.

import { drawnAt, leg, positionAt, stand } from './track.js';

const EASE = 120;                         // ms in which a misprediction fades to a third
const JUMP = 4;                           // tiles: a larger one is a jump, not an error

export class Walk {
  /** `blocked(column, row)` says whether nobody can stand on a tile. */
  constructor(blocked) {
    this.blocked = blocked;
    this.number = 0;                      // of the last intent sent
    /** @type {import('./track.js').Intent} */
    this.intent = null;
    this.arrived = true;                  // the intent leads no further
    this.track = stand(0, 0, 0);
    /** @type {import('./track.js').Pair} Tiles by which the drawing differs from the track. */
    this.error = [0, 0];
    this.errorAt = 0;                     // performance time of that, in ms
    this.frozenAt = Infinity;             // node time beyond which nothing is known to go on
    this.ended = false;                   // by the server, though its way led on
  }

  /** Begin at a position in units, with the numbers of a new session. */
  begin(x, y, now) {
    this.number = 0;
    this.intent = null;
    this.arrived = true;
    this.track = stand(x, y, now);
    this.error = [0, 0];
    this.frozenAt = Infinity;
    this.ended = false;
  }

  /** Follow a new intent from node time `t`, a whole ms; returns its number.
   * @param {import('./track.js').Intent} intent */
  follow(intent, t) {
    this.advance(t);
    const start = Math.max(t, this.track.start);
    const [x, y] = positionAt(this.track, this.time(start));
    this.number++;
    this.intent = intent;
    const track = leg(this.blocked, x, y, intent, start);
    this.arrived = track === null;
    this.track = track ?? stand(x, y, start);
    return this.number;
  }

  /** Go on to the leg that is walked at node time `now`. */
  advance(now) {
    now = this.time(now);
    while (!this.arrived && now >= this.track.start + this.track.duration) {
      const end = this.track.start + this.track.duration;
      const next = leg(this.blocked, ...positionAt(this.track, end), this.intent, end);
      if (next === null) this.arrived = true;
      else this.track = next;
    }
  }

  /** Take what the server says of this player. Returns true where that was a jump.
   * @param {{ ack: number, track: import('./track.js').Track }} player */
  reconcile(player, now) {
    if (player.ack !== this.number) return false;   // an intent is still under way
    const before = this.drawn(now);
    this.track = player.track;
    if (this.intent !== null && player.track.duration === 0) {
      const { x, y, start } = player.track;
      this.ended = leg(this.blocked, x, y, this.intent, start) !== null;
      this.intent = null;
    }
    this.arrived = this.intent === null;
    this.advance(now);
    return this.#ease(before, now);
  }

  /** Let the drawing come from where it was. Returns true where it is a jump.
   * @param {import('./track.js').Pair} before */
  #ease(before, now) {
    const [x, y] = before;
    const [trueX, trueY] = drawnAt(this.track, this.time(now));
    const jump = Math.hypot(x - trueX, y - trueY) > JUMP;
    this.error = jump ? [0, 0] : [x - trueX, y - trueY];
    this.errorAt = performance.now();
    return jump;
  }

  /** No answer comes: stay where one is until one does, for nobody knows whether the walk goes on. */
  freeze(now) {
    this.frozenAt = Math.floor(now);
  }

  /** An answer came: be where one ought to be by now. Returns true where that is a jump. */
  thaw(now) {
    const before = this.drawn(now);
    this.frozenAt = Infinity;
    this.advance(now);
    return this.#ease(before, now);
  }

  /** The node time that the walk has come to at node time `now`. */
  time(now) {
    return Math.min(now, this.frozenAt);
  }

  /** The server did not obey an intent: what it says next counts, whatever it acknowledges. */
  refused(player) {
    this.intent = null;
    this.arrived = true;
    this.track = player.track;
  }

  /** Stand still where one is: the connection is lost. */
  halt(now) {
    this.advance(now);
    const t = Math.floor(this.time(now));
    this.frozenAt = Infinity;
    this.intent = null;
    this.arrived = true;
    this.track = stand(...positionAt(this.track, t), t);
  }

  /** Where to draw oneself at node time `now`, in tiles.
   * @returns {import('./track.js').Pair} */
  drawn(now) {
    const [x, y] = drawnAt(this.track, this.time(now));
    const left = Math.exp((this.errorAt - performance.now()) / EASE);
    return [x + this.error[0] * left, y + this.error[1] * left];
  }
}
