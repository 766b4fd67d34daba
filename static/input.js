// Keys, clicks and touches on the world, as what they mean. It knows no positions, only directions
// and places on the page.

const KEYS = {
  ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
  KeyW: [0, -1], KeyS: [0, 1], KeyA: [-1, 0], KeyD: [1, 0],
};
const TAP_MOVES = 12;                     // css px that a tap may move
const TAP_LASTS = 600;                    // ms that it may last

export class Input {
  /** `on` has { heading(dx, dy), tap(cssX, cssY), key(code), rest() }: a held direction (0, 0: none),
   * a click or touch, another key pressed, and whatever must end any walk. */
  constructor(canvas, on) {
    this.on = on;
    this.held = new Map();                // key code -> [dx, dy]
    this.stickAt = [0, 0];
    this.heading = [0, 0];
    this.tap = null;
    addEventListener('keydown', (event) => this.#keyDown(event));
    addEventListener('keyup', (event) => {
      if (this.held.delete(event.code)) this.#turn();
    });
    addEventListener('blur', () => this.rest());
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.rest();
    });
    canvas.addEventListener('pointerdown', (event) => {
      if (!event.isPrimary || event.button !== 0) return;
      this.tap = { x: event.clientX, y: event.clientY, at: event.timeStamp };
    });
    canvas.addEventListener('pointerup', (event) => {
      const tap = this.tap;
      this.tap = null;
      if (tap === null || !event.isPrimary || event.timeStamp - tap.at > TAP_LASTS) return;
      if (Math.hypot(event.clientX - tap.x, event.clientY - tap.y) > TAP_MOVES) return;
      on.tap(event.clientX, event.clientY);
    });
    canvas.addEventListener('pointercancel', () => {
      this.tap = null;
      this.rest();
    });
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  /** The on-screen stick points to dx, dy (each -1, 0, 1; 0, 0 is let go). */
  stick(dx, dy) {
    this.stickAt = [dx, dy];
    this.#turn();
  }

  /** Let go of everything: nothing is pressed any more, and any walk ends. */
  rest() {
    this.held.clear();
    this.stickAt = [0, 0];
    this.heading = [0, 0];
    this.on.rest();
  }

  /** Tell once more of the direction that is held, if any is. */
  repeat() {
    const [dx, dy] = this.heading;
    if (dx !== 0 || dy !== 0) this.on.heading(dx, dy);
  }

  #keyDown(event) {
    const typing = event.target instanceof HTMLInputElement;
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code in KEYS) {
      event.preventDefault();
      if (!event.repeat) {
        this.held.set(event.code, KEYS[event.code]);
        this.#turn();
      }
    } else if (!event.repeat && this.on.key(event.code, event.target)) event.preventDefault();
  }

  #turn() {
    let [dx, dy] = this.stickAt;
    for (const [x, y] of this.held.values()) {
      dx += x;
      dy += y;
    }
    dx = Math.sign(dx);
    dy = Math.sign(dy);
    if (dx === this.heading[0] && dy === this.heading[1]) return;
    this.heading = [dx, dy];
    this.on.heading(dx, dy);
  }
}
