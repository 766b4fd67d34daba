// A list in the order of numbers. Parts of the game add to such lists, and none needs to know what others add.

/** @template T */
export class Ordered {
  constructor() {
    /** @type {{ at: number, item: T }[]} */
    this.rows = [];
    /** @type {T[]} From the lowest number on; equal ones in the order in which they were added. */
    this.all = [];
  }

  /** @param {number} at  its place: some number @param {T} item */
  add(at, item) {
    const before = this.rows.findIndex((row) => row.at > at);
    this.rows.splice(before < 0 ? this.rows.length : before, 0, { at, item });
    this.all = this.rows.map((row) => row.item);
  }

  /** Return the first answer that is not null when each is asked in turn, or null.
   * @template A @param {(item: T) => A | null} ask @returns {A | null} */
  first(ask) {
    for (const item of this.all) {
      const answer = ask(item);
      if (answer !== null) return answer;
    }
    return null;
  }
}
