// A walker's colour and face come from its id, so they cost no bytes on the wire.

import { hash32 } from './terrain.js';

const HALF = 2 ** 32;                      // ids are whole numbers up to 2^52: hashed in two halves

// `ink` is the colour for the walker's name on a dark panel: 4.5:1 on #141a24 or better.
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

// Rolls of 0..15: more than half wear nothing, so that the rest stand out.
const EARS_BY_ROLL = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4];
const HATS_BY_ROLL = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5];

/** The look of the walker `id`: colours as CSS text, ears and hat by name; `key` is the same for
 * the same look, `roll` a whole number 0 .. 2^32 - 1 of the walker's own for phases and such. */
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
