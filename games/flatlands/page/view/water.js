// What moves on water: light that glints on it, a boat on wide water, ripples where walkers stand at the shore, and
// by night the light of lamps. All of it is a function of time and of what shore.js has found.

import { WATER_TONES } from './palette.js';
import { box, fill, line, lit } from './shapes.js';
import { LONG, REFLECTED, SIDES } from './shore.js';
import { canvasOf, contextOf, discOf, oval, spriteOf } from './sprite.js';

const CYCLE = 5200;                       // ms
const SAIL_MS = 64_000, ACROSS = 2.4, DOWN = 1.1;     // ms of a boat's course; tiles, half of it
const RIPPLE_MS = 1700, RINGS = 2, RING_FRAMES = 8;
const WADES = 0.72;                       // tiles from a walker's feet to the border of a tile of water
const OUT = 0.62;                         // tiles from that border to the middle of the ripples
const SHIMMER_MS = 420, WARM = '255, 214, 140', SHINE = '255, 208, 128', BARS = 18;
const TAU = Math.PI * 2;

/** Paint a boat with a sail that goes to the right. */
function paintBoat(ctx) {
  oval(ctx, 0.1, 0.1, 1.05, 0.26, 'rgba(22, 50, 74, 0.3)');
  line(ctx, '#6b4a30', 0.09, 'M.05-.2V-2.3');
  lit(ctx, { dark: '#d3c29a', middle: '#ece0c2', light: '#fbf6ea' }, 'M.12-2.24Q1.1-1.3 1.02-.5Q.5-.36.12-.42Z', 0.08, 0.06);
  fill(ctx, '#ef6f5e', 'M-.04-2.1Q-.7-1.2-.78-.52Q-.4-.4-.04-.44Z');
  fill(ctx, '#c4553f', 'M-.04-2.1Q-.24-1.2-.26-.42L-.04-.44Z');
  lit(ctx, { dark: '#553823', middle: '#8a5a38', light: '#a97c4e' }, 'M-1-.34Q-.8.18-.5.2H.6Q1 .1 1.2-.42Q.1-.18-1-.34Z', 0.06, 0.16);
  line(ctx, '#f3e2bd', 0.08, 'M-1-.34Q.1-.18 1.2-.42');
  fill(ctx, '#ffd166', 'M.05-2.34l.4 .1l-.4 .12Z');
  box(ctx, '#ffe9ac', -0.94, -0.62, 0.16, 0.2, 0.05);
}

/** Return where a boat is at time `now`, ms, in tiles from the middle of its course, and whether it sails to the
 * right; `phase` is 0 to 1023. */
export function boatAt(phase, now) {
  const turn = (now / SAIL_MS + phase / 1024) * TAU;
  return { x: ACROSS * Math.cos(turn), y: DOWN * Math.sin(turn), right: Math.sin(turn) < 0 };
}

export class Water {
  constructor(tile) {
    const glint = { left: -0.5, top: -0.2, right: 0.5, bottom: 0.15 };
    this.tile = tile;
    this.sprites = [0.2, 0.3, 0.4].map((half) => spriteOf(tile, glint, (ctx) => {
      ctx.strokeStyle = WATER_TONES.glint;
      ctx.lineWidth = 0.075;
      ctx.lineCap = 'round';
      ctx.beginPath();
      ctx.moveTo(-half, 0);
      ctx.quadraticCurveTo(-half / 2, -0.14, 0, 0);
      ctx.quadraticCurveTo(half / 2, -0.14, half, 0);
      ctx.stroke();
    }));
    const ring = { left: -0.95, top: -0.6, right: 0.95, bottom: 0.6 };
    this.rings = Array.from({ length: RING_FRAMES }, (_, i) => spriteOf(tile, ring, (ctx) => {
      const part = (i + 0.5) / RING_FRAMES;
      ctx.strokeStyle = `rgba(226, 244, 248, ${0.85 * (1 - part)})`;
      ctx.lineWidth = 0.06;
      ctx.beginPath();
      ctx.ellipse(0, 0, 0.16 + 0.7 * part, 0.1 + 0.4 * part, 0, 0, TAU);
      ctx.stroke();
    }));
    const hull = { left: -1.25, top: -2.5, right: 1.35, bottom: 0.45 };
    this.boat = spriteOf(tile, hull, paintBoat);
    // A boat that sails to the left has the mirrored picture.
    this.mirrored = canvasOf(this.boat.w, this.boat.h);
    const mirror = contextOf(this.mirrored);
    mirror.scale(-1, 1);
    mirror.drawImage(this.boat.canvas, -this.boat.w, 0);
    /** @type {{ shine: import('./sprite.js').Sprite[], lamp: import('./sprite.js').Sprite } | null} */
    this.lights = null;
    this.now = 0;                         // ms; 0 if nothing is to move
    this.drift = 0;                       // device px
    this.glints = (piece, x, y) => this.#drawGlints(piece, x, y);
    this.boats = (piece, x, y) => this.#drawBoats(piece, x, y);
    this.shine = (piece, x, y) => this.#drawShine(piece, x, y);
  }

  draw(ctx, state, screen, ground) {
    this.ctx = ctx;
    this.now = state.still ? 0 : state.now;
    this.drift = screen.tile * 0.5;
    ground.eachPiece(screen, this.glints);
    ctx.globalAlpha = 1;
    ground.eachPiece(screen, this.boats, 4 * this.tile);
    if (!state.still) this.#drawRipples(state, screen, ground);
  }

  #drawGlints({ glints }, x, y) {
    const { ctx } = this;
    for (let i = 0; i < glints.length; i += 3) {
      const at = (this.now / CYCLE + glints[i + 2] / 256) % 1;
      if (at > 0.5) continue;
      const shown = Math.sin(at * TAU);
      ctx.globalAlpha = 0.75 * shown;
      const sprite = this.sprites[shown > 0.85 ? 2 : shown > 0.5 ? 1 : 0];
      ctx.drawImage(sprite.canvas, x + glints[i] - sprite.ax + Math.round((at - 0.25) * this.drift),
        y + glints[i + 1] - sprite.ay);
    }
  }

  /** Call visit(px, py, right) for each boat of a piece. */
  #eachBoat({ boats }, left, top, visit) {
    for (let i = 0; i < boats.length; i += 3) {
      const { x, y, right } = boatAt(boats[i + 2], this.now);
      visit(left + boats[i] + Math.round(x * this.tile), top + boats[i + 1] + Math.round(y * this.tile), right);
    }
  }

  #drawBoats(piece, left, top) {
    const { ctx, boat, tile } = this;
    this.#eachBoat(piece, left, top, (px, py, right) => {
      const bob = Math.round(Math.sin(this.now / 900) * 0.04 * tile), back = right ? -1 : 1;
      for (let i = 0; i < 2; i++) {
        const ring = this.rings[(Math.floor(this.now / 240) + 4 * i) % RING_FRAMES];
        ctx.drawImage(ring.canvas, px + back * Math.round((1 + 0.3 * i) * tile) - ring.ax, py - ring.ay);
      }
      if (right) ctx.drawImage(boat.canvas, px - boat.ax, py + bob - boat.ay);
      else ctx.drawImage(this.mirrored, px - boat.w + boat.ax, py + bob - boat.ay);
    });
  }

  /** Draw the rings that spread on the water from walkers at its edge. */
  #drawRipples(state, screen, ground) {
    const { ctx, rings } = this;
    for (const { id, x, y, alpha } of state.walkers) {
      const shore = ground.shoreAt(Math.floor(x), Math.floor(y));
      if (shore === 0) continue;
      for (const { bit, dx, dy } of SIDES) {
        const far = dx + dy > 0 ? 1 : 0, within = dx === 0 ? y - Math.floor(y) : x - Math.floor(x);
        if ((shore & bit) === 0 || Math.abs(within - far) > WADES) continue;
        const px = screen.x(dx === 0 ? x : Math.floor(x) + far + dx * OUT);
        const py = screen.y(dy === 0 ? y : Math.floor(y) + far + dy * OUT);
        for (let i = 0; i < RINGS; i++) {
          const part = (state.now / RIPPLE_MS + i / RINGS + (id % 97) / 97) % 1, ring = rings[Math.floor(part * RING_FRAMES)];
          ctx.globalAlpha = alpha;
          ctx.drawImage(ring.canvas, px - ring.ax, py - ring.ay);
        }
      }
    }
    ctx.globalAlpha = 1;
  }

  /** Draw what shines on water in the dark; the canvas adds all else that is drawn. `bright` is 0 to 1. */
  drawLights(ctx, screen, ground, bright) {
    this.ctx = ctx;
    this.lights ??= { shine: [0, 1, 2].map((frame) => this.#paintShine(frame)), lamp: discOf(this.tile, 0.6, 0.6, WARM, 0.85) };
    ctx.globalAlpha = bright;
    // If it were added to the blue of water, it would be white.
    ctx.globalCompositeOperation = 'source-over';
    ground.eachPiece(screen, this.shine, (REFLECTED + LONG) * this.tile);
    ctx.globalCompositeOperation = 'lighter';
  }

  #drawShine(piece, left, top) {
    const { ctx, lights, tile, now } = this, { reflections } = piece;
    if (lights === null) return;
    const { shine, lamp } = lights;
    for (let i = 0; i < reflections.length; i += 3) {
      const { canvas, ax, ay } = shine[Math.floor(now / SHIMMER_MS + i) % shine.length];
      const high = Math.min(reflections[i + 2] + ay, canvas.height);
      ctx.drawImage(canvas, 0, 0, canvas.width, high, left + reflections[i] - ax, top + reflections[i + 1] - ay, canvas.width, high);
    }
    this.#eachBoat(piece, left, top, (px, py, right) => {
      const { canvas, ax, ay } = shine[Math.floor(now / SHIMMER_MS) % shine.length], x = px + Math.round((right ? -0.86 : 0.86) * tile);
      ctx.drawImage(lamp.canvas, x - lamp.ax, py - Math.round(0.5 * tile) - lamp.ay);
      ctx.drawImage(canvas, x - ax, py + Math.round(0.2 * tile) - ay);
    });
  }

  /** Paint the light of a lamp on water: bars that are shorter and fainter the nearer they are. */
  #paintShine(frame) {
    return spriteOf(this.tile, { left: -0.6, top: -0.1, right: 0.6, bottom: LONG }, (ctx) => {
      for (let i = 0; i < BARS; i++) {
        const half = (0.46 - 0.28 * i / BARS) * (0.72 + 0.28 * Math.sin(i * 2.6 + frame * 2.1)), at = 0.08 * Math.sin(i * 1.9 + frame * 2.6);
        oval(ctx, at, i * LONG / BARS, half, 0.055, `rgba(${SHINE}, ${0.75 * (1 - i / BARS)})`);
      }
    });
  }
}
