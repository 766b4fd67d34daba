// The note about a race: its clock, and how it ended.

import { element, icon, show } from '../hud/element.js';

/** What the note shows: the clock, a text, the word on its button or '', and whether the race can be stopped.
 * @typedef {{ clock: string, text: string, button: string, stop: boolean }} Shown */

export class RaceNote {
  /** `onRace()` and `onStop()` are called when the player wants to race, or no longer to. */
  constructor(onRace, onStop) {
    this.shown = '';                      // what it shows, to change the page only if needed
    // It changes all the time, so screen readers do not read it out.
    this.clock = element('b', { role: 'timer', 'aria-live': 'off' });
    this.text = element('bdi', {});
    this.word = element('span', {});
    this.button = element('button', { type: 'button' }, this.word, element('kbd', { class: 'fine' }, 'R'));
    this.close = element('button', { type: 'button', class: 'close', 'aria-label': 'Stop the race', title: 'Stop the race (Escape)' },
      icon('close'));
    this.root = element('div', { class: 'race note panel', hidden: true }, this.clock, this.text, this.button, this.close);
    this.button.addEventListener('click', onRace);
    this.close.addEventListener('click', onStop);
  }

  /** @param {Shown | null} what  null hides the note */
  show(what) {
    const { clock, text, button, stop } = what ?? { clock: '', text: '', button: '', stop: false };
    if (this.clock.textContent !== clock) this.clock.textContent = clock;
    const shown = [what !== null, text, button, stop].join('\n');
    if (shown === this.shown) return;
    this.shown = shown;
    this.text.textContent = text;
    this.word.textContent = button;
    show(button !== '', this.button);
    show(stop, this.close);
    show(what !== null, this.root);
  }
}
