// Chooses a look: shows the player's face, which turns, and beside it colour, hat and ears, which buttons
// or arrow keys change.

import { COLOURS, EARS, HATS, lookOf, partsOf } from '../faces.js';
import { element, icon } from './element.js';

const WIDTH = 92, HEIGHT = 112;           // css px of the face
const EAR_NAMES = { none: 'no ears', pointed: 'pointed ears', round: 'round ears', long: 'long ears',
  antennae: 'antennae' };
const HAT_NAMES = { none: 'no hat', top: 'top hat', cap: 'cap', straw: 'straw hat', flower: 'a flower',
  woolly: 'woolly hat' };
const BACK = ['ArrowLeft', 'ArrowUp'], ON = ['ArrowRight', 'ArrowDown'];

export class Looks {
  /** `portraitOn(canvas)` returns what draws a look on a canvas by draw(look, now, still). */
  constructor(portraitOn) {
    this.portraitOn = portraitOn;
    this.portrait = null;
    this.canvas = element('canvas', { width: WIDTH, height: HEIGHT, role: 'img' });
    this.still = matchMedia('(prefers-reduced-motion: reduce)');
    this.parts = { colour: 0, hat: 0, ears: 0 };
    /** @type {(() => void)[]} */
    this.shows = [];
    this.root = element('div', { class: 'looks' }, this.canvas, element('div', { class: 'steps' },
      this.#stepper('Colour', 'colour', COLOURS.map(({ name }) => name)),
      this.#stepper('Hat', 'hat', HATS.map((hat) => HAT_NAMES[hat])),
      this.#stepper('Ears', 'ears', EARS.map((ears) => EAR_NAMES[ears]))));
  }

  get look() {
    const { colour, hat, ears } = this.parts;
    return lookOf(colour, hat, ears);
  }

  set look(look) {
    this.parts = partsOf(look);
    this.#show();
  }

  /** Draw the face again and again, as long as it can be seen. */
  turn() {
    if (this.turning) return;
    this.turning = true;
    this.portrait ??= this.portraitOn(this.canvas);
    const frame = (now) => {
      this.turning = this.canvas.isConnected && this.canvas.offsetParent !== null;
      if (!this.turning) return;
      this.portrait.draw(this.look, now, this.still.matches);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  #show() {
    for (const show of this.shows) show();
    const { colour, hat, ears } = this.parts;
    this.canvas.setAttribute('aria-label', `Your face: ${COLOURS[colour].name}, `
      + `${HAT_NAMES[HATS[hat]]}, ${EAR_NAMES[EARS[ears]]}`);
  }

  #stepper(label, part, names) {
    const shown = element('output', { 'aria-live': 'polite' });
    const step = (by) => {
      this.parts[part] = (this.parts[part] + by + names.length) % names.length;
      this.#show();
    };
    const button = (sign, word, by) => {
      const made = element('button', { type: 'button', 'aria-label': `${word} ${label.toLowerCase()}` },
        icon(sign));
      made.addEventListener('click', () => step(by));
      return made;
    };
    this.shows.push(() => {
      shown.textContent = names[this.parts[part]];
    });
    const root = element('div', { class: 'step', role: 'group', 'aria-label': label },
      button('back', 'Previous', -1), shown, button('on', 'Next', 1));
    root.addEventListener('keydown', (event) => {
      const by = BACK.includes(event.key) ? -1 : ON.includes(event.key) ? 1 : 0;
      if (by === 0) return;
      // In the world these keys walk.
      event.stopPropagation();
      event.preventDefault();
      step(by);
    });
    return root;
  }
}
