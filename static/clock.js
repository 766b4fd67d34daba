// Node time in the browser. It is estimated from pings and corrected gradually, and never goes back
// while a connection lasts. It sends nothing.

const SAMPLES = 8;                        // number of pings of which the quickest counts
const SLEW = 0.1;                         // ms by which the clock is corrected per ms
const STEP_OVER = 1000;                   // ms: if it is behind by more, as after a sleep, it is set at once,
                                          // and earlier measurements no longer count

export class Clock {
  constructor() {
    this.samples = [];
    this.target = null;                   // node time minus performance time, as last estimated
    this.offset = null;                   // the same, as it is used now
    this.last = -Infinity;
    this.slewedAt = 0;
    this.ping = null;                     // ms of the last round trip
    this.ahead = 0;                       // ms by which world time is ahead of node time
  }

  /** Forget everything, on a new connection: the clock of its node may be far behind. */
  reset() {
    this.samples = [];
    this.offset = null;
    this.last = -Infinity;
  }

  /** Begin with the node time `answered` of a message that was not a pong. It is too early by as long as the
   * message was on its way, but better than nothing until a pong comes. */
  begin(answered, heard) {
    this.target = this.offset = answered - heard;
  }

  /** Add the times of a ping in ms: when it was `sent` and its pong `heard` by performance.now(),
   * and when it was `answered` by node time. */
  sample(sent, answered, heard) {
    const trip = heard - sent, offset = answered - (sent + heard) / 2;
    this.ping = trip;
    if (this.samples.some((one) => offset - one.offset > STEP_OVER + trip)) this.samples = [];
    this.samples.push({ trip, offset });
    if (this.samples.length > SAMPLES) this.samples.shift();
    this.target = this.samples.reduce((a, b) => (b.trip < a.trip ? b : a)).offset;
    if (this.offset === null || this.target - this.offset > STEP_OVER) this.offset = this.target;
  }

  /** Return node time in ms, with a fraction; never less than before. `at` is performance.now(). */
  now(at = performance.now()) {
    if (this.offset !== null) {
      const most = Math.max(at - this.slewedAt, 0) * SLEW;
      this.offset += Math.min(Math.max(this.target - this.offset, -most), most);
    }
    this.slewedAt = at;
    this.last = Math.max(this.last, at + (this.offset ?? 0));
    return this.last;
  }

  /** Return world time in ms, with a fraction: the store's, which is the same at all nodes. */
  world() {
    return this.now() + this.ahead;
  }
}
