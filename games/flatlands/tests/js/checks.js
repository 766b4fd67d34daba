// What the golden vectors of Flatlands hold its page's modules to. Each check takes the vectors of its
// name and returns those that are wrong.

import { Terrain } from '../../../../static/terrain.js';
import { placeAt, wayOf } from '../../echoes/page/echoes.js';
import { Landmarks } from '../../page/landmarks.js';
import { standingIn } from './standing.js';

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export function landmarks(vectors) {
  return vectors.filter(({ seed, part, tile, name }) => {
    const mark = new Landmarks(new Terrain(seed)).of(...part);
    return !same([mark && [mark.x, mark.y], mark && mark.name], [tile, name]);
  });
}

export function posts(vectors) {
  return vectors.filter(({ seed, plot, courses }) => {
    const land = new Landmarks(new Terrain(seed)), post = land.post(...plot);
    const got = [null, null, null, null];
    for (const { from, to, side } of post === null ? [] : land.courses(post)) {
      got[side] = [[from.x, from.y], [to.x, to.y]];
    }
    return !same(got, courses);
  });
}

/** Runs, as they are kept: an echo is never more than a tenth of a tile from where the run was. */
export function runs(vectors) {
  return vectors.filter(({ post: [x, y], text, points }) => {
    const way = wayOf(text, { x, y, i: 0, j: 0 });
    return way[0][0] !== 0 || way.at(-1)[0] !== points.at(-1)[0] || points.some(([ms, px, py]) => {
      const at = placeAt(way, ms);
      return Math.max(Math.abs(at.x - px / 1024), Math.abs(at.y - py / 1024)) > 0.1;
    });
  });
}

export function standing(vectors) {
  return vectors.filter(({ seed, chunk, standing: expected }) =>
    !same(standingIn(seed, ...chunk), expected));
}
