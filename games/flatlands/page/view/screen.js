// Converts tiles to device pixels. Everything is computed from the tile that the camera is in, so that
// nothing trembles far from the origin. Everything lies on whole pixels, so that nothing blurs.

export class Screen {
  constructor() {
    /** Device px per tile, and the size of the screen in device px. */
    this.tile = this.width = this.height = 0;
    /** The tile that the camera is in, and the position of its corner in device px. */
    this.baseX = this.baseY = this.left = this.top = 0;
  }

  /** Look from `camera` (tiles) with `tile` device px per tile, on width x height device px. */
  look(camera, tile, width, height) {
    this.tile = tile;
    this.width = width;
    this.height = height;
    this.baseX = Math.floor(camera.x);
    this.baseY = Math.floor(camera.y);
    this.left = Math.floor(width / 2) - Math.round((camera.x - this.baseX) * tile);
    this.top = Math.floor(height / 2) - Math.round((camera.y - this.baseY) * tile);
  }

  /** Return the device px of a place in tiles. */
  x(tiles) {
    return Math.round((tiles - this.baseX) * this.tile) + this.left;
  }

  y(tiles) {
    return Math.round((tiles - this.baseY) * this.tile) + this.top;
  }

  /** Return the place in tiles under a device px. */
  tilesX(px) {
    return this.baseX + (px - this.left) / this.tile;
  }

  tilesY(px) {
    return this.baseY + (px - this.top) / this.tile;
  }

  /** Return whether a box, in device px, is on screen and under no panel; `dpr` is device px per css px. */
  isFree(panels, dpr, left, top, right, bottom) {
    return left >= 0 && top >= 0 && right <= this.width && bottom <= this.height
      && !panels.some((panel) => right > panel.left * dpr && left < panel.right * dpr
        && bottom > panel.top * dpr && top < panel.bottom * dpr);
  }
}
