// The state: all that the page is drawn from, in one place. session.js, controls.js and scene.js
// change it, view/ and hud/ only read it. It never touches the page, and sends nothing.

import { Clock } from './clock.js';
import { Replica } from './replica.js';
import { Terrain } from './terrain.js';
import { Walk } from './walk.js';

const TITLE_SEED = 2013;                  // the ground behind the title, until the server tells

/**
 * @typedef {{ x: number, y: number }} Place  In tiles; the tile (0, 0) reaches as far as (1, 1).
 */

/**
 * A player as it is drawn in this frame.
 * @typedef {object} Walker
 * @property {number} id
 * @property {number} x            tiles, of the feet
 * @property {number} y
 * @property {number} dx           where it looks: -1, 0 or 1
 * @property {number} dy
 * @property {boolean} walking
 * @property {number} alpha        0 (not to be seen) to 1: it fades in and out
 * @property {string} name         as shown: players of one name are told apart
 * @property {boolean} own         it is oneself
 * @property {boolean} dimmed      its connection is lost; it may come back
 * @property {boolean} muted       by the one who plays here
 * @property {{ text: string, at: number, until: number } | null} saying  what its bubble says,
 *                                 from when until when: performance times, ms
 * @property {number} seenAt       performance time, ms, at which it was last in the replica
 * @property {number} fadedAt      performance time, ms, of its `alpha`
 */

/**
 * A mark at the screen's edge towards what is out of sight.
 * @typedef {object} Arrow
 * @property {number} x            tiles, of what it points to
 * @property {number} y
 * @property {string} label
 * @property {number | null} id    of the player that it points to; null for the plaza
 */

/**
 * What the grid overlay shows.
 * @typedef {object} Overlay
 * @property {import('./replica.js').Held} held
 * @property {{ col: number, row: number, age: number }[]} dropped  squares let go; ms ago
 * @property {Map<string, import('./replica.js').Census>} squares   by 'col:row'
 * @property {{ col: number, row: number }} mine                    the square one is in
 */

/**
 * A box of the page, in css px from the screen's upper left corner.
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Box
 */

export class State {
  constructor() {
    // What is known.
    /** Node time. */
    this.clock = new Clock();
    /** The squares that are held and the players in them, as the server tells them. */
    this.replica = new Replica();
    /** The ground: another one where the server's world has another seed. */
    this.terrain = new Terrain(TITLE_SEED);
    /** One's own walk, predicted. */
    this.walk = new Walk((col, row) => this.terrain.blocked(col, row));
    /** @type {number | null} One's own id; null while nobody plays here. */
    this.ownId = null;
    /** Tiles around the viewport in which squares are held, and beyond which they are let go. */
    this.margins = { lead: 4, drop: 8 };
    /** Whether the server hears the others. */
    this.linked = true;

    // What the page is like, and what its player chose.
    /** Tiles that the screen shows. */
    this.viewport = { w: 40, h: 25 };
    /** @type {Box[]} What marks on the canvas must keep clear of. */
    this.panels = [];
    /** Nothing moves but what has to: the player's system asks for that. */
    this.still = false;
    /** Whether the grid is to be seen. */
    this.gridShown = false;
    /** @type {Set<number>} Ids of the players whom nobody wants to hear here. */
    this.muted = new Set();
    /** @type {Place & { at: number } | null} Where a click leads; performance time of it, ms. */
    this.goal = null;

    // What this frame shows: made by scene.js.
    /** Performance time, ms. */
    this.now = 0;
    /** @type {Place} Where one is oneself; the plaza while nobody plays. */
    this.here = { x: 0.5, y: 0.5 };
    /** @type {Place} The middle of the screen. */
    this.camera = { x: 0.5, y: 0.5 };
    /** @type {Walker[]} Who is seen, and who fades. */
    this.walkers = [];
    /** @type {Map<number, string>} Names as shown, by the player's id. */
    this.names = new Map();
    /** @type {Arrow[]} */
    this.arrows = [];
    /** @type {Overlay | null} Null while the grid is not to be seen. */
    this.overlay = null;

    // What goes on from frame to frame: scene.js alone uses it.
    /** @type {Map<number, Walker>} By the player's id. */
    this.drawn = new Map();
    /** Others are drawn this many ms in the past, so that what they do is known in time. */
    this.delay = 50;
    /** The most ms that an event was late, of late; performance time, ms, of that figure. */
    this.late = 0;
    this.lateAt = 0;
    /** Performance time, ms, of the camera's place; 0 where it is to cut to oneself. */
    this.cameraAt = 0;
    /** The replica's `nameChanges` that `names` was made from. */
    this.namesOf = -1;
  }

  /** Oneself as the server tells it; undefined until it has. */
  get own() {
    return this.ownId === null ? undefined : this.replica.players.get(this.ownId);
  }
}
