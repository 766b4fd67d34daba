// The page of the book with those who have found the most gems.

import { element } from '../hud/element.js';

/** Return the place of each of the best, given their numbers of gems: equal numbers share a place.
 * @param {number[]} gems  from the most on */
export function placesOf(gems) {
  return gems.map((each) => gems.indexOf(each) + 1);
}

export class Board {
  constructor() {
    this.list = element('ol', {});
    this.below = element('p', { class: 'below' });
    this.root = element('section', { class: 'board', 'aria-label': 'Most gems' },
      element('h3', {}, 'Most gems'), this.list, this.below);
  }

  /** Show the name of each of the best, the number of gems, and whether it is this page's player.
   * @param {import('./counter.js').Score} score @param {[string, number, boolean][]} top */
  show({ gems, place }, top) {
    const places = placesOf(top.map(([, each]) => each));
    this.list.replaceChildren(...top.map(([name, each, own], i) => rowOf('li', places[i], name, each, own)));
    if (top.length === 0) this.below.replaceChildren('Nobody has found a gem yet.');
    else if (place === 0) this.below.replaceChildren('You have found none yet: walk over one.');
    else if (top.some(([, , own]) => own)) this.below.replaceChildren();
    else this.below.replaceChildren(rowOf('span', place, 'You', gems, true));
  }
}

function rowOf(kind, place, name, gems, own) {
  return element(kind, own ? { class: 'row own', 'aria-current': 'true' } : { class: 'row' },
    element('span', { class: 'rank' }, String(place)), element('bdi', {}, name),
    element('b', {}, String(gems)));
}
