// The walk of the own player: it is predicted at once by the server's rules, and then corrected by
// what the server says. It never touches the page and sends nothing.

import { drawnAt, isBarred, leg, PACE, positionAt, stand } from './track.js';

const EASE = 120;                         // ms in which an error of the prediction shrinks to a third
const JUMP = 4;                           // tiles: a larger error is not eased, but a jump

export class Walk {
  /** `blocked(column, row)` says whether a tile blocks walkers. */
  constructor(blocked) {
    this.blocked = blocked;
    this.number = 0;                      // number of the last intent that was sent
    /** @type {import('./track.js').Intent} */
    this.intent = null;
    this.arrived = true;                  // true if the intent leads no further
    this.track = stand(0, 0, 0);
    this.pace = PACE;                     // as the server has told it last
    /** @type {import('./track.js').Pair} Tiles by which the own player is drawn beside
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
    this.pace = PACE;
    this.error = [0, 0];
    this.frozenAt = Infinity;
    this.ended = false;
  }

  /** Go on by another clock, which is so many ms ahead of the last one. */
  shift(ms) {
    this.track = { ...this.track, start: this.track.start + ms };
    this.frozenAt += ms;
  }

  /** Follow a new intent from node time `t`, a whole ms, on; return its number.
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

  /** Go on to the leg that the player walks at node time `now`. */
  advance(now) {
    now = this.time(now);
    while (!this.arrived && now >= this.track.start + this.track.duration) {
      const end = this.track.start + this.track.duration;
      const next = leg(this.blocked, ...positionAt(this.track, end), this.intent, end, this.pace);
      if (next === null) this.arrived = true;
      else this.track = next;
    }
  }

  /** Tiles have become barred: if the way leads over one, walk on from here as the server does. */
  replan(now) {
    const t = Math.floor(this.time(now));
    this.advance(t);
    if (this.intent === null || this.arrived || !isBarred(this.blocked, this.track, t, this.pace)) return;
    const [x, y] = this.at(t), track = leg(this.blocked, x, y, this.intent, t, this.pace);
    this.arrived = track === null;
    this.track = track ?? stand(x, y, t);
  }

  /** Take what the server says of the own player. Returns true if that is a jump.
   * @param {{ ack: number, pace: number, track: import('./track.js').Track }} player */
  reconcile(player, now) {
    this.pace = player.pace;
    if (player.ack !== this.number) return false;   // an intent is still on its way
    const before = this.drawn(now);
    this.track = { ...player.track };     // the replica writes the next one over it
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

  /** No answer comes from the server: stand still until one does, for the walk may have ended. */
  freeze(now) {
    this.frozenAt = Math.floor(now);
  }

  /** An answer came: go to where the walk has led by now. Returns true if that is a jump. */
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

  /** Return the node time up to which the walk goes at node time `now`. */
  time(now) {
    return Math.min(now, this.frozenAt);
  }

  /** The server did not obey an intent: follow the last track that it told. */
  refused(player) {
    this.intent = null;
    this.arrived = true;
    this.track = { ...player.track };
  }

  /** The connection is lost: stand still. */
  halt(now) {
    this.advance(now);
    const t = Math.floor(this.time(now));
    this.frozenAt = Infinity;
    this.intent = null;
    this.arrived = true;
    this.track = stand(...positionAt(this.track, t), t);
  }

  /** Return where to draw the own player at node time `now`, in tiles.
   * @returns {import('./track.js').Pair} */
  drawn(now) {
    const [x, y] = drawnAt(this.track, this.time(now));
    const left = Math.exp((this.errorAt - performance.now()) / EASE);
    return [x + this.error[0] * left, y + this.error[1] * left];
  }
}
