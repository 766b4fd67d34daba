// The on-screen stick: one finger, eight directions.

import { element } from './element.js';

const DEAD = 0.24;                        // part of the radius within which the stick is neutral
const AXIS = 0.383;                       // sine of 22.5 degrees: each of the eight directions has
                                          // an eighth of the turn

export class Stick {
  /** `onStick(dx, dy)` is called when the direction changes; dx and dy are each -1, 0 or 1. */
  constructor(onStick) {
    this.onStick = onStick;
    this.pointer = null;
    this.dx = this.dy = 0;
    this.knob = element('i', {});
    this.root = element('div', { class: 'stick', 'aria-hidden': 'true' }, this.knob);
    const { root } = this;
    root.addEventListener('pointerdown', (event) => {
      if (this.pointer !== null) return;
      event.preventDefault();
      this.pointer = event.pointerId;
      root.setPointerCapture(event.pointerId);
      root.classList.add('held');
      this.#move(event);
    });
    root.addEventListener('pointermove', (event) => {
      if (event.pointerId === this.pointer) this.#move(event);
    });
    for (const kind of ['pointerup', 'pointercancel', 'lostpointercapture']) {
      root.addEventListener(kind, (event) => {
        if (event.pointerId === this.pointer) this.release();
      });
    }
    root.addEventListener('contextmenu', (event) => event.preventDefault());
    addEventListener('blur', () => this.release());
  }

  #move(event) {
    const box = this.root.getBoundingClientRect(), radius = box.width / 2;
    let x = (event.clientX - box.left) / radius - 1, y = (event.clientY - box.top) / radius - 1;
    const length = Math.hypot(x, y);
    if (length > 1) {
      x /= length;
      y /= length;
    }
    const reach = radius * 0.56;
    this.knob.style.transform = `translate(${x * reach}px, ${y * reach}px)`;
    const cos = x / Math.hypot(x, y), sin = y / Math.hypot(x, y);
    this.#turn(length < DEAD || Math.abs(cos) < AXIS ? 0 : Math.sign(x),
      length < DEAD || Math.abs(sin) < AXIS ? 0 : Math.sign(y));
  }

  release() {
    if (this.pointer === null) return;
    this.pointer = null;
    this.root.classList.remove('held');
    this.knob.style.transform = '';
    this.#turn(0, 0);
  }

  #turn(dx, dy) {
    if (dx === this.dx && dy === this.dy) return;
    this.dx = dx;
    this.dy = dy;
    this.onStick(dx, dy);
  }
}
