// What this page's player plants: on the tile in front of it, while it chooses what. The server decides; this module
// asks, and says what becomes of it.

/** @typedef {import('./state.js').State} State */

const ASK_EVERY = 1200;                   // ms between two questions about the gems that are left

export class Planting {
  /** @param {State} state @param {import('./client.js').Client} client @param {import('./hud/hud.js').Hud} hud
   * @param {import('./sound.js').Sound} sound */
  constructor(state, client, hud, sound) {
    this.state = state;
    this.client = client;
    this.hud = hud;
    this.askedAt = -Infinity;             // performance time, ms
    client.on.told('purse', (gems) => this.#have(gems));
    client.on.told('sown', (_kind, _column, _row, gems) => {
      sound.spark();
      this.#have(gems);
    });
    client.on.told('found', () => hud.board.left !== null && this.#have(hud.board.left + 1, true));
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
    const { board, garden } = this.hud;
    board.left = gems;
    garden.tell(gems);
    if (!flies) board.count(board.score);
  }

  /** Find the tile in front of the player; called in each frame. */
  frame() {
    const { state } = this, own = state.ownId === null ? undefined : state.drawn.get(state.ownId);
    state.bed = own === undefined || !this.hud.garden.sheet.isOpen ? null
      : { x: Math.floor(own.x) + own.dx, y: Math.floor(own.y) + own.dy };
  }

  /** Plant one of the kinds, by its number. */
  sow(kind) {
    const { bed } = this.state;
    if (bed !== null) this.client.do.sow(kind, bed.x, bed.y);
  }
}
