// How many gems the player has found, in a counter that is always in view, and the board of those who
// have found the most, and who kept the ember for longest. Touching the counter opens the board.

import { timeOf } from '../ember.js';
import { element, icon, show } from './element.js';

const REFRESH_EVERY = 10000;              // ms between questions while the board is open
const TELL_AFTER = 1500;                  // ms without another gem, after which it is read out
const FLIGHT_MS = 750;
const ARC = 90;                           // css px that a gem flies above the straight way
const STEPS = 12;                         // straight pieces of that way
const LANDS_AT = 0.7;                     // the part of its size that a gem has when it lands

/** @typedef {{ gems: number, place: number, of: number }} Score  The number of gems of the own player,
 * and its place among `of` players: from 1, or 0 if it has none yet. */

/** Return a place in words: 1st, 2nd, 3rd, 4th ... */
export function ordinal(place) {
  const last = place % 100 >= 11 && place % 100 <= 13 ? 0 : place % 10;
  return place + (['th', 'st', 'nd', 'rd'][last] ?? 'th');
}

/** Return the place of each of the best, given their numbers of gems: equal numbers share a place.
 * @param {number[]} gems  from the most on */
export function placesOf(gems) {
  return gems.map((each) => gems.indexOf(each) + 1);
}

export class Board {
  /** `ask()` asks for the board; `giveFocusBack` gives the focus to the world. */
  constructor(ask, giveFocusBack) {
    this.ask = ask;
    this.giveFocusBack = giveFocusBack;
    /** @type {Score} */
    this.score = { gems: 0, place: 0, of: 0 };
    /** @type {number | undefined} */
    this.refreshing = undefined;
    /** @type {number | undefined} */
    this.telling = undefined;
    this.sign = icon('gem');
    this.number = element('b', {}, '0');
    this.place = element('span', { class: 'place' });
    this.counter = element('button', { type: 'button', class: 'gems panel', hidden: true,
      'aria-expanded': 'false', title: 'Board of gems (B)' },
    this.sign, element('span', { class: 'word' }, 'Gems '), this.number, this.place);
    // Only what the player found is read out, and not each gem of a row of them.
    this.told = element('span', { class: 'unseen', role: 'status' });
    this.list = element('ol', {});
    this.below = element('p', { class: 'below' });
    this.times = element('ul', {});
    this.longest = element('div', { class: 'longest', hidden: true },
      element('h3', {}, 'Longest with the ember'), this.times);
    const close = element('button', { type: 'button', class: 'close', 'aria-label': 'Close' },
      icon('close'));
    this.root = element('section', { class: 'board panel', role: 'dialog', 'aria-label': 'Board',
      tabindex: '-1', hidden: true }, element('h2', {}, 'Most gems'), close, this.list, this.below,
    this.longest);
    this.counter.addEventListener('click', () => this.toggle());
    this.counter.addEventListener('animationend', () => this.counter.classList.remove('won'));
    close.addEventListener('click', () => this.close());
  }

  get isOpen() {
    return !this.root.hidden;
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  open() {
    show(true, this.root);
    this.counter.setAttribute('aria-expanded', 'true');
    // Screen readers then read the board; the keys that walk still do.
    this.root.focus({ preventScroll: true });
    this.ask();
    this.refreshing = setInterval(this.ask, REFRESH_EVERY);
  }

  close() {
    if (!this.isOpen) return;
    clearInterval(this.refreshing);
    show(false, this.root);
    this.counter.setAttribute('aria-expanded', 'false');
    this.giveFocusBack();
  }

  /** Show how many gems the own player has.
   * @param {Score} score */
  count(score) {
    this.score = score;
    const { gems, place, of } = score;
    this.number.textContent = String(gems);
    this.place.textContent = place === 0 ? '' : `, ${ordinal(place)} of ${of}`;
    this.counter.setAttribute('aria-label', `${this.#sentence()} Open the board.`);
  }

  /** The own player has one more gem: show it once the picture of it, in css px `side`, has flown from
   * a place on the page to the counter. null means that nothing shall fly.
   * @param {Score} score
   * @param {{ canvas: HTMLCanvasElement, side: number, x: number, y: number } | null} flight */
  won(score, flight) {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      this.told.textContent = this.#sentence();
    }, FLIGHT_MS + TELL_AFTER);
    const land = () => {
      // Several may fly at once, and an earlier one must not count down.
      if (score.gems > this.score.gems) this.count(score);
      this.counter.classList.add('won');
      if (this.isOpen) this.ask();
    };
    if (flight === null) land();
    else this.#fly(flight, land);
  }

  /** @param {{ canvas: HTMLCanvasElement, side: number, x: number, y: number }} flight
   * @param {() => void} land */
  #fly({ canvas, side, x, y }, land) {
    const { left, top, width, height } = this.sign.getBoundingClientRect();
    const toX = left + width / 2, toY = top + height / 2;
    canvas.className = 'flight';
    canvas.style.width = canvas.style.height = side + 'px';
    const frames = Array.from({ length: STEPS + 1 }, (_, i) => {
      const part = i / STEPS, up = ARC * 4 * part * (1 - part);
      const atX = x + (toX - x) * part - side / 2, atY = y + (toY - y) * part - up - side / 2;
      const size = 1 + 0.5 * Math.sin(part * Math.PI) + (LANDS_AT - 1) * part;
      return { transform: `translate(${atX}px, ${atY}px) scale(${size})` };
    });
    this.counter.before(canvas);
    const flight = canvas.animate(frames, { duration: FLIGHT_MS,
      easing: 'cubic-bezier(0.35, 0, 0.55, 1)' });
    flight.onfinish = () => {
      canvas.remove();
      land();
    };
  }

  /** Show the board: of each of the best the name, the number of gems, and whether it is the own player;
   * of who kept the ember for longest, today and ever, the same with ms, or null.
   * @param {Score} score @param {[string, number, boolean][]} top
   * @param {([string, number, boolean] | null)[]} longest */
  show(score, top, longest) {
    this.count(score);
    this.times.replaceChildren(...longest.flatMap((kept, i) => kept === null ? [] :
      [rowOf('li', i === 0 ? 'today' : 'ever', kept[0], timeOf(kept[1]), kept[2])]));
    show(longest.some((kept) => kept !== null), this.longest);
    const places = placesOf(top.map(([, gems]) => gems));
    this.list.replaceChildren(...top.map(([name, gems, own], i) =>
      rowOf('li', places[i], name, gems, own)));
    const { gems, place } = score;
    if (top.length === 0) this.below.replaceChildren('Nobody has found a gem yet.');
    else if (place === 0) this.below.replaceChildren('You have found none yet: walk over one.');
    else if (top.some(([, , own]) => own)) this.below.replaceChildren();
    else this.below.replaceChildren(rowOf('span', place, 'You', gems, true));
  }

  #sentence() {
    return `Gems ${this.number.textContent}${this.place.textContent}.`;
  }
}

function rowOf(kind, place, name, gems, own) {
  return element(kind, own ? { class: 'row own', 'aria-current': 'true' } : { class: 'row' },
    element('span', { class: 'rank' }, String(place)), element('bdi', {}, name),
    element('b', {}, String(gems)));
}
