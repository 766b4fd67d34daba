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
    this.intent = null;
    this.arrived = true;                  // the intent leads no further
    this.track = stand(0, 0, 0);
    this.error = [0, 0];                  // tiles by which the drawing differs from the track
    this.errorAt = 0;                     // performance time of that, in ms
  }

  /** Begin at a position in units, with the numbers of a new session. */
  begin(x, y, now) {
    this.number = 0;
    this.intent = null;
    this.arrived = true;
    this.track = stand(x, y, now);
    this.error = [0, 0];
  }

  /** Follow a new intent (see track.js) from node time `t`, a whole ms; returns its number. */
  follow(intent, t) {
    this.advance(t);
    const start = Math.max(t, this.track.start);
    const [x, y] = positionAt(this.track, start);
    this.number++;
    this.intent = intent;
    const track = leg(this.blocked, x, y, intent, start);
    this.arrived = track === null;
    this.track = track ?? stand(x, y, start);
    return this.number;
  }

  /** Go on to the leg that is walked at node time `now`. */
  advance(now) {
    while (!this.arrived && now >= this.track.start + this.track.duration) {
      const end = this.track.start + this.track.duration;
      const next = leg(this.blocked, ...positionAt(this.track, end), this.intent, end);
      if (next === null) this.arrived = true;
      else this.track = next;
    }
  }

  /** Take what the server says of this player. Returns true where that was a jump. */
  reconcile(player, now) {
    if (player.ack !== this.number) return false;   // an intent is still under way
    const [x, y] = this.drawn(now);
    this.track = player.track;
    this.arrived = this.intent === null;
    this.advance(now);
    const [trueX, trueY] = drawnAt(this.track, now);
    const jump = Math.hypot(x - trueX, y - trueY) > JUMP;
    this.error = jump ? [0, 0] : [x - trueX, y - trueY];
    this.errorAt = performance.now();
    return jump;
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
    this.intent = null;
    this.arrived = true;
    this.track = stand(...positionAt(this.track, Math.floor(now)), Math.floor(now));
  }

  /** Where to draw oneself at node time `now`, in tiles. */
  drawn(now) {
    const [x, y] = drawnAt(this.track, now);
    const left = Math.exp((this.errorAt - performance.now()) / EASE);
    return [x + this.error[0] * left, y + this.error[1] * left];
  }
}
