// The walk of this page's player: it is predicted at once by the server's rules, and then corrected by
// what the server says. It never touches the page and sends nothing.

import { drawnAt, isBarred, leg, PACE_USUAL, positionAt, stand } from './track.js';

const EASE = 120;                         // ms in which an error of the prediction shrinks to a third
const JUMP = 4;                           // tiles: a larger error is not eased: the player jumps

export class Walk {
  /** `blocked(column, row)` says whether a tile blocks walkers. */
  constructor(blocked) {
    this.blocked = blocked;
    this.number = 0;                      // number of the last intent that was sent
    /** @type {import('./track.js').Intent} */
    this.intent = null;
    this.arrived = true;                  // true if the intent leads no further
    this.track = stand(0, 0, 0);
    this.pace = PACE_USUAL;               // as the server last sent it
    /** @type {import('./track.js').Pair} Tiles by which the player is drawn away from
     * its track. */
    this.error = [0, 0];
    this.errorAt = 0;                     // performance time of `error`, ms
    this.frozenAt = Infinity;             // node time at which the walk is halted until the
                                          // server answers
    this.ended = false;                   // true if the server ended a walk that led further
  }

  /** Begin a new session at a position in units; its intents are numbered from 1. */
  begin(x, y, now) {
    this.number = 0;
    this.intent = null;
    this.arrived = true;
    this.track = stand(x, y, now);
    this.pace = PACE_USUAL;
    this.error = [0, 0];
    this.frozenAt = Infinity;
    this.ended = false;
  }

  /** Change to another clock, which is `ms` ahead of the last one. */
  shift(ms) {
    this.track = { ...this.track, start: this.track.start + ms };
    this.frozenAt += ms;
  }

  /** Follow a new intent from node time `t`, a whole ms; return its number.
   * @param {import('./track.js').Intent} intent */
  follow(intent, t) {
    this.advance(t);
    const start = Math.max(t, this.track.start), [x, y] = this.at(start);
    this.number++;
    this.intent = intent;
    const track = leg(this.blocked, x, y, intent, start, this.pace);
    this.arrived = track === null;
    this.track = track ?? stand(x, y, start);
    return this.number;
  }

  /** Advance to the leg that the player walks at node time `now`. */
  advance(now) {
    now = this.time(now);
    while (!this.arrived && now >= this.track.start + this.track.duration) {
      const end = this.track.start + this.track.duration;
      const next = leg(this.blocked, ...positionAt(this.track, end), this.intent, end, this.pace);
      if (next === null) this.arrived = true;
      else this.track = next;
    }
  }

  /** Plan the leg again from here, as the server does, if newly blocked tiles lie on the way. */
  replan(now) {
    const t = Math.floor(this.time(now));
    this.advance(t);
    if (this.intent === null || this.arrived || !isBarred(this.blocked, this.track, t, this.pace)) return;
    const [x, y] = this.at(t), track = leg(this.blocked, x, y, this.intent, t, this.pace);
    this.arrived = track === null;
    this.track = track ?? stand(x, y, t);
  }

  /** Correct the walk by what the server says of the player. Returns true if that is a jump.
   * @param {{ ack: number, pace: number, track: import('./track.js').Track }} player */
  reconcile(player, now) {
    this.pace = player.pace;
    if (player.ack !== this.number) return false;   // an intent is still on its way
    const before = this.drawn(now);
    this.track = { ...player.track };     // the replica overwrites its own
    if (this.intent !== null && player.track.duration === 0) {
      const { x, y, start } = player.track;
      this.ended = leg(this.blocked, x, y, this.intent, start) !== null;
      this.intent = null;
    }
    this.arrived = this.intent === null;
    this.advance(now);
    return this.#ease(before, now);
  }

  /** Move the drawn position gradually from `before` to the track. Returns true if that is a jump.
   * @param {import('./track.js').Pair} before */
  #ease(before, now) {
    const [x, y] = before;
    const [trueX, trueY] = drawnAt(this.track, this.time(now));
    const jump = Math.hypot(x - trueX, y - trueY) > JUMP;
    this.error = jump ? [0, 0] : [x - trueX, y - trueY];
    this.errorAt = performance.now();
    return jump;
  }

  /** Stand still until the server answers, since it may have ended the walk. */
  freeze(now) {
    this.frozenAt = Math.floor(now);
  }

  /** Go to where the walk has led by now, since an answer came. Returns true if that is a jump. */
  thaw(now) {
    const before = this.drawn(now);
    this.frozenAt = Infinity;
    this.advance(now);
    return this.#ease(before, now);
  }

  /** Return the position in units at node time `t`, a whole ms. */
  at(t) {
    return positionAt(this.track, this.time(t));
  }

  /** Return the node time up to which the walk has gone at node time `now`. */
  time(now) {
    return Math.min(now, this.frozenAt);
  }

  /** Follow the last track that the server sent, since it did not obey an intent. */
  refused(player) {
    this.intent = null;
    this.arrived = true;
    this.track = { ...player.track };
  }

  /** Stand still, since the connection is lost. */
  halt(now) {
    this.advance(now);
    const t = Math.floor(this.time(now));
    this.frozenAt = Infinity;
    this.intent = null;
    this.arrived = true;
    this.track = stand(...positionAt(this.track, t), t);
  }

  /** Return where to draw the player at node time `now`, in tiles.
   * @returns {import('./track.js').Pair} */
  drawn(now) {
    const [x, y] = drawnAt(this.track, this.time(now));
    const left = Math.exp((this.errorAt - performance.now()) / EASE);
    return [x + this.error[0] * left, y + this.error[1] * left];
  }
}
