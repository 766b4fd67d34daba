// The panels of the map of everybody: the line on top, what is under the pointer, and the buttons.

import { hueOf } from '../atlas.js';
import { element, icon, show } from './element.js';

const SERVERS_SHOWN = 8;                  // in the legend

export class AtlasPanel {
  /** `on` has { zoom(factor), whole(), close(), unaim() }. With `joins` there is a link to join the world instead
   * of a button to close. */
  constructor(on, joins) {
    this.line = element('p', { class: 'atlas-line panel', role: 'status', 'aria-live': 'off',
      hidden: true });
    this.tip = element('p', { class: 'atlas-tip panel', hidden: true });
    this.legend = element('aside', { class: 'atlas-legend panel', 'aria-label': 'Key to the map',
      hidden: true });
    const button = (sign, label, act) => {
      const made = element('button', { type: 'button', 'aria-label': label, title: label }, icon(sign));
      made.addEventListener('click', act);
      return made;
    };
    // Links are relative to the base of the document, which is a folder of files.
    const leave = joins
      ? element('a', { href: new URL('.', location.href).href, class: 'play' }, 'Walk in')
      : button('close', 'Close the map (O or Escape)', on.close);
    this.goal = element('span', {});
    this.aim = element('p', { class: 'atlas-aim panel', hidden: true }, icon('flag'), this.goal,
      button('close', 'Remove the flag', on.unaim));
    this.root = element('section', { class: joins ? 'atlas live' : 'atlas', hidden: true,
      'aria-label': 'Map of everybody' }, this.line, this.legend,
    element('div', { class: 'atlas-foot' }, this.tip, this.aim), element('nav', { class: 'atlas-zoom panel', 'aria-label': 'Zoom' },
      button('plus', 'Zoom in (+)', () => on.zoom(2)), button('minus', 'Zoom out (−)', () => on.zoom(0.5)),
      button('whole', 'Show everybody (0)', on.whole)),
    element('div', { class: 'atlas-leave' }, leave));
    this.signs = '';
  }

  /** Show the panels, or hide them. */
  open(is) {
    show(is, this.root);
    if (!is) this.describe(null, null);
  }

  /** Show how many there are, by a line, and the colours of `servers` servers; `clockwork` is true if
   * some are computer players. */
  count(line, servers, clockwork) {
    show(true, this.line);
    show(true, this.legend);
    if (this.line.textContent !== line) this.line.textContent = line;
    const signs = servers + ' ' + clockwork;
    if (signs === this.signs) return;
    this.signs = signs;
    const item = (style, text) => {
      const sign = element('i', { class: 'lamp' });
      sign.style.setProperty('--lamp', style);
      return element('li', {}, sign, text);
    };
    const some = Math.min(servers, SERVERS_SHOWN);
    this.legend.replaceChildren(element('ul', {}, item('#ffffff', 'people'),
      ...(clockwork ? [item('#e8c07a', 'clockwork only')] : []),
      ...Array.from({ length: some }, (_, node) => item(hueOf(node), `server ${node + 1}`)),
      ...(servers > some ? [element('li', {}, `and ${servers - some} more`)] : [])));
  }

  /** Say what is under the pointer, or in the middle, and where the arrow leads; null hides it.
   * @param {string | null} text @param {string | null} goal */
  describe(text, goal) {
    show(text !== null, this.tip);
    show(goal !== null, this.aim);
    if (text !== null && this.tip.textContent !== text) this.tip.textContent = text;
    if (goal !== null && this.goal.textContent !== goal) this.goal.textContent = goal;
  }
}
