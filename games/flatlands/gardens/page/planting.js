// What this page's player plants: on the tile in front of it, while it chooses what. The server decides; this module
// asks, and says what becomes of it.

/** @typedef {import('../state.js').State} State */

const STAYS = 10;                         // tiles from where the sheet was opened, beyond which it closes
const ASK_EVERY = 1200;                   // ms between two questions about the gems that are left

export class Planting {
  /** @param {State} state @param {import('../client.js').Client} client @param {import('./sheet.js').GardenSheet} sheet
   * @param {import('../sound.js').Sound} sound @param {import('../events.js').Events} events */
  constructor(state, client, sheet, sound, events) {
    this.state = state;
    this.client = client;
    this.sheet = sheet;
    this.events = events;
    /** @type {number | null} How many gems are left, once that is known. */
    this.left = null;
    /** @type {{ x: number, y: number } | null} The corner of the tile on which the next plant would stand, while the player chooses it. */
    this.bed = null;
    /** @type {{ x: number, y: number } | null} Where the player was, in tiles, when the sheet was opened. */
    this.openedAt = null;
    this.askedAt = -Infinity;             // performance time, ms
    client.on.message('purse', (gems) => this.#have(gems));
    client.on.message('sown', (_kind, _column, _row, gems) => {
      sound.spark();
      this.#have(gems);
    });
    client.on.message('found', () => this.left !== null && this.#have(this.left + 1, true));
    client.on.begun(() => this.left !== null && client.do.purse());
  }

  /** Ask how many gems are left, but not so often that the server would refuse it. */
  ask() {
    const now = performance.now();
    if (!this.client.net.playing || now < this.askedAt + ASK_EVERY) return;
    this.askedAt = now;
    this.client.do.purse();
  }

  /** Show how many gems are left. The counter of those that were found waits for one that `flies` there. */
  #have(gems, flies = false) {
    this.left = gems;
    this.sheet.showGems(gems);
    this.events.emit('purse', gems, flies);
  }

  /** Find the tile in front of the player; called in each frame. */
  frame() {
    const { state } = this, own = state.ownId === null ? undefined : state.drawn.get(state.ownId);
    const { sheet } = this.sheet;
    if (own === undefined || !sheet.isOpen) {
      this.bed = this.openedAt = null;
      return;
    }
    this.openedAt ??= { x: own.x, y: own.y };
    if (Math.hypot(own.x - this.openedAt.x, own.y - this.openedAt.y) > STAYS) return sheet.close();
    this.bed = { x: Math.floor(own.x) + own.dx, y: Math.floor(own.y) + own.dy };
  }

  /** Plant one of the kinds, by its number. */
  sow(kind) {
    const { bed } = this;
    if (bed !== null) this.client.do.sow(kind, bed.x, bed.y);
  }
}
