// Turns keys, clicks and touches on the world into what they mean. It knows directions and places on
// the page, and no positions in the world.

const KEYS = {
  ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
  KeyW: [0, -1], KeyS: [0, 1], KeyA: [-1, 0], KeyD: [1, 0],
};
const TAP_MOVES = 12;                     // css px that a finger may move in a tap
const TAP_LASTS = 600;                    // ms that a tap may last

export class Input {
  /** `on` has { heading(dx, dy), tap(cssX, cssY), key(code, target), rest() }. They are called for a
   * new direction that is held (0, 0: none), for a click or touch, for any other key, and for
   * whatever must end a walk. */
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

  /** Take the direction of the on-screen stick: dx and dy are each -1, 0 or 1; 0, 0 if it is let
   * go. */
  stick(dx, dy) {
    this.stickAt = [dx, dy];
    this.#turn();
  }

  /** Forget all keys that are held, and end any walk. */
  rest() {
    this.held.clear();
    this.stickAt = [0, 0];
    this.heading = [0, 0];
    this.on.rest();
  }

  /** Report the direction that is held once more, if there is one. */
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
