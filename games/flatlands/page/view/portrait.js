// A walker that turns round, alone on a small canvas, so that a player can choose its look. It is made
// of the same pictures as the walkers of the world.

import { faceOf } from '../faces.js';
import { Bodies } from './body.js';
import { drawEmote } from './emotes.js';
import { NUMBERS, PROPS } from './props.js';
import { canvasOf, contextOf, spriteOf } from './sprite.js';

const TURN_MS = 5200;                     // ms for one turn
const FEET_AT = 0.93;                     // the part of the canvas that is above the feet
const TILES_HIGH = 1.62;                  // tiles from top to bottom
const PROP_TILE = 34;                     // css px per tile of a prop
const BLINK_EVERY = 3100, BLINK_MS = 130;

/** Return a canvas with the sign of an emote, of `side` css px. */
export function signOf(emote, side) {
  const dpr = Math.max(1, devicePixelRatio), canvas = canvasOf(side * dpr, side * dpr);
  const ctx = contextOf(canvas);
  ctx.scale(side * dpr, side * dpr);
  ctx.translate(0.5, 0.5);
  drawEmote(ctx, emote);
  canvas.style.width = canvas.style.height = side + 'px';
  return canvas;
}

/** Return a canvas with the picture of a prop, by its name. */
export function propPicture(name) {
  const dpr = Math.max(1, devicePixelRatio), { box, paint } = PROPS[NUMBERS[name] - 1];
  const { canvas } = spriteOf(PROP_TILE * dpr, box, paint);
  canvas.style.width = canvas.width / dpr + 'px';
  return canvas;
}

export class Portrait {
  /** `canvas` has its css size as attributes.
   * @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    const dpr = Math.max(1, devicePixelRatio);
    canvas.style.width = canvas.width + 'px';
    canvas.style.height = canvas.height + 'px';
    canvas.width = Math.round(canvas.width * dpr);
    canvas.height = Math.round(canvas.height * dpr);
    this.canvas = canvas;
    this.ctx = contextOf(canvas);
    this.tile = Math.floor(canvas.height / TILES_HIGH);
    this.bodies = new Bodies(this.tile);
  }

  /** Draw a look as it is at performance time `now`, ms; `still` if it is not to turn. */
  draw(look, now, still) {
    const { ctx, canvas, bodies, tile } = this, body = bodies.body(faceOf(0, look), false);
    const px = Math.round(canvas.width / 2), py = Math.round(canvas.height * FEET_AT);
    const turn = still ? 0 : now / TURN_MS * Math.PI * 2;
    const lookX = Math.sin(turn), lookY = Math.cos(turn);
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(bodies.standing.canvas, px - bodies.standing.ax, py - bodies.standing.ay);
    ctx.drawImage(body.canvas, px - body.ax, py - body.ay);
    const blinks = !still && now % BLINK_EVERY < BLINK_MS;
    const eyes = blinks ? bodies.closed
      : bodies.eyes[Math.round(lookX) + 1 + 3 * (Math.round(lookY) + 1)];
    ctx.drawImage(eyes.canvas, px - eyes.ax + Math.round(lookX * 0.1 * tile),
      py - eyes.ay + Math.round(lookY * 0.055 * tile));
  }
}
