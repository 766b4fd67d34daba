// The state: everything that the page is drawn from, in one place. scene.js and what the player does change it,
// and view/ and hud/ only read it. It never touches the page and sends nothing.

import { Atlas } from './atlas.js';
import { skyAt } from './day.js';
import { Did } from './did.js';
import { Grown } from './grown.js';
import { Landmarks } from './landmarks.js';
import { Ordered } from './ordered.js';
import { Terrain } from './terrain.js';

const TITLE_SEED = 2013;                  // the ground behind the title, before the welcome

/**
 * @typedef {{ x: number, y: number }} Place  In tiles. The tile (0, 0) reaches from (0, 0) to (1, 1).
 */

/**
 * A player as it is drawn in this frame.
 * @typedef {object} Walker
 * @property {number} id
 * @property {number} x            position of the feet, in tiles
 * @property {number} y
 * @property {number} dx           the direction in which it looks: -1, 0 or 1
 * @property {number} dy
 * @property {boolean} walking
 * @property {number} alpha        0 (invisible) to 1; it fades in and out
 * @property {string} name         as shown: players with the same name get a tag
 * @property {boolean} own         true for this page's player
 * @property {boolean} dimmed      true while its connection is lost
 * @property {boolean} friend      true if this page's player and it have waved to each other, or it was the host
 * @property {boolean} muted       true if this page's player muted it
 * @property {number} look         as its player chose it, or 0: see faces.js
 * @property {string} type         the kind of a computer player, such as 'Deer'; '' for people
 * @property {Saying | null} saying
 * @property {number} wavedAt      performance time, ms, of its last wave, if nobody has returned it;
 *                                 otherwise -Infinity
 * @property {number} dancedAt     performance time, ms, when it danced last, or -Infinity
 * @property {number} sparkAt      performance time, ms, when a wave was last returned, by it or to it
 * @property {number} seenAt       performance time, ms, when it was last in the replica
 * @property {number} fadedAt      performance time, ms, when `alpha` was last changed
 * @property {number} sketches     the `sketches` of its player when it was last drawn
 * @property {number} [ghostOf]    of a ghost, which is no player: id of the player whose look it has
 * @property {number} awayX        how far, in tiles, it is drawn from where it is: a sketch may find a walker
 * @property {number} awayY        a little beside its way, and it then glides there
 */

/**
 * What a bubble shows: a text, or else an emote (emotes.js).
 * @typedef {object} Saying
 * @property {string} text
 * @property {number} emote
 * @property {number} at           performance times, ms, between which it is shown
 * @property {number} until
 * @property {boolean} toOwn       true if this page's player is called by name
 * @property {boolean} shown       false if too many clockwork walkers speak at once
 */

/**
 * A thing as it is drawn in this frame.
 * @typedef {object} ShownThing
 * @property {import('./replica.js').Thing} thing
 * @property {number} x            in tiles
 * @property {number} y
 * @property {number} alpha        0 (invisible) to 1; it fades in and out
 * @property {number | null} goneAt  performance time, ms, since when it is no longer known; null
 *                                 while it lies there
 * @property {boolean} taken       true if somebody took it, false if its square was merely dropped
 * @property {boolean} own         true if this page's player picked it up
 */

/**
 * An arrow at the screen's edge that points to something out of sight.
 * @typedef {object} Arrow
 * @property {number} x            position that it points to, in tiles
 * @property {number} y
 * @property {string} label
 * @property {number | null} id    id of the player that it points to; null for any place
 * @property {number} look         the look of that player
 * @property {boolean} [aim]       true for the place that was chosen on the map of everybody
 * @property {string} [kind]       the kind of a landmark in view, which has an arrow only where a panel covers it
 * @property {{ colour: string, draw: (ctx: any, x: number, y: number, dpr: number) => void }} [sign]  of a place with a name, to
 *                                 which the flag leads after a click: its picture, around (x, y), and the colour
 */

/**
 * A signpost that is read, the directions that it shows, and the courses that it offers, one of which may be chosen.
 * @typedef {import('./landmarks.js').Post & { directions: import('./landmarks.js').Direction[],
 *   courses: import('./landmarks.js').Course[], chosen: number }} Sign
 */

/**
 * What the grid overlay shows.
 * @typedef {object} Overlay
 * @property {import('./replica.js').Held} held
 * @property {{ col: number, row: number, age: number }[]} dropped  squares that
 *                                 were dropped, each `age` ms ago
 * @property {Map<string, import('./replica.js').Census>} squares   by 'col:row'
 * @property {{ col: number, row: number }} mine   the square of this page's player
 */

/**
 * A rectangle of the page, in css px from the upper left corner of the screen.
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Box
 */

export class State {
  /** @param {{ clock: import('./clock.js').Clock, replica: import('./replica.js').Replica,
   * walk: import('./walk.js').Walk, ground: any }} client  which gets the state's ground */
  constructor(client) {
    // What is known.
    /** Node time. */
    this.clock = client.clock;
    /** The squares that are held and the players in them, as the server sends them. */
    this.replica = client.replica;
    /** The walk of this page's player, predicted. */
    this.walk = client.walk;
    /** How many players are where in the whole world, while the map of everybody is open. */
    this.atlas = new Atlas();
    /** The ground. It is replaced if the server's world has another seed. */
    this.terrain = client.ground = new Terrain(TITLE_SEED);
    /** @type {number | null} Id of this page's player; null while nobody plays. */
    this.ownId = null;
    /** In tiles: squares closer to the viewport than `lead` are held, and squares farther away than
     * `drop` are dropped. */
    this.margins = { lead: 4, drop: 8 };
    /** False while the server may miss what other nodes publish. */
    this.linked = true;

    // The page, and what its player chose.
    /** Tiles that the screen shows. */
    this.viewport = { w: 40, h: 25 };
    /** From the middle of the screen to that of the space that the title leaves free, in shares of its width and height. */
    this.aside = { x: 0, y: 0 };
    /** @type {Box[]} Parts of the page that marks on the canvas must not cover. */
    this.panels = [];
    /** True if the player's system asks for reduced motion. */
    this.still = false;
    /** True on machines that are too slow for ornaments that cost much. */
    this.plain = true;
    /** Ms by which this page's day is ahead of everybody's. */
    this.dayShift = 0;
    /** What changes the looks of the ground. */
    this.grown = new Grown();
    /** Whether the grid overlay is shown. */
    this.gridShown = false;
    /** @type {Set<number>} Ids of the players that this page's player muted. */
    this.muted = new Set();
    /** @type {Set<number>} Ids of the players that have become friends with this page's player: see Walker. */
    this.friends = new Set();
    /** @type {number | null} Id of the player who is followed. */
    this.followed = null;
    /** Whether Home leads back to where the player was when it last went home. */
    this.wayBack = false;
    /** @type {Place & { reach: number, label: string, quiet?: boolean } | null} The place to which the arrow with the flag leads;
     * it is reached within `reach` tiles. With `quiet` something else is shown there. */
    this.aim = null;
    /** @type {Place & { at: number } | null} The goal of the last
     * click, and its performance time, ms. */
    this.goal = null;

    /** What the player of this browser has done at least once. */
    this.did = new Did();
    /** @type {Set<number>} Ids of the players to whom the next step has let this page's player wave. */
    this.greeted = new Set();

    // What parts of the game add.
    /** @type {Ordered<() => string | null>} What the notice board on the plaza says besides the almanac. */
    this.board = new Ordered();
    /** @type {Ordered<(state: State) => import('./next.js').Step | null>} What there may be to do next: the first one that is not
     * null is shown. */
    this.next = new Ordered();
    /** @type {Ordered<(state: State) => void>} What is brought up to date in each frame, once it is known what lies and stands
     * where. */
    this.steps = new Ordered();
    /** @type {Ordered<(state: State) => (Place & { name: string })[]>} Places that the list of what is near has. */
    this.places = new Ordered();
    /** @type {Ordered<(state: State) => Place[]>} Places around which nothing grows. */
    this.bare = new Ordered();
    /** @type {Ordered<(state: State) => Arrow[]>} The arrows at the screen's edge, apart from those to players. */
    this.pointers = new Ordered();
    /** @type {Ordered<(state: State) => string | null>} What this page's player misses here, in a sentence: the first that is
     * not null is shown. */
    this.lacks = new Ordered();
    /** @type {(post: import('./landmarks.js').Post) => import('./landmarks.js').Course[]} Returns the courses that a signpost
     * offers. */
    this.coursesOf = () => [];
    /** @type {(mark: import('./landmarks.js').Landmark) => boolean} Returns whether a landmark burns. */
    this.burns = () => false;
    /** @type {Ordered<import('./notes.js').Note>} What is said of each kind of line in books. */
    this.notes = new Ordered();

    // What this frame shows; made by scene.js.
    /** Performance time, ms. */
    this.now = 0;
    /** The light of the day. */
    this.sky = skyAt(0);
    /** @type {Place} Where this page's player is; the plaza while nobody plays. */
    this.here = { x: 0.5, y: 0.5 };
    /** @type {Place} The middle of the screen. */
    this.camera = { x: 0.5, y: 0.5 };
    /** @type {import('./landmarks.js').Landmark[]} The landmarks around; made by places.js. */
    this.marks = [];
    /** @type {import('./landmarks.js').Landmark | null} The landmark that this page's player is at. */
    this.found = null;
    /** @type {Sign | null} The signpost that this page's player is at. */
    this.sign = null;
    /** @type {Walker[]} All that are drawn, including those that fade out. */
    this.walkers = [];
    /** @type {Map<string, ShownThing>} All things that are drawn, including those that fade out; made by
     * things.js. */
    this.things = new Map();
    /** @type {Walker[]} What is drawn like a walker, and is no player. */
    this.ghosts = [];
    /** @type {Map<number, string>} Names as shown, by player id. */
    this.names = new Map();
    /** @type {Arrow[]} */
    this.arrows = [];
    /** @type {Overlay | null} Null while the grid overlay is not shown. */
    this.overlay = null;

    // What is kept from frame to frame; only scene.js uses it.
    /** @type {Map<number, Walker>} By player id. */
    this.drawn = new Map();
    /** Other players are drawn as they were this many ms ago: by then their events have arrived. */
    this.delay = 50;
    /** The greatest lateness of recent events, ms, and the performance time, ms, of that figure. */
    this.late = 0;
    this.lateAt = 0;
    /** Performance time, ms, of the camera's position; 0 if the camera is to jump to this page's player. */
    this.cameraAt = 0;
    /** The value of the replica's `nameChanges` when `names` was made. */
    this.namesOf = -1;
    /** The value of the replica's `thingChanges` when `things` was last compared with it. */
    this.thingsOf = -1;
    /** Performance time, ms, of the last frame's `things`. */
    this.thingsAt = 0;
    /** The landmarks of `terrain`; only for places.js. */
    this.landmarks = new Landmarks(this.terrain);
    /** @type {Place & { posts: import('./landmarks.js').Post[] }} The tile where places.js last looked, and the signposts around. */
    this.placesAt = { x: NaN, y: NaN, posts: [] };
  }

  /** This page's player as the server sent it; undefined until it has. */
  get own() {
    return this.ownId === null ? undefined : this.replica.players.get(this.ownId);
  }
}
