// The colour and the face of a walker, and which walkers are computer players. A player chooses its look, one number;
// for all others, colour and face follow from the id.

import { FIRST_PERSON_ID } from './protocol.js';
import { hash32 } from './terrain.js';

const HALF = 2 ** 32;                      // ids go up to 2^52: their two halves are hashed

// `ink` is the colour of the walker's name on a dark panel: its contrast to #141a24 is 4.5:1 or more.
export const COLOURS = [
  { name: 'raspberry', colour: '#ef476f', shade: '#c92f58', light: '#ff8aa3', ink: '#ff8aa3' },
  { name: 'honey', colour: '#ffd166', shade: '#e0a838', light: '#ffe7a8', ink: '#ffd166' },
  { name: 'mint', colour: '#06d6a0', shade: '#04a87e', light: '#73efcd', ink: '#3fe3b8' },
  { name: 'ocean', colour: '#118ab2', shade: '#0b6a8b', light: '#55b9da', ink: '#62c6ea' },
  { name: 'peach', colour: '#f78c6b', shade: '#d96848', light: '#ffb9a2', ink: '#ffa98c' },
  { name: 'violet', colour: '#9b5de5', shade: '#7840bd', light: '#c29bf4', ink: '#c9a4fb' },
  { name: 'sky', colour: '#00bbf9', shade: '#0092c8', light: '#7adcff', ink: '#5fd3ff' },
  { name: 'lemon', colour: '#fee440', shade: '#dbb913', light: '#fff3a0', ink: '#fee440' },
  { name: 'rose', colour: '#f15bb5', shade: '#cb3a93', light: '#fb9fd6', ink: '#ff93d1' },
  { name: 'leaf', colour: '#80ed99', shade: '#51c470', light: '#bdf8cb', ink: '#80ed99' },
];

export const EARS = ['none', 'pointed', 'round', 'long', 'antennae'];
export const HATS = ['none', 'top', 'cap', 'straw', 'flower', 'woolly'];

/** The hats that leave room for ears. */
export const BARE = ['none', 'flower'];

// A look that was chosen has this bit; below it are four bits for the colour and three each for hat and
// ears. 0 is the look that follows from the id. Old servers pass on what newer pages add.
const CHOSEN = 1024, HAT_FROM = 16, EARS_FROM = 128;

/** Return the look with a colour, a hat and ears, each by its number. */
export function lookOf(colour, hat, ears) {
  return CHOSEN + colour + hat * HAT_FROM + ears * EARS_FROM;
}

/** Return the numbers of colour, hat and ears of a look that was chosen. */
export function partsOf(look) {
  return { colour: (look & 15) % COLOURS.length, hat: (look >> 4 & 7) % HATS.length,
    ears: (look >> 7 & 7) % EARS.length };
}

// By a number of 0 .. 15: most walkers wear nothing, so that the others stand out.
const EARS_BY_ROLL = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4];
const HATS_BY_ROLL = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5];

/** Return whether the walker `id` is a computer player: clockwork, with a key in its back, or a deer. */
export function isComputer(id) {
  return id < FIRST_PERSON_ID;
}

/** Return whether a walker is a deer.
 * @param {{ type?: string }} walker */
export function isDeer({ type }) {
  return type === 'Deer';
}

/** Return how the walker `id` looks: colours as CSS text, ears and hat by name. `look` is what its
 * player chose, or 0. Walkers that look the same have the same `key`. `roll` is a whole number
 * 0 .. 2^32 - 1 made from the id, for what should differ between walkers, such as when they blink. */
export function faceOf(id, look = 0) {
  const high = Math.floor(id / HALF), low = id - high * HALF;
  const roll = hash32(low + hash32(high + 0x51ed));
  const { colour, hat, ears } = look >= CHOSEN ? partsOf(look) : rolled(roll);
  const cheeks = (look >= CHOSEN ? hash32(look) : roll >>> 16) % 3 === 0;
  return {
    ...COLOURS[colour], ears: EARS[ears], hat: HATS[hat], cheeks, roll,
    key: colour + ':' + ears + ':' + hat + ':' + Number(cheeks),
  };
}

function rolled(roll) {
  const hat = HATS_BY_ROLL[(roll >>> 8) & 15];
  const ears = BARE.includes(HATS[hat]) ? EARS_BY_ROLL[(roll >>> 12) & 15] : 0;
  return { colour: roll % COLOURS.length, hat, ears };
}

/** Return a random look. Half of them wear nothing, so that the others stand out. */
export function randomLook() {
  const upTo = (count) => Math.floor(Math.random() * count);
  const hat = upTo(2) === 0 ? 0 : upTo(HATS.length);
  const ears = BARE.includes(HATS[hat]) && upTo(2) === 0 ? upTo(EARS.length) : 0;
  return lookOf(upTo(COLOURS.length), hat, ears);
}
