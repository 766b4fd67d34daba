// What this page's player plants: on the tile in front of it, while it chooses what. The server decides; this module
// asks, and says what becomes of it.

import { CHUNK, GRASS, SAND, WOOD } from '../terrain.js';

/** @typedef {import('../state.js').State} State */

const PLAZA_WITHIN = 13;                  // tiles of the origin within which nothing is planted
const REFUSED_FOR = 60_000;               // ms for which planting is no next step, once it was refused
const FROM_PATH = 48;                     // 1/16 tile from the middle of a path, within which nothing is
/** Tiles around one, the nearest first, of which some are tried. */
const AROUND = Array.from({ length: 41 * 41 }, (_, i) => [i % 41 - 20, Math.floor(i / 41) - 20])
  .filter(([dx, dy]) => dx % 3 === 0 && dy % 3 === 0).sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
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
    this.askedAt = -Infinity;             // performance time, ms; and
    this.refusedAt = -Infinity;           // when the server refused to plant something
    client.on.error((code) => {
      if (code === 'garden') this.refusedAt = state.now;
    });
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

  /** Return the step to plant a gem for the first time: where the player is, or at the nearest soil that is in sight.
   * @returns {import('../next.js').Step | null} */
  step() {
    const { state, left } = this, { x, y } = state.here;
    if (left === null && state.did.has('gem') && !state.did.has('plant')) this.ask();
    const own = state.drawn.get(state.ownId ?? -1), waits = state.now < this.refusedAt + REFUSED_FOR;
    if (own === undefined || left === null || left < 1 || state.did.has('plant') || this.sheet.sheet.isOpen || waits) return null;
    const step = { key: 'plant', text: 'Plant your gem: flowers, or a lantern' };
    if (isSoil(state.terrain, Math.floor(x) + own.dx, Math.floor(y) + own.dy)) return { ...step, act: this.events.emitter('plant') };
    // Whichever way one comes from, there is soil in front.
    const near = AROUND.find(([dx, dy]) => [-1, 0, 1].every((i) => [-1, 0, 1].every((j) =>
      isSoil(state.terrain, Math.floor(x) + dx + i, Math.floor(y) + dy + j))));
    return near === undefined ? null
      : { ...step, place: { x: Math.floor(x) + near[0] + 0.5, y: Math.floor(y) + near[1] + 0.5, name: 'good soil' } };
  }

  /** Plant one of the kinds, by its number. */
  sow(kind) {
    const { bed } = this;
    if (bed !== null) this.client.do.sow(kind, bed.x, bed.y);
  }
}

/** Return whether something may grow on a tile. The server looks more closely.
 * @param {import('../terrain.js').Terrain} terrain */
function isSoil(terrain, x, y) {
  if (Math.hypot(x, y) < PLAZA_WITHIN || ![GRASS, SAND, WOOD].includes(terrain.kind(x, y))) return false;
  const column = Math.floor(x / CHUNK), row = Math.floor(y / CHUNK);
  return terrain.chunk(column, row).paths[(y - row * CHUNK) * CHUNK + x - column * CHUNK] >= FROM_PATH;
}
