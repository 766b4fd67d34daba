// Turns keys, clicks and touches on the world into what they mean. It knows directions and places on
// the page, and no positions in the world.

const KEYS = {
  ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
  KeyW: [0, -1], KeyS: [0, 1], KeyA: [-1, 0], KeyD: [1, 0],
};
const META = 'Meta';                      // Command: macOS reports no release of a key while it is held
const TAP_MOVES = 12;                     // css px that a finger may move in a tap
const TAP_LASTS = 600;                    // ms that a tap may last
const HOLD_AFTER = 280;                   // ms after which a finger that does not move begins to lead

export class Input {
  /** `on` has { heading(dx, dy), tap(cssX, cssY, byMouse), lead(place), canClick(cssX, cssY),
   * key(event), rest() }. They are called for a new direction that is held (0, 0: none), for a
   * click or touch, for the place { x, y } at which the mouse or a finger is held (null: no longer), to
   * find out whether a click there does something other than walk, for any other key, and for whatever
   * must end a walk. */
  constructor(canvas, on) {
    this.on = on;
    this.held = new Map();                // key code -> [dx, dy]
    this.stickAt = [0, 0];
    this.heading = [0, 0];
    this.tap = null;
    this.leads = false;                   // true while the mouse or a finger is held and leads
    /** @type {number | undefined} */
    this.holding = undefined;
    addEventListener('keydown', (event) => this.#keyDown(event));
    addEventListener('keyup', (event) => {
      if (event.key === META) this.#letGoOfKeys();
      else if (this.held.delete(event.code)) this.#turn();
    });
    addEventListener('blur', () => this.rest());
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.rest();
    });
    canvas.addEventListener('pointerdown', (event) => {
      if (!event.isPrimary || event.button !== 0) return;
      // So that a release over a panel counts too.
      canvas.setPointerCapture(event.pointerId);
      this.tap = { x: event.clientX, y: event.clientY, at: event.timeStamp };
      this.holding = setTimeout(() => this.#lead(this.tap), HOLD_AFTER);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!event.isPrimary) return;
      const { clientX: x, clientY: y } = event, { tap } = this;
      if (tap === null) {
        if (event.pointerType === 'mouse') canvas.style.cursor = on.canClick(x, y) ? 'pointer' : '';
      } else if (this.leads || Math.hypot(x - tap.x, y - tap.y) > TAP_MOVES) this.#lead({ x, y });
    });
    canvas.addEventListener('pointerup', (event) => {
      const { tap } = this;
      if (tap === null || !event.isPrimary) return;
      this.#letGo();
      if (event.timeStamp - tap.at > TAP_LASTS) return;
      if (Math.hypot(event.clientX - tap.x, event.clientY - tap.y) > TAP_MOVES) return;
      on.tap(event.clientX, event.clientY, event.pointerType === 'mouse');
    });
    canvas.addEventListener('pointercancel', () => this.rest());
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  /** Set the direction of the on-screen stick: dx and dy are each -1, 0 or 1; 0, 0 when it is
   * released. */
  stick(dx, dy) {
    this.stickAt = [dx, dy];
    this.#turn();
  }

  /** Forget everything that is held, and end any walk. */
  rest() {
    this.#letGo();
    this.held.clear();
    this.stickAt = [0, 0];
    this.heading = [0, 0];
    this.on.rest();
  }

  /** Note that the mouse or a finger leads to a place. */
  #lead(place) {
    this.leads = true;
    this.on.lead(place);
  }

  /** Forget the keys that are held. */
  #letGoOfKeys() {
    this.held.clear();
    this.#turn();
  }

  #letGo() {
    clearTimeout(this.holding);
    this.tap = null;
    if (!this.leads) return;
    this.leads = false;
    this.on.lead(null);
  }

  /** Report the held direction again, if there is one. */
  repeat() {
    const [dx, dy] = this.heading;
    if (dx !== 0 || dy !== 0) this.on.heading(dx, dy);
  }

  #keyDown(event) {
    // What fills in forms sends events of this name that are of no key.
    if (event.key === undefined) return;
    if (event.key === META) this.#letGoOfKeys();
    // An extension may send a key to the document, which is no element.
    const typing = event.target?.closest?.('input, textarea, select, [contenteditable]');
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code in KEYS) {
      event.preventDefault();
      if (!event.repeat) {
        this.held.set(event.code, KEYS[event.code]);
        this.#turn();
      }
    } else if (!event.repeat && this.on.key(event)) event.preventDefault();
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
    if (dx !== 0 || dy !== 0) this.#letGo();    // keys win
    this.heading = [dx, dy];
    this.on.heading(dx, dy);
  }
}
