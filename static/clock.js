// Node time in the browser: estimated from pings, slewed, never stepped back while a connection lasts.
// It sends nothing.

const SAMPLES = 8;                        // pings of which the quickest is believed
const SLEW = 0.1;                         // ms that the clock is mended by, per ms
const STEP_OVER = 1000;                   // ms ahead that are caught up at once, as after a sleep

export class Clock {
  constructor() {
    this.samples = [];
    this.target = null;                   // node time minus performance time, as last estimated
    this.offset = null;                   // the same, as used
    this.last = -Infinity;
    this.slewedAt = 0;
    this.ping = null;                     // ms of the last round trip
  }

  /** Forget what is known, at another connection: its node's clock may be far behind. */
  reset() {
    this.samples = [];
    this.offset = null;
    this.last = -Infinity;
  }

  /** Take a ping's times in ms: sent and heard by performance.now(), answered by node time. */
  sample(sent, answered, heard) {
    this.ping = heard - sent;
    this.samples.push({ trip: heard - sent, offset: answered - (sent + heard) / 2 });
    if (this.samples.length > SAMPLES) this.samples.shift();
    this.target = this.samples.reduce((a, b) => (b.trip < a.trip ? b : a)).offset;
    if (this.offset === null || this.target - this.offset > STEP_OVER) this.offset = this.target;
  }

  /** Node time in ms, with a fraction; never less than it was. `at` is performance.now(). */
  now(at = performance.now()) {
    if (this.offset !== null) {
      const most = Math.max(at - this.slewedAt, 0) * SLEW;
      this.offset += Math.min(Math.max(this.target - this.offset, -most), most);
    }
    this.slewedAt = at;
    this.last = Math.max(this.last, at + (this.offset ?? 0));
    return this.last;
  }
}
