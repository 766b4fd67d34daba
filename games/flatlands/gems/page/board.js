// How many gems the player has found, in a chip that appears with the first one, and the board of those who
// have found the most. Touching the chip opens the board.

import { Chip } from '../hud/chip.js';
import { element, show } from '../hud/element.js';
import { Sheet } from '../hud/sheet.js';

const REFRESH_EVERY = 10000;              // ms between questions while the board is open
const ANNOUNCE_AFTER = 1500;                  // ms without another gem after which the number is read out
const FLIGHT_MS = 750;
const ARC = 90;                           // css px that a gem flies above the straight line
const STEPS = 12;                         // straight pieces of its path
const LANDS_AT = 0.7;                     // the part of its size that a gem has when it lands

/** @typedef {{ gems: number, place: number, of: number }} Score  The number of gems of this page's
 * player, and its place among `of` players: from 1, or 0 if it has none yet. */

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

/** Return what the counter shows: how many gems were found, and how many of them are left to plant, once that is known.
 * @param {number | null} left */
export function countOf(gems, left) {
  return left === null ? String(gems) : `${gems} · ${left} to plant`;
}

export class Board extends Sheet {
  /** `ask()` asks for the board. */
  constructor(ask) {
    super('Board', 'Most gems');
    this.ask = ask;
    /** @type {Score} */
    this.score = { gems: 0, place: 0, of: 0 };
    /** @type {number | null} How many gems are left to plant, once that is known. */
    this.left = null;
    /** @type {number | undefined} */
    this.refreshing = undefined;
    /** @type {number | undefined} */
    this.announcing = undefined;
    this.counter = new Chip('gem', 'Board of gems (B)', () => this.toggle(), '#8fe0ff');
    const counter = this.counter.root;
    counter.classList.add('gems');
    counter.setAttribute('aria-expanded', 'false');
    // Only the result is read out, not each gem of a row of them.
    this.liveRegion = element('span', { class: 'unseen', role: 'status' });
    this.list = element('ol', {});
    this.below = element('p', { class: 'below' });
    this.root.append(this.list, this.below);
    this.onTurn = (open) => {
      counter.setAttribute('aria-expanded', String(open));
      clearInterval(this.refreshing);
      if (!open) return;
      this.ask();
      this.refreshing = setInterval(this.ask, REFRESH_EVERY);
    };
    counter.addEventListener('animationend', () => counter.classList.remove('won'));
  }

  /** Show how many gems the player has.
   * @param {Score} score */
  count(score) {
    this.score = score;
    const more = `${this.left === null ? '' : ':'} ${this.#words()}. Open the board.`;
    this.counter.show(score.gems > 0 ? countOf(score.gems, this.left) : null, more);
  }

  /** Show how many gems are left to plant, at once unless one `flies` to the counter, which then counts it. */
  have(gems, flies) {
    this.left = gems;
    if (!flies) this.count(this.score);
  }

  /** Count one more gem of the player, once its picture, `side` css px large, has flown from a place on
   * the page to the counter. null means that nothing flies.
   * @param {Score} score
   * @param {{ canvas: HTMLCanvasElement, side: number, x: number, y: number } | null} flight */
  won(score, flight) {
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => {
      this.liveRegion.textContent = `${this.score.gems} ${this.#words()}.`;
    }, FLIGHT_MS + ANNOUNCE_AFTER);
    const land = () => {
      // Several may fly at once: one that lands late must not lower the count.
      if (score.gems > this.score.gems) this.count(score);
      this.counter.root.classList.add('won');
      if (this.isOpen) this.ask();
    };
    if (flight === null) land();
    else this.#fly(flight, land);
  }

  /** @param {{ canvas: HTMLCanvasElement, side: number, x: number, y: number }} flight
   * @param {() => void} land */
  #fly({ canvas, side, x, y }, land) {
    show(true, this.counter.root);
    const { left, top, width, height } = this.counter.sign.getBoundingClientRect();
    const toX = left + width / 2, toY = top + height / 2;
    canvas.className = 'flight';
    canvas.style.width = canvas.style.height = side + 'px';
    const frames = Array.from({ length: STEPS + 1 }, (_, i) => {
      const part = i / STEPS, up = ARC * 4 * part * (1 - part);
      const atX = x + (toX - x) * part - side / 2, atY = y + (toY - y) * part - up - side / 2;
      const size = 1 + 0.5 * Math.sin(part * Math.PI) + (LANDS_AT - 1) * part;
      return { transform: `translate(${atX}px, ${atY}px) scale(${size})` };
    });
    document.getElementById('hud')?.append(canvas);
    const flight = canvas.animate(frames, { duration: FLIGHT_MS,
      easing: 'cubic-bezier(0.35, 0, 0.55, 1)' });
    flight.onfinish = () => {
      canvas.remove();
      land();
    };
  }

  /** Show the board: the name of each of the best, the number of gems, and whether it is this page's player.
   * @param {Score} score @param {[string, number, boolean][]} top */
  show(score, top) {
    this.count(score);
    const places = placesOf(top.map(([, gems]) => gems));
    this.list.replaceChildren(...top.map(([name, gems, own], i) =>
      rowOf('li', places[i], name, gems, own)));
    const { gems, place } = score;
    if (top.length === 0) this.below.replaceChildren('Nobody has found a gem yet.');
    else if (place === 0) this.below.replaceChildren('You have found none yet: walk over one.');
    else if (top.some(([, , own]) => own)) this.below.replaceChildren();
    else this.below.replaceChildren(rowOf('span', place, 'You', gems, true));
  }

  #words() {
    const { gems, place, of } = this.score;
    return `${gems === 1 ? 'gem' : 'gems'}${place === 0 ? '' : `, ${ordinal(place)} of ${of}`}`;
  }
}

function rowOf(kind, place, name, gems, own) {
  return element(kind, own ? { class: 'row own', 'aria-current': 'true' } : { class: 'row' },
    element('span', { class: 'rank' }, String(place)), element('bdi', {}, name),
    element('b', {}, String(gems)));
}
