// The kinds of things that lie in the world: their pictures, and what a player does about them with a key
// and a button. Only main.js knows this module.

import { Gems } from './view/gems.js';

/** @type {import('./view/lying.js').Kind[]} */
export const KINDS = [
  { type: 'Gem', Pictures: Gems },
];
