// Chance that is the same for everyone: numbers from a tile's place, never Math.random.

import { hash32 } from '../terrain.js';

/** 0 .. 2^32 - 1 for the tile (x, y); another `salt`, another number. */
export function rollAt(x, y, salt) {
  return hash32(hash32(Math.imul(x, 0x9e3779b1) + salt) + Math.imul(y, 0x85ebca77));
}

/** A fraction 0 .. 1 out of eight bits of a roll, from bit `shift` (0 .. 24) on. */
export function part(roll, shift) {
  return ((roll >>> shift) & 255) / 255;
}
