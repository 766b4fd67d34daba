// Ground that a function of the game makes: its pieces, which the page asks of the server and the browser
// keeps. It draws nothing.

export const PIECE = 64, BARRED = 128;    // tiles at each side; the lowest value that bars players
/** The `ground` of a welcome to a world with such ground. */
export const MADE = 1;

const AROUND = 48;                        // tiles around a place whose pieces are asked for
const AGAIN = 3000;                       // ms after which a piece that did not come is asked for again
const KEPT = 256;                         // pieces

export class Chunks {
  /** `stamp` is that of the ground, as the kinds of a welcome have it, and `top` the address of the page's
   * folder.
   * @param {string} stamp @param {string} top */
  constructor(stamp, top = new URL('.', location.href.split('#')[0]).href) {
    this.stamp = stamp;
    this.top = top;
    /** @type {Map<string, Uint8Array | null>} By 'column:row'; null while a piece is on its way. */
    this.pieces = new Map();
  }

  /** Ask for the pieces near a place, in tiles, that have not been asked for. */
  look(x, y) {
    for (let col = Math.floor((x - AROUND) / PIECE); col <= Math.floor((x + AROUND) / PIECE); col++) {
      for (let row = Math.floor((y - AROUND) / PIECE); row <= Math.floor((y + AROUND) / PIECE); row++) {
        if (!this.pieces.has(`${col}:${row}`)) this.#ask(col, row);
      }
    }
  }

  /** Return the value of the tile at a place, or null if it is not known yet. */
  value(atX, atY) {
    const x = Math.floor(atX), y = Math.floor(atY);
    const col = Math.floor(x / PIECE), row = Math.floor(y / PIECE);
    const piece = this.pieces.get(`${col}:${row}`) ?? null;
    return piece === null ? null : piece[(y - row * PIECE) * PIECE + x - col * PIECE];
  }

  /** Return whether a tile bars players, as far as that is known. */
  blocked(x, y) {
    return (this.value(x, y) ?? 0) >= BARRED;
  }

  async #ask(col, row) {
    const key = `${col}:${row}`;
    this.pieces.set(key, null);
    for (const old of this.pieces.keys()) {
      if (this.pieces.size <= KEPT) break;
      this.pieces.delete(old);
    }
    try {
      const answer = await fetch(new URL(`v/${this.stamp}/ground/${col}/${row}`, this.top));
      if (!answer.ok) throw new TypeError(answer.statusText);
      this.pieces.set(key, new Uint8Array(await answer.arrayBuffer()));
    } catch (error) {
      // No connection, or a server of another version: it is tried again.
      setTimeout(() => this.pieces.delete(key), AGAIN);
      if (!(error instanceof TypeError)) throw error;
    }
  }
}
