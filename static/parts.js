// The modules of the parts of a game's page. A server puts another file in place of this one if the game has such
// parts: see docs/games/page.md.

/** @type {Record<string, any>} By the names of the parts. */
export const PARTS = {};
