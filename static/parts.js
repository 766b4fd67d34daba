// The modules of the parts of a game's page. A server puts another file in place of this one if the game has such
// parts: see docs/games.md.

/** @type {{ install: (game: any) => void }[]} In the order of their names. */
export const PARTS = [];
