// Light that glints on open water: the only part of the ground that moves.

import { WATER_TONES } from './palette.js';
import { spriteOf } from './sprite.js';

const CYCLE = 5200;                       // ms

export class Water {
  constructor(tile) {
    const box = { left: -0.5, top: -0.2, right: 0.5, bottom: 0.15 };
    this.sprites = [0.2, 0.3, 0.4].map((half) => spriteOf(tile, box, (ctx) => {
      ctx.strokeStyle = WATER_TONES.glint;
      ctx.lineWidth = 0.075;
      ctx.lineCap = 'round';
      ctx.beginPath();
      ctx.moveTo(-half, 0);
      ctx.quadraticCurveTo(-half / 2, -0.14, 0, 0);
      ctx.quadraticCurveTo(half / 2, -0.14, half, 0);
      ctx.stroke();
    }));
    this.now = 0;                         // in CYCLEs
    this.drift = 0;                       // device px
    this.visit = (piece, x, y) => this.#drawPiece(piece, x, y);
  }

  draw(ctx, state, screen, ground) {
    this.ctx = ctx;
    this.now = state.still ? 0 : state.now / CYCLE;
    this.drift = screen.tile * 0.5;
    ground.eachPiece(screen, this.visit);
    ctx.globalAlpha = 1;
  }

  #drawPiece({ glints }, x, y) {
    const { ctx } = this;
    for (let i = 0; i < glints.length; i += 3) {
      const at = (this.now + glints[i + 2] / 256) % 1;
      if (at > 0.5) continue;
      const shown = Math.sin(at * 2 * Math.PI);
      ctx.globalAlpha = 0.75 * shown;
      const sprite = this.sprites[shown > 0.85 ? 2 : shown > 0.5 ? 1 : 0];
      ctx.drawImage(sprite.canvas, x + glints[i] - sprite.ax + Math.round((at - 0.25) * this.drift),
        y + glints[i + 1] - sprite.ay);
    }
  }
}
