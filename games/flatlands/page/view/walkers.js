// Draws the walkers: sorts them by their feet, and puts them together from sprites. Their movements are
// eased here, and only in the drawing.

import { faceOf, isComputer, isDeer } from '../faces.js';
import { Bodies, STEPS, XRAY } from './body.js';
import { Deer, DEER_HALF, DEER_TOP } from './deer.js';
import { GhostLight } from './ghosts.js';
import { drawArms, drawSparks, motionOf } from './emotes.js';
import { Keys } from './key.js';

const TURN_MS = 90;                       // ms: the time constant with which eyes turn
const STRIDE = 1.5;                       // length of a double step in tiles
const BOB = 0.07;                         // tiles
const BLINK_EVERY = 4600, BLINK_MS = 130;
const GHOST = 0.5;                        // opacity of a ghost
const OWN_COVERED = 0.2;                  // opacity of what stands before the player's walker
const JUMP = 2;                           // tiles: a longer way in one frame is a jump
const COVERS = { wide: 0.7, high: 1.2 };  // tiles between two walkers at which one covers the other
const MARGIN = 2;                         // tiles beyond the screen in which walkers are drawn
const FORGET_AFTER = 1000;                // ms without being seen
const OWN_RING = '#ffffff', FOLLOWED = '#ffd166';       // of the rings under the player and whom it follows
const OWN_LIGHT = 1.4;                    // how much of the night the player's walker keeps off
const BACK = [-0.86, -0.14];              // the part of a ring, in half turns, that a body hides
const RING = { x: 0.56, y: 0.27 }, DASHES = 8;         // tiles
const TAU = Math.PI * 2;

/**
 * What is kept from frame to frame for one walker.
 * @typedef {object} Memory
 * @property {import('../state.js').Walker} walker
 * @property {ReturnType<typeof faceOf>} face
 * @property {number} look       what its player chose, from which the face was made
 * @property {boolean} deer      true if it is a deer: it has no name, and nothing can be said to it
 * @property {boolean} clockwork true if it is clockwork: it has a key in its back
 * @property {number} x          position in the last frame, in tiles
 * @property {number} y
 * @property {number} stride     0 .. 1: the part of a double step that is done
 * @property {number} lookX      -1 .. 1, eased
 * @property {number} lookY
 * @property {number} pace       0 (standing) .. 1 (walking), eased
 * @property {number} seen       performance time, ms, when it was last in the state
 * @property {number} px         position of its feet, in device px
 * @property {number} py
 * @property {number} bodyY      that of its body as drawn, which bobs; and how it moved
 * @property {import('./emotes.js').Motion | null} motion
 * @property {number} rank       names with a lower rank are placed first
 * @property {boolean} named     true if its name has a place
 * @property {number} nameAlpha  0 .. 1
 * @property {{ canvas: HTMLCanvasElement, w: number, h: number } | null} name  its picture
 * @property {string} nameText   what the picture was made from
 * @property {number} nameDpr
 * @property {string} nameColour
 * @property {{ canvas: HTMLCanvasElement, saying: import('../state.js').Saying, dpr: number, look: import('./speech.js').Look,
 *   dx: number, dy: number, empty: boolean } | null} bubble  `dx` and `dy`: how far it is from where it should be, in device px
 */

/** @param {import('../state.js').Walker} walker @returns {Memory} */
function newMemory(walker) {
  return {
    walker, face: faceOf(walker.ghostOf ?? walker.id, walker.look), look: walker.look, deer: isDeer(walker),
    clockwork: isComputer(walker.id) && !isDeer(walker), x: walker.x, y: walker.y, stride: 0,
    lookX: walker.dx, lookY: walker.dy, pace: 0, seen: 0, px: 0, py: 0, bodyY: 0, motion: null, rank: 0, named: false, nameAlpha: 0,
    name: null, nameText: '', nameDpr: 0, nameColour: '', bubble: null,
  };
}

/** The picture of what a walker carries: it is drawn over the walker whose feet are at the device px (px, py), and lights the
 * ground around in the dark, where the canvas adds what is drawn.
 * @typedef {{ draw: (ctx: any, state: any, px: number, py: number) => void,
 * drawLight: (ctx: any, px: number, py: number) => void }} Burden */

export class Walkers {
  /** `tile` is device px per tile. */
  constructor(tile) {
    /** @type {Map<number, Memory>} By player id. */
    this.memories = new Map();
    /** @type {Memory[]} Those in view, from the farthest to the nearest. */
    this.order = [];
    this.swept = 0;
    this.tile = tile;
    this.bodies = new Bodies(tile);
    this.deer = new Deer(tile);
    this.keys = new Keys(tile);
    this.ghosts = new GhostLight(tile);
    /** @type {{ carrier: () => number | null, pictureOf: (tile: number) => Burden, picture: Burden }[]} */
    this.burdens = [];
  }

  /** Draw what somebody carries, too: `carrier` returns the id of who does, or null, and `pictureOf` the picture of it at
   * `tile` device px per tile.
   * @param {() => number | null} carrier @param {(tile: number) => Burden} pictureOf */
  add(carrier, pictureOf) {
    this.burdens.push({ carrier, pictureOf, picture: pictureOf(this.tile) });
  }

  resize(tile) {
    this.tile = tile;
    this.bodies = new Bodies(tile);
    this.deer = new Deer(tile);
    this.keys = new Keys(tile);
    for (const burden of this.burdens) burden.picture = burden.pictureOf(tile);
    this.ghosts = new GhostLight(tile);
  }

  /** Find out which walkers are in view in this frame and where on the screen, and sort them by
   * their feet. */
  follow(state, screen, elapsed) {
    const { order, memories } = this, turn = state.still ? 1 : 1 - Math.exp(-elapsed / TURN_MS);
    const margin = MARGIN * this.tile;
    order.length = 0;
    for (const walker of [...state.walkers, ...state.ghosts]) {
      let memory = memories.get(walker.id);
      if (memory === undefined) memories.set(walker.id, memory = newMemory(walker));
      memory.seen = state.now;
      memory.walker = walker;
      if (memory.look !== walker.look) {
        memory.look = walker.look;
        memory.face = faceOf(walker.ghostOf ?? walker.id, walker.look);
      }
      const moved = Math.hypot(walker.x - memory.x, walker.y - memory.y);
      memory.x = walker.x;
      memory.y = walker.y;
      if (moved < JUMP) memory.stride = (memory.stride + moved / STRIDE) % 1;
      memory.lookX += (Math.sign(walker.dx) - memory.lookX) * turn;
      memory.lookY += (Math.sign(walker.dy) - memory.lookY) * turn;
      memory.pace += ((walker.walking ? 1 : 0) - memory.pace) * turn;
      this.#place(memory, walker, state, screen);
      if (memory.px > -margin && memory.py > -margin && memory.px < screen.width + margin
        && memory.py < screen.height + margin && walker.alpha > 0.01) order.push(memory);
    }
    sortByFeet(order);
    if (state.now - this.swept > FORGET_AFTER) this.#sweep(state.now);
  }

  /** Compute where a walker's feet are. A walker that stands never moves a pixel against the ground;
   * the player's walker never does against the camera, because both move together. */
  #place(memory, walker, state, screen) {
    if (walker.own) {
      memory.px = Math.floor(screen.width / 2)
        + Math.round((walker.x - state.camera.x) * screen.tile);
      memory.py = Math.floor(screen.height / 2)
        + Math.round((walker.y - state.camera.y) * screen.tile);
    } else {
      memory.px = screen.x(walker.x);
      memory.py = screen.y(walker.y);
    }
  }

  #sweep(now) {
    this.swept = now;
    for (const [id, memory] of this.memories) {
      if (now - memory.seen > FORGET_AFTER) this.memories.delete(id);
    }
  }

  /** Draw all walkers in order, and between them what lies there; `ground` draws again the props that
   * stand in front of them. */
  draw(ctx, state, screen, ground, things) {
    const own = this.#own();
    let covered = false;
    for (const memory of this.order) {
      things.drawUpTo(memory.py, ctx, state, screen, ground);
      if (memory.deer) this.#drawDeer(ctx, state, memory, screen, ground);
      else this.#drawPerson(ctx, state, memory, screen, ground);
      covered ||= own !== undefined && this.#covers(memory, own);
    }
    things.drawUpTo(Infinity, ctx, state, screen, ground);
    // So that players do not lose sight of themselves in a crowd.
    if (own !== undefined && covered) this.#drawPerson(ctx, state, own, screen, ground);
  }

  #own() {
    return this.order.find(({ walker }) => walker.own);
  }

  /** Draw the ring of the player's walker and, the more opaque the darker the night is (`dark`), that walker once more in daylight.
   * It is called after the night has been drawn. */
  drawOwn(ctx, state, dark) {
    const own = this.#own();
    if (own === undefined) return;
    drawRing(ctx, state, own.px, own.py, this.tile, OWN_RING);
    const alpha = own.walker.alpha * Math.min(dark * OWN_LIGHT, 1);
    if (alpha < 0.01) return;
    ctx.globalAlpha = alpha;
    this.#drawWalker(ctx, state, own, this.bodies.body(own.face, own.walker.dimmed), alpha, false);
    ctx.globalAlpha = 1;
  }

  /** Return whether a walker covers another one. */
  #covers(front, { px, py, walker }) {
    return front.walker !== walker && front.py >= py && front.py - py < COVERS.high * this.tile
      && Math.abs(front.px - px) < COVERS.wide * this.tile;
  }

  #drawPerson(ctx, state, memory, screen, ground) {
    const { walker, px, py } = memory, { bodies } = this;
    if (walker.id === state.followed) drawRing(ctx, state, px, py, this.tile, FOLLOWED);
    const body = bodies.body(memory.face, walker.dimmed);
    const alpha = walker.alpha * (walker.muted ? 0.6 : 1) * (walker.ghostOf === undefined ? 1 : GHOST);
    if (alpha < 1) ctx.globalAlpha = alpha;
    this.#drawWalker(ctx, state, memory, body, alpha, false);
    // Leaves give way to the player's walker; others show through them faintly.
    if (walker.own) ctx.globalAlpha = OWN_COVERED;
    if (ground.cover(ctx, screen, px - body.halfWidth,
      py - body.height, px + body.halfWidth, py + Math.ceil(0.16 * this.tile), py) && !walker.own) {
      this.#drawWalker(ctx, state, memory, body, alpha, true);
    }
    ctx.globalAlpha = walker.alpha;
    for (const { carrier, picture } of this.burdens) if (carrier() === walker.id) picture.draw(ctx, state, px, py);
    ctx.globalAlpha = 1;
    if (walker.dimmed) drawSleep(ctx, state, memory, this.tile);
    drawSparks(ctx, state, memory, this.tile);
  }

  /** Let people be lighter than the night, as much as lamps are `lit`, and what they carry light what is around;
   * the canvas adds what is drawn. */
  drawLight(ctx, state, lit) {
    for (const memory of this.order) {
      const { walker, px, py, bodyY, motion } = memory;
      if (walker.ghostOf !== undefined) this.ghosts.draw(ctx, px, py);
      if (memory.deer || walker.own || walker.ghostOf !== undefined) continue;
      const { ghost, ax, ay } = this.bodies.body(memory.face, walker.dimmed);
      ctx.globalAlpha = lit * walker.alpha;
      if (motion !== null) bend(ctx, motion, px, py, this.tile);
      ctx.drawImage(ghost, px - ax, bodyY - ay);
      if (motion !== null) ctx.restore();
    }
    ctx.globalAlpha = lit;
    for (const { carrier, picture } of this.burdens) {
      const id = carrier(), memory = id === null ? undefined : this.order.find(({ walker }) => walker.id === id);
      if (memory !== undefined) picture.drawLight(ctx, memory.px, memory.py);
    }
  }

  #drawDeer(ctx, state, memory, screen, ground) {
    const { walker, px, py } = memory, half = Math.ceil(DEER_HALF * this.tile);
    ctx.globalAlpha = walker.alpha;
    this.deer.draw(ctx, state, memory);
    if (ground.cover(ctx, screen, px - half, py - Math.ceil(DEER_TOP * this.tile), px + half,
      py + Math.ceil(0.16 * this.tile), py)) {
      ctx.globalAlpha = walker.alpha * XRAY;
      this.deer.draw(ctx, state, memory);
    }
    ctx.globalAlpha = 1;
  }

  #drawWalker(ctx, state, memory, body, alpha, asGhost) {
    const { walker, px, py } = memory, { bodies, tile } = this, { pace } = memory;
    const swing = state.still ? 0 : Math.abs(Math.sin(memory.stride * TAU)) * pace;
    const y = memory.bodyY = py - Math.round(swing * BOB * tile);
    // Clockwork does not wave with the arm beside its key.
    const motion = memory.motion = motionOf(state, walker, memory.clockwork && memory.lookX <= 0.2);
    if (!asGhost) {
      const feet = pace > 0.3 && !state.still
        ? bodies.steps[Math.floor(memory.stride * STEPS) % STEPS] : bodies.standing;
      ctx.drawImage(feet.canvas, px - feet.ax, py - feet.ay);
    }
    if (motion !== null) bend(ctx, motion, px, py, tile);
    if (memory.clockwork && !asGhost) this.keys.draw(ctx, state, memory, px, y);
    ctx.drawImage(asGhost ? body.ghost : body.canvas, px - body.ax, y - body.ay);
    if (asGhost) ctx.globalAlpha = alpha * XRAY;
    const { lookX } = memory, lookY = memory.lookY + (motion?.nod ?? 0) * 1.2;
    const blinking = walker.dimmed || motion?.laughs || (!state.still
      && (state.now + memory.face.roll % BLINK_EVERY) % BLINK_EVERY < BLINK_MS);
    const eyes = blinking ? bodies.closed
      : bodies.eyes[Math.round(lookX) + 1 + 3 * (Math.min(Math.round(lookY), 1) + 1)];
    ctx.drawImage(eyes.canvas, px - eyes.ax + Math.round(lookX * 0.1 * tile),
      y - eyes.ay + Math.round(lookY * 0.055 * tile));
    if (motion === null) return;
    if (!walker.dimmed && !asGhost) drawArms(ctx, motion, memory.face, px, y, tile);
    ctx.restore();
  }

  /** Return the id of the walker, not a deer, nearest to a device px and at most `reach` px away, or null. */
  at(px, py, reach) {
    let best = null, least = Infinity;
    for (const { walker, deer, px: x, py: y } of this.order) {
      if (deer || walker.ghostOf !== undefined) continue;
      const middle = y - 0.55 * this.tile;
      const dx = Math.max(0, Math.abs(px - x) - 0.3 * this.tile);
      const dy = Math.max(0, Math.abs(py - middle) - 0.5 * this.tile);
      // Of several walkers under the finger, the one with the nearest centre wins; the player's own
      // only if there is no other.
      const away = Math.hypot(dx, dy);
      const cost = away * 10 + Math.hypot(px - x, py - middle) + (walker.own ? 1000 : 0);
      if (away <= reach && cost < least) {
        least = cost;
        best = walker.id;
      }
    }
    return best;
  }
}

/** Sort by feet an array that is nearly sorted. Walkers with equal feet are in the order of ids. */
function sortByFeet(order) {
  for (let i = 1; i < order.length; i++) {
    const memory = order[i];
    let j = i - 1;
    for (; j >= 0 && (order[j].py > memory.py
      || (order[j].py === memory.py && order[j].walker.id > memory.walker.id)); j--) {
      order[j + 1] = order[j];
    }
    order[j + 1] = memory;
  }
}

/** Let what is drawn from here to restore() move as a body does whose feet are at the device px (px, py). */
function bend(ctx, motion, px, py, tile) {
  ctx.save();
  ctx.translate(px + motion.x * tile, py + motion.y * tile);
  ctx.rotate(motion.turn);
  ctx.scale(1, motion.stretch);
  ctx.translate(-px, -py);
}

/** Draw a dashed ring around feet at the device px (px, py). The part behind the body is left out, so it may be drawn
 * after the body. */
function drawRing(ctx, state, px, py, tile, colour) {
  const turn = state.still ? 0 : state.now / 2400 % TAU, [from, to] = BACK;
  for (const { style, width } of [{ style: 'rgba(20, 26, 36, 0.5)', width: 0.17 }, { style: colour, width: 0.085 }]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width * tile;
    ctx.lineCap = 'round';
    ctx.beginPath();
    for (let i = 0; i < DASHES; i++) {
      const at = (turn + i * TAU / DASHES) % TAU, end = at + TAU / DASHES * 0.55;
      // In half turns, from -1 to 1.
      const middle = ((at + end) / 2 / Math.PI + 1) % 2 - 1;
      if (middle > from && middle < to) continue;
      ctx.moveTo(px + Math.cos(at) * RING.x * tile, py + Math.sin(at) * RING.y * tile);
      ctx.ellipse(px, py, RING.x * tile, RING.y * tile, 0, at, end);
    }
    ctx.stroke();
  }
}

/** Draw the sign of a dimmed walker: z z, rising. */
function drawSleep(ctx, state, memory, tile) {
  const { px, py, walker } = memory;
  ctx.lineJoin = 'round';
  ctx.lineCap = 'round';
  for (let i = 0; i < 2; i++) {
    const rise = state.still ? 0.3 + 0.45 * i : (state.now / 2200 + i / 2) % 1;
    const size = (0.1 + 0.08 * rise) * tile, x = px + (0.34 + 0.26 * rise) * tile;
    const y = py - (1.05 + 0.55 * rise) * tile;
    ctx.globalAlpha = walker.alpha * (state.still ? 1 : Math.sin(Math.PI * rise));
    for (const { style, width } of [{ style: '#27303c', width: 0.13 },
      { style: '#ffffff', width: 0.06 }]) {
      ctx.strokeStyle = style;
      ctx.lineWidth = width * tile;
      ctx.beginPath();
      ctx.moveTo(x - size, y - size);
      ctx.lineTo(x + size, y - size);
      ctx.lineTo(x - size, y + size);
      ctx.lineTo(x + size, y + size);
      ctx.stroke();
    }
  }
  ctx.globalAlpha = 1;
}
