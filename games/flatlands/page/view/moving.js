// What moves about landmarks: sails, balloons and the beams of lighthouses.

import { box } from './shapes.js';
import { discOf, oval, spriteOf } from './sprite.js';

const TURN_MS = 9000;                     // of a windmill's sails
const BEAM_MS = 7000;                     // of a lighthouse's light
const BOB_MS = 5200, BOB = 0.12;          // of a balloon; tiles
const HUB = -3.05, SAIL = 1.75;           // tiles: a windmill's axle over the ground; a sail's length
/** A lighthouse's lamp over the ground, in tiles. */
export const LAMP = -4.3;

function paintSails(ctx) {
  for (let i = 0; i < 4; i++) {
    box(ctx, '#fbf4e2', 0.06, -SAIL, 0.42, SAIL - 0.35);
    ctx.fillStyle = '#e6d8b8';
    for (let y = 0.5; y < SAIL - 0.1; y += 0.3) ctx.fillRect(0.06, -y - 0.03, 0.42, 0.05);
    ctx.fillRect(0.25, -SAIL, 0.04, SAIL - 0.35);
    box(ctx, '#6b4a30', -0.05, -SAIL - 0.05, 0.1, SAIL);
    ctx.rotate(Math.PI / 2);
  }
  oval(ctx, 0, 0, 0.16, 0.16, '#8f6441');
  oval(ctx, -0.03, -0.03, 0.08, 0.08, '#c99b68');
}

function paintEnvelope(ctx) {
  const shell = (half, style) => {
    ctx.fillStyle = style;
    ctx.beginPath();
    ctx.moveTo(0, -4.4);
    ctx.bezierCurveTo(half * 1.35, -4.4, half * 1.3, -2.8, half * 0.3, -1.72);
    ctx.lineTo(-half * 0.3, -1.72);
    ctx.bezierCurveTo(-half * 1.3, -2.8, -half * 1.35, -4.4, 0, -4.4);
    ctx.fill();
  };
  ['#d6453d', '#f7d9a0', '#e2674f', '#ffedc9'].forEach((style, i) =>
    shell(1.2 - 0.33 * i, style));
  oval(ctx, -0.5, -3.7, 0.16, 0.34, 'rgba(255, 255, 255, 0.5)', 0.35);
  ctx.strokeStyle = '#7a5438';
  ctx.lineWidth = 0.04;
  ctx.beginPath();
  for (const x of [-0.3, -0.1, 0.1, 0.3]) {
    ctx.moveTo(x, -1.72);
    ctx.lineTo(x * 0.95, -1.2);
  }
  ctx.stroke();
  box(ctx, '#8a6239', -0.36, -1.22, 0.72, 0.54, 0.12);
  box(ctx, '#b98a58', -0.36, -1.22, 0.5, 0.5, 0.12);
  box(ctx, '#5d4128', -0.4, -1.26, 0.8, 0.1);
}

/** What moves about landmarks, at `tile` device px per tile. */
export class MovingParts {
  constructor(tile) {
    this.tile = tile;
    const sail = SAIL + 0.2;
    this.sails = spriteOf(tile, { left: -sail, top: -sail, right: sail, bottom: sail }, paintSails);
    this.envelope = spriteOf(tile, { left: -1.4, top: -4.5, right: 1.4, bottom: -0.6 },
      paintEnvelope);
    this.beam = discOf(tile, 5, 0.5, '255, 236, 170', 0.8);
  }

  /** Draw what moves about landmarks: see Ground.marks. */
  draw(ctx, state, marks) {
    for (const { kind, footX, footY } of marks) this.#draw(ctx, state, kind, footX, footY);
  }

  #draw(ctx, state, kind, px, py) {
    const now = state.still ? 0 : state.now;
    if (kind === 'windmill') {
      ctx.save();
      ctx.translate(px, py + Math.round(HUB * this.tile));
      ctx.rotate(now / TURN_MS * Math.PI * 2 + 0.4);
      ctx.drawImage(this.sails.canvas, -this.sails.ax, -this.sails.ay);
      ctx.restore();
    } else if (kind === 'balloon') {
      const up = Math.round(Math.sin(now / BOB_MS * Math.PI * 2) * BOB * this.tile);
      ctx.drawImage(this.envelope.canvas, px - this.envelope.ax, py - this.envelope.ay + up);
    }
  }

  /** Draw the beams of lighthouses in the dark; the canvas adds what is drawn. */
  drawBeams(ctx, state, marks) {
    if (state.still) return;
    for (const { kind, footX, footY } of marks) {
      if (kind !== 'lighthouse') continue;
      ctx.save();
      ctx.translate(footX, footY + Math.round(LAMP * this.tile));
      ctx.rotate(state.now / BEAM_MS * Math.PI * 2);
      ctx.drawImage(this.beam.canvas, -this.beam.ax, -this.beam.ay);
      ctx.restore();
    }
  }
}
