// How many gems the player has found, in a chip that appears with the first one, to which each new one flies. A click
// on it opens what can be planted for them.

import { Chip } from '../hud/chip.js';
import { element, show } from '../hud/element.js';

const ANNOUNCE_AFTER = 1500;              // ms without another gem after which the number is read out
const FLIGHT_MS = 400;
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

/** Return what the counter shows: how many gems were found, and how many of them are left to plant, once that is known.
 * @param {number | null} left */
export function countOf(gems, left) {
  return left === null ? String(gems) : `${gems} · ${left} to plant`;
}

export class Counter {
  /** @param {() => void} onClick */
  constructor(onClick) {
    /** @type {Score} */
    this.score = { gems: 0, place: 0, of: 0 };
    /** @type {number | null} How many gems are left to plant, once that is known. */
    this.left = null;
    /** @type {number | undefined} */
    this.announcing = undefined;
    this.chip = new Chip('gem', 'Plant with a gem (P)', onClick, '#8fe0ff');
    this.chip.root.classList.add('gems');
    this.chip.root.addEventListener('animationend', () => this.chip.root.classList.remove('won'));
    // Only the result is read out, not each gem of a row of them.
    this.liveRegion = element('span', { class: 'unseen', role: 'status' });
  }

  /** Show how many gems the player has.
   * @param {Score} score */
  count(score) {
    this.score = score;
    const more = `${this.left === null ? '' : ':'} ${this.#words()}. Plant with a gem.`;
    this.chip.show(score.gems > 0 ? countOf(score.gems, this.left) : null, more);
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
      this.chip.root.classList.add('won');
    };
    if (flight === null) land();
    else this.#fly(flight, land);
  }

  /** @param {{ canvas: HTMLCanvasElement, side: number, x: number, y: number }} flight
   * @param {() => void} land */
  #fly({ canvas, side, x, y }, land) {
    show(true, this.chip.root);
    const { left, top, width, height } = this.chip.sign.getBoundingClientRect();
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

  #words() {
    const { gems, place, of } = this.score;
    return `${gems === 1 ? 'gem' : 'gems'}${place === 0 ? '' : `, ${ordinal(place)} of ${of}`}`;
  }
}
