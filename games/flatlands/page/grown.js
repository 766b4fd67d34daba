// What changes the looks of the ground, tile by tile, and which tiles are to be painted again. Parts of the game say what
// that is. It never touches the page.

const MOST = 4000;                        // changes that are kept
const APART = 4;                          // tiles between those that stand for the change of a whole square

/** What people have left on tiles: `any` says whether there is anything, `worn` how worn a tile is (0, 1 if that can be
 * seen, or 2 if it is a road), and `prop` the number of the prop that somebody has put there, or 0.
 * @typedef {{ any: () => boolean, worn: (x: number, y: number) => number, prop: (x: number, y: number) => number }} Looks */

export class Grown {
  constructor() {
    /** @type {{ x: number, y: number }[]} The tiles whose looks have changed, the latest last, and */
    this.changes = [];
    this.forgotten = 0;                   // how many came before these
    /** @type {Looks | null} */
    this.looks = null;
    /** @type {(x: number, y: number) => string} Returns '' for a tile, or, where flowers are strewn over the ground, what
     * decides how. */
    this.blooming = () => '';
  }

  /** Note that a tile looks different now. */
  change(x, y) {
    const { changes } = this;
    changes.push({ x, y });
    if (changes.length > MOST) this.forgotten += changes.splice(0, changes.length - MOST / 2).length;
  }

  /** Note that a whole square, 'col:row', looks different now. `side` is its length in tiles. */
  changeSquare(key, side) {
    const [col, row] = key.split(':').map(Number);
    for (let y = 0; y < side; y += APART) {
      for (let x = 0; x < side; x += APART) this.change(col * side + x, row * side + y);
    }
  }
}
