// The kinds of things that lie in the world: their pictures, and what a player does about them with a key
// and a button. A new kind gets an entry here. Only main.js knows this module.

import { Wreaths } from './view/blooms.js';
import { Cairns } from './view/cairns.js';
import { Gems } from './view/gems.js';
import { Halves, Twins } from './view/twins.js';

/**
 * What a player may do: the letter of its key, the words and the picture (ICONS in hud/element.js, or a path)
 * of its button, and its line in the help.
 * @typedef {{ letter: string, sign: string, label: string, help: string,
 * act: (controls: import('./controls.js').Controls) => void }} Deed
 */

/**
 * A kind of thing. `type` is the name of its class at the server. One of its `Pictures` is made for each size
 * of a tile in device px.
 * @typedef {{ type: string, Pictures: new (tile: number) => import('./view/lying.js').Pictures,
 * deed?: Deed }} Kind
 */

/** @type {Kind[]} */
export const KINDS = [
  { type: 'Gem', Pictures: Gems },
  { type: 'Twin', Pictures: Twins },
  { type: 'Half', Pictures: Halves },
  { type: 'Bloom', Pictures: Wreaths },
  {
    type: 'Cairn',
    Pictures: Cairns,
    deed: {
      letter: 'c',
      sign: 'cairn',
      label: 'Leave a cairn',
      help: 'a heap of stones with one line',
      act: (controls) => controls.openCairn(),
    },
  },
];
