// The colour and the face of a walker, and whether it is a deer, are computed from its id, so that nothing
// about them is sent.

import { hash32 } from './terrain.js';

const HALF = 2 ** 32;                      // ids go up to 2^52: their two halves are hashed

// `ink` is the colour of the walker's name on a dark panel: its contrast to #141a24 is 4.5:1 or more.
const COLOURS = [
  { colour: '#ef476f', shade: '#c92f58', light: '#ff8aa3', ink: '#ff8aa3' },
  { colour: '#ffd166', shade: '#e0a838', light: '#ffe7a8', ink: '#ffd166' },
  { colour: '#06d6a0', shade: '#04a87e', light: '#73efcd', ink: '#3fe3b8' },
  { colour: '#118ab2', shade: '#0b6a8b', light: '#55b9da', ink: '#62c6ea' },
  { colour: '#f78c6b', shade: '#d96848', light: '#ffb9a2', ink: '#ffa98c' },
  { colour: '#9b5de5', shade: '#7840bd', light: '#c29bf4', ink: '#c9a4fb' },
  { colour: '#00bbf9', shade: '#0092c8', light: '#7adcff', ink: '#5fd3ff' },
  { colour: '#fee440', shade: '#dbb913', light: '#fff3a0', ink: '#fee440' },
  { colour: '#f15bb5', shade: '#cb3a93', light: '#fb9fd6', ink: '#ff93d1' },
  { colour: '#80ed99', shade: '#51c470', light: '#bdf8cb', ink: '#80ed99' },
];

export const EARS = ['none', 'pointed', 'round', 'long', 'antennae'];
export const HATS = ['none', 'top', 'cap', 'straw', 'flower', 'woolly'];

// By a number of 0 .. 15: most walkers wear nothing, so that the others stand out.
const EARS_BY_ROLL = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4];
const HATS_BY_ROLL = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5];

// Computer players have the lowest ids: people the first of them, and deer these.
const DEER_FROM = 2 ** 15, DEER_TO = 2 ** 16;

/** Say whether the walker `id` is a deer. */
export function isDeer(id) {
  return id >= DEER_FROM && id < DEER_TO;
}

/** Return how the walker `id` looks: colours as CSS text, ears and hat by name. Walkers that look the
 * same have the same `key`. `roll` is a whole number 0 .. 2^32 - 1 made from the id, for what shall
 * differ between walkers, such as when they blink. */
export function faceOf(id) {
  const high = Math.floor(id / HALF), low = id - high * HALF;
  const roll = hash32(low + hash32(high + 0x51ed));
  const colours = COLOURS[roll % COLOURS.length];
  const hat = HATS_BY_ROLL[(roll >>> 8) & 15];
  const ears = hat === 0 || hat === 4 ? EARS_BY_ROLL[(roll >>> 12) & 15] : 0;
  const cheeks = (roll >>> 16) % 3 === 0;
  return {
    ...colours, ears: EARS[ears], hat: HATS[hat], cheeks, roll,
    key: (roll % COLOURS.length) + ':' + ears + ':' + hat + ':' + Number(cheeks),
  };
}
