// Lets this page's player walk by keys, mouse and touch, in the way that the game allows.

import { Input } from './input.js';

const NEAR = 0.3;                         // tiles: this near to where it was led, a player stops
const TOO_FAR = 0.5;                      // tiles beyond it from which a player goes back
const AGO_MOST = 200;                     // ms: the age of the oldest intent that a server obeys
const LEAD_EVERY = 250;                   // ms between two goals while a finger leads
const REPEAT_EVERY = 1000;                // ms after which keys that are still held are obeyed again

export class Steer {
  /** `keys`, `tap` and `turns` are as `join` takes them.
   * @param {import('./client.js').Client} game @param {import('./draw.js').Draw} draw */
  constructor(game, draw, canvas, { keys, tap, turns }) {
    this.game = game;
    this.draw = draw;
    this.goesOn = turns;
    this.ledAt = 0;                       // performance time, ms, of the last goal of a finger that leads
    /** @type {[number, number] | null} Where a walk along rows and columns is to end, in tiles. */
    this.aim = null;
    /** @type {number | undefined} Goes off when the player is to turn. */
    this.timer = undefined;
    this.turns = [0, 0];                  // how many more times it may set out along each axis
    /** @type {[number, number]} */
    this.before = [0, 0];                 // the last heading of the keys
    /** @type {[number, number]} */
    this.keys = [0, 0];                   // the direction that the keys have
    /** @type {{ x: number, y: number } | null} Where a finger leads, in css px. */
    this.led = null;
    this.repeatedAt = -Infinity;          // performance time, ms, at which the keys were last obeyed again
    const input = new Input(canvas, {
      heading: (dx, dy) => this.#heading(dx, dy),
      tap: (x, y) => {
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
        const place = draw.placeAt(x, y);
        if (game.me !== null && tap(...place) !== true) this.#goTo(...place);
      },
      lead: (place) => {
        this.led = place;
        this.#lead();
      },
      canClick: () => false,
      key: ({ code }) => {
        keys[code]?.();
        return code in keys;
      },
      rest: () => {
        this.aim = null;
        // Even if the walk is over for the page: it may not be for the server.
        if (game.goes) game.go(null);
      },
    });
    game.on.begun(() => {
      this.aim = null;
      input.repeat();
      // A player that keeps walking without keys also does so after a reconnect.
      if (this.goesOn && game.goes && this.before.some((n) => n !== 0)) game.go({ heading: this.before });
    });
    game.on.leapt(() => { this.aim = null; });
    game.on.held(() => {
      if (performance.now() < this.repeatedAt + REPEAT_EVERY) return;
      this.repeatedAt = performance.now();
      input.repeat();
    });
    game.on.frame(() => {
      this.#lead();
      this.#turn();
    });
  }

  /** Keep walking to where a finger leads. */
  #lead() {
    const now = performance.now();
    if (this.led === null || now < this.ledAt + LEAD_EVERY) return;
    this.ledAt = now;
    this.#goTo(...this.draw.placeAt(this.led.x, this.led.y));
  }

  #heading(dx, dy) {
    this.aim = null;
    if (this.game.walking === 'none') return;
    if (this.goesOn && dx === 0 && dy === 0) return;
    // Where players walk along rows and columns, the later of two keys counts.
    if ((this.game.walking === 'straight' || this.goesOn) && dx !== 0 && dy !== 0) {
      if (dx === this.keys[0] && dy === this.keys[1]) [dx, dy] = this.before;
      else {
        this.keys = [dx, dy];
        [dx, dy] = this.before[0] !== 0 ? [0, dy] : [dx, 0];
      }
    } else this.keys = [dx, dy];
    this.before = [dx, dy];
    this.game.go(dx === 0 && dy === 0 ? null : { heading: [dx, dy] });
  }

  #goTo(x, y) {
    if (this.game.walking === 'none') return;
    if (this.goesOn) return this.#turnTo(x, y);
    if (this.game.walking === 'free') return this.game.goTo(x, y);
    this.aim = [x, y];
    this.turns = [4, 4];
    this.#turn();
  }

  /** Go along a row or a column from now on, towards a place. */
  #turnTo(x, y) {
    const { game } = this, [ownX, ownY] = game.walk.drawn(game.clock.now()), dx = x - ownX, dy = y - ownY;
    const [stepX, stepY] = Math.abs(dx) > Math.abs(dy) ? [Math.sign(dx), 0] : [0, Math.sign(dy)];
    if (stepX !== this.before[0] || stepY !== this.before[1] || game.walk.arrived) this.#heading(stepX, stepY);
  }

  /** Keep walking to where a touch was: first along the row or the column, whichever is longer, and along
   * the other one when that is done or barred. */
  #turn() {
    const { game, turns } = this, { walk } = game;
    if (this.aim === null || game.walking !== 'straight') return;
    const place = walk.drawn(game.clock.now()), way = this.aim.map((at, axis) => at - place[axis]);
    const { intent } = walk, heading = intent !== null && 'heading' in intent ? intent.heading : [0, 0];
    if (!walk.arrived && heading.some((on, axis) => on * way[axis] > 0)) return;
    // The player stops as of the moment at which it had gone far enough, so it need not go back, unless frames are
    // so rare that it has gone too far. Where it was barred, it tries once more.
    let ago = 0;
    heading.forEach((on, axis) => {
      if (on === 0 || walk.arrived) return;
      const beyond = Math.max(-on * way[axis], 0), late = beyond / game.speed * 1000;
      ago = Math.min(late, AGO_MOST);
      if (beyond - ago * game.speed / 1000 < TOO_FAR) turns[axis] = 0;
      way[axis] += on * ago * game.speed / 1000;
    });
    const far = way.map((at, axis) => turns[axis] > 0 ? Math.abs(at) : 0), most = Math.max(...far);
    if (most < NEAR) {
      this.aim = null;
      return game.go(null, ago);
    }
    const axis = far.indexOf(most);
    turns[axis]--;
    // Frames may be rare.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => game.advance(), most / game.speed * 1000);
    game.go({ heading: axis === 0 ? [Math.sign(way[0]), 0] : [0, Math.sign(way[1])] }, ago);
  }
}
