// What can be heard of the place where the player is: fire, water, crickets by night, and wind on heights, the louder the
// nearer. It never touches the page.

import { hearthOf, PLAZA_HEARTH } from './landmarks.js';
import { DEEP, GRASS, PLATEAU, WATER, WOOD } from './terrain.js';

const FIRE_WITHIN = 12, WATER_WITHIN = 12;      // tiles
const RAYS = 8, STEP = 2;                 // in so many directions, every so many tiles, water is looked for
const DARK = 0.5;                         // the part of the light that the night takes, from which crickets are as loud as they get

/** How loud each is, from 0 to 1. @typedef {{ fire: number, water: number, crickets: number, wind: number }} Levels */

/** Silence. @type {Levels} */
export const SILENCE = { fire: 0, water: 0, crickets: 0, wind: 0 };

/** @param {import('./state.js').State} state @returns {Levels} */
export function levelsAt({ here, marks, burns, terrain, sky }) {
  const away = ({ x, y }) => Math.hypot(x + 0.5 - here.x, y + 0.5 - here.y);
  const fires = [PLAZA_HEARTH, ...marks.filter((mark) => burns(mark)).map(hearthOf)].map(away);
  const kind = terrain.kind(Math.floor(here.x), Math.floor(here.y)), night = Math.min(sky.dark / DARK, 1);
  return {
    fire: nearness(Math.min(...fires), FIRE_WITHIN),
    water: nearness(waterFrom(terrain, here), WATER_WITHIN),
    crickets: kind === GRASS || kind === WOOD ? night : night / 3,
    wind: kind === PLATEAU ? 1 : 0,
  };
}

/** Return how loud something is, from 0 to 1, that is `away` tiles away and can be heard `within` so many. */
function nearness(away, within) {
  return Math.max(1 - away / within, 0) ** 2;
}

/** Return how many tiles away water is, about; Infinity if none is near. */
function waterFrom(terrain, { x, y }) {
  for (let away = 0; away < WATER_WITHIN; away += STEP) {
    for (let ray = 0; ray < RAYS; ray++) {
      const turn = ray * 2 * Math.PI / RAYS;
      const kind = terrain.kind(Math.floor(x + away * Math.cos(turn)), Math.floor(y + away * Math.sin(turn)));
      if (kind === WATER || kind === DEEP) return away;
    }
  }
  return Infinity;
}
