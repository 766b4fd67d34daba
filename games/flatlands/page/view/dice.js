// Random-looking numbers that are the same on every page: they are made from a tile's position or from
// an id, never by Math.random.

import { hash32 } from '../terrain.js';

/** Return a number 0 .. 2^32 - 1 for the tile (x, y); another `salt` gives another number. */
export function rollAt(x, y, salt) {
  return hash32(hash32(Math.imul(x, 0x9e3779b1) + salt) + Math.imul(y, 0x85ebca77));
}

/** Return a number 0 .. 2^32 - 1 for an id that is a text. */
export function rollOf(id) {
  let roll = 0;
  for (let i = 0; i < id.length; i++) roll = hash32(roll + id.charCodeAt(i));
  return roll;
}

/** Return a fraction 0 .. 1 made from eight bits of a roll, from bit `shift` (0 .. 24) on. */
export function part(roll, shift) {
  return ((roll >>> shift) & 255) / 255;
}
