// The props of landmarks, by kind. The page's landmarks.js decides where they stand, and moving.js draws their
// moving parts. A landmark may consist of several props, so that players can walk between them: `x` and `y` of
// each are tiles from the landmark's own place to its feet.

import { BUILDINGS } from './buildings.js';
import { WONDERS } from './wonders.js';

/** @type {Record<string, import('./props.js').Part[]>} */
export const LANDMARKS = Object.fromEntries(Object.entries({ ...BUILDINGS, ...WONDERS }).map(([kind, parts]) =>
  [kind, parts.map((part, i) => ({ x: 0, y: 0, ...part, name: kind + (i === 0 ? '' : i) }))]));
