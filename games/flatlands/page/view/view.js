// Draws the state as one frame: first the ground, then what lies on it, then walkers, then words.

import { Ordered } from '../ordered.js';
import { drawBeacons } from './beacons.js';
import { Butterflies } from './butterflies.js';
import { drawFlag } from './flag.js';
import { Ground } from './ground.js';
import { ThingsView } from './things.js';
import { arrowAt, drawArrows, drawGoal, forgetArrows } from './marks.js';
import { MovingParts } from './moving.js';
import { NameTags } from './nametags.js';
import { Night } from './night.js';
import { drawBorderWords, drawOverlay, drawOverlayLabels, overlayTile } from './overlay.js';
import { Screen } from './screen.js';
import { courseAt, drawPlaces } from './signs.js';
import { Speech } from './speech.js';
import { contextOf } from './sprite.js';
import { Walkers } from './walkers.js';
import { Vignette } from './vignette.js';
import { Water } from './water.js';
import { Wind } from './wind.js';

const TILE = 32, SMALL_TILE = 27;         // css px: desktops, phones
const SMALL_SCREEN = 500;                 // css px of the shorter side of a small screen
const MOST_COLS = 64, MOST_ROWS = 40;     // most tiles that a screen shows
const MOST_PIXELS = 9e6;                  // most device px of the canvas
const BUILD_MS = 3;                       // ms that a frame may spend on painting ground
const FIRST_BUILD_MS = 40;                // ms, in the frame after a jump
const ZOOM_MS = 260;
const MOUSE_REACH = 3, TOUCH_REACH = 14;  // css px by which the mouse or a finger may miss a walker
const ARROW_REACH = 8;                    // css px by which either may miss an arrow
const WORDS_GROW = 0.6;                   // the share of larger tiles by which words grow
const LEAP = 8;                           // tiles: a camera that moves farther in one frame jumps
const OVERLAY_BODIES = 1.5;               // factor by which walkers are larger in the overlay

/** Return the css px per tile on a screen of that size. */
export function tileSize(cssWidth, cssHeight) {
  const tile = Math.min(cssWidth, cssHeight) < SMALL_SCREEN ? SMALL_TILE : TILE;
  return Math.max(tile, Math.ceil(cssWidth / MOST_COLS), Math.ceil(cssHeight / MOST_ROWS));
}

/** One scale at which the world is drawn, in whole device px per tile. */
class Scale {
  constructor(terrain, tile, bodyTile) {
    this.tile = tile;
    this.parts = new MovingParts(tile);
    this.ground = new Ground(terrain, tile, this.parts);
    this.water = new Water(tile);
    this.wind = new Wind(tile);
    this.butterflies = new Butterflies(tile);
    this.night = new Night(tile);
    this.bodyTile = bodyTile;
  }
}

export class View {
  constructor(canvas, terrain) {
    this.canvas = canvas;
    this.terrain = terrain;
    this.ctx = contextOf(canvas, { alpha: false });
    this.screen = new Screen();
    this.nameTags = new NameTags();
    this.speech = new Speech();
    this.last = { now: -Infinity, x: NaN, y: NaN };
    this.dpr = 1;                         // device px per css px,
    this.wordDpr = 1;                     // and the same for words
    this.zoom = 0;                        // 0 (as usual) .. 1 (the distance of the overlay)
    this.normal = new Scale(terrain, TILE, TILE);
    /** @type {Scale | null} The scale of the overlay, while it is shown. */
    this.wide = null;
    this.walkers = new Walkers(TILE);
    this.things = new ThingsView(TILE);
    this.vignette = new Vignette(canvas.width, canvas.height);
    /** @type {Ordered<(ctx: any, state: any, screen: Screen) => void>} What else lies on the ground, under all who stand there. */
    this.flat = new Ordered();
    /** @type {Ordered<(ctx: any, state: any, screen: Screen, lit: number) => void>} What else shines in the dark; the canvas adds
     * what is drawn, and `lit` is 0 to 1. */
    this.lights = new Ordered();
  }

  /** Set the size of the screen in css px; `dpr` is device px per css px. Words are drawn `textScale` times as large as usual. */
  resize(cssWidth, cssHeight, dpr, textScale = 1) {
    const most = Math.sqrt(MOST_PIXELS / (cssWidth * cssHeight));
    const tile = Math.max(4, Math.round(tileSize(cssWidth, cssHeight) * Math.min(dpr, most)));
    this.dpr = Math.min(dpr, most);
    const large = tileSize(cssWidth, cssHeight) / TILE;
    this.wordDpr = this.dpr * textScale * (1 + Math.max(0, large - 1) * WORDS_GROW);
    this.canvas.width = Math.max(1, Math.round(cssWidth * this.dpr));
    this.canvas.height = Math.max(1, Math.round(cssHeight * this.dpr));
    if (this.normal.tile !== tile) this.normal = new Scale(this.terrain, tile, tile);
    this.vignette = new Vignette(this.canvas.width, this.canvas.height);
    this.wide = null;
    this.nameTags.placed = -Infinity;
  }

  /** Css px per tile as it is drawn now; the overlay shows the world from farther away. */
  get tile() {
    return this.#tileNow() / this.dpr;
  }

  /** Return the css px of a place in tiles. */
  pointOf({ camera }, x, y) {
    const tile = this.tile;
    return { x: (x - camera.x) * tile + this.canvas.width / this.dpr / 2,
      y: (y - camera.y) * tile + this.canvas.height / this.dpr / 2 };
  }

  /** Return the place in tiles under a css px. */
  tileAt({ camera }, cssX, cssY) {
    const tile = this.tile;
    return { x: camera.x + (cssX - this.canvas.width / this.dpr / 2) / tile,
      y: camera.y + (cssY - this.canvas.height / this.dpr / 2) / tile };
  }

  /** Draw one frame.
   * @param {import('../state.js').State} state */
  render(state) {
    if (state.terrain !== this.terrain) this.#moveTo(state.terrain);
    const { ctx, screen, last, dpr, wordDpr } = this;
    const elapsed = Math.min(Math.max(state.now - last.now, 0), 100);
    this.#moveZoom(state, elapsed);
    const scale = this.wide ?? this.normal;
    const stretch = this.#tileNow() / scale.tile;
    const width = this.canvas.width / stretch, height = this.canvas.height / stretch;
    screen.look(state.camera, scale.tile, Math.ceil(width), Math.ceil(height));
    ctx.setTransform(stretch, 0, 0, stretch, 0, 0);
    const jumped = !(Math.hypot(state.camera.x - last.x, state.camera.y - last.y) < LEAP);
    scale.ground.clear(state.bare.all.flatMap((some) => some(state)));
    scale.ground.regrow(state.grown);
    scale.ground.draw(ctx, screen, jumped ? FIRST_BUILD_MS : BUILD_MS);
    scale.water.draw(ctx, state, screen, scale.ground);
    scale.wind.draw(ctx, state, screen, scale.ground);
    scale.parts.draw(ctx, state, scale.ground.marks);
    if (this.zoom > 0 && state.overlay !== null) {
      drawOverlay(ctx, state, state.overlay, screen, dpr);
      drawOverlayLabels(ctx, state.overlay, state.replica.side, screen, wordDpr);
      drawBorderWords(ctx, state, screen, wordDpr, dpr);
    }
    this.#drawStanding(state, scale, elapsed);
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    this.vignette.draw(ctx);
    if (this.zoom === 0 || this.zoom === 1) {
      drawPlaces(ctx, state, screen, wordDpr, dpr);
      drawArrows(ctx, state, screen, wordDpr, dpr);
      this.speech.draw(ctx, state, screen, this.walkers.order, wordDpr, dpr);
    } else forgetArrows();
    last.now = state.now;
    last.x = state.camera.x;
    last.y = state.camera.y;
  }

  /** Draw another terrain from now on. */
  #moveTo(terrain) {
    this.terrain = terrain;
    this.normal = new Scale(terrain, this.normal.tile, this.normal.tile);
    this.wide = null;
    this.last.x = NaN;
  }

  #drawStanding(state, scale, elapsed) {
    const { ctx, screen, walkers, things, wordDpr } = this;
    if (walkers.tile !== scale.bodyTile) {
      walkers.resize(scale.bodyTile);
      things.resize(scale.bodyTile);
    }
    for (const draw of this.flat.all) draw(ctx, state, screen);
    if (state.goal !== null) drawGoal(ctx, state, screen);
    if (state.aim !== null) {
      drawFlag(ctx, screen.x(state.aim.x), screen.y(state.aim.y), 1.6 * wordDpr);
    }
    walkers.follow(state, screen, elapsed);
    things.follow(state, screen);
    things.drawGround(ctx, state);
    walkers.draw(ctx, state, screen, scale.ground, things);
    scale.butterflies.draw(ctx, state, screen, scale.ground);
    // The overlay is read by its colours, so no night falls over it.
    scale.night.draw(ctx, state, screen, scale.ground, 1 - this.zoom, (lit) => {
      things.drawGleam(ctx, state, lit);
      for (const draw of this.lights.all) draw(ctx, state, screen, lit);
      walkers.drawLight(ctx, state, lit);
      scale.parts.drawBeams(ctx, state, scale.ground.marks);
      scale.water.drawLights(ctx, screen, scale.ground, lit);
      drawBeacons(ctx, state, screen, lit);
    });
    walkers.drawOwn(ctx, state, state.sky.dark * (1 - this.zoom));
    this.nameTags.draw(ctx, state, screen, walkers.order, wordDpr, elapsed);
  }

  /** Move gradually to the overlay's distance and back. */
  #moveZoom(state, elapsed) {
    const on = state.overlay !== null;
    if (on && this.wide === null) {
      const tile = overlayTile(state, this.normal.tile, this.canvas.width, this.canvas.height);
      this.wide = tile === this.normal.tile ? this.normal : new Scale(this.terrain, tile,
        Math.min(this.normal.tile, Math.round(tile * OVERLAY_BODIES)));
    }
    const step = state.still ? 1 : elapsed / ZOOM_MS;
    this.zoom = on ? Math.min(1, this.zoom + step) : Math.max(0, this.zoom - step);
    if (this.zoom === 0) this.wide = null;
  }

  #tileNow() {
    if (this.zoom === 0 || this.wide === null) return this.normal.tile;
    const ease = this.zoom * this.zoom * (3 - 2 * this.zoom);
    return this.normal.tile * (this.wide.tile / this.normal.tile) ** ease;
  }

  /** Return a picture of the thing with the id `id` for the page, and its side in css px. */
  pictureOf(id) {
    const canvas = /** @type {HTMLCanvasElement} */ (this.things.pictures.get(id.split(':')[0])?.picture?.(id));
    return { canvas, side: canvas.width / this.dpr };
  }

  /** Return the arrow at the screen's edge under a css px, or null. */
  arrowAt(cssX, cssY) {
    return arrowAt(cssX * this.dpr, cssY * this.dpr, ARROW_REACH * this.dpr);
  }

  /** Return the index of the course under a css px of the board of the signpost that is read, or null. */
  courseAt(cssX, cssY) {
    return courseAt(cssX * this.dpr, cssY * this.dpr);
  }

  /** Return the thing of a kind, by its name, under a css px, or null. */
  thingAt(type, cssX, cssY) {
    return this.things.at(type, cssX * this.dpr, cssY * this.dpr, TOUCH_REACH * this.dpr);
  }

  /** Return the id of the walker under a css px of the mouse or of a finger, or null. */
  walkerAt(cssX, cssY, byMouse) {
    const reach = byMouse ? MOUSE_REACH : TOUCH_REACH;
    return this.walkers.at(cssX * this.dpr, cssY * this.dpr, reach * this.dpr);
  }
}
