// A photo: what the screen shows of the world, as a file with the name of the place, to share or to keep.

import { byTouch } from './hud/element.js';
import { fromPlaza } from './near.js';

const NEAR = 25;                          // tiles: a landmark so near gives the place its name
const MARGIN = 18, SIZE = 19;             // css px

/** Return the name of the place where this page's player is.
 * @param {import('./state.js').State} state */
export function placeName({ marks, here }) {
  const away = ({ foot, y }) => Math.hypot(foot - here.x, y - here.y);
  const [nearest] = marks.filter((mark) => away(mark) < NEAR).sort((a, b) => away(a) - away(b));
  if (nearest !== undefined) return `At ${nearest.name}`;
  const way = fromPlaza(here.x, here.y);
  return way.charAt(0).toUpperCase() + way.slice(1);
}

/** @param {import('./main.js').Game} game */
export function install({ state, hud, events }) {
  /** Return the picture of the world with the name of the place in a corner. */
  function picture() {
    const world = /** @type {HTMLCanvasElement} */ (document.getElementById('world'));
    const { width, height } = world, photo = Object.assign(document.createElement('canvas'), { width, height });
    const ctx = /** @type {CanvasRenderingContext2D} */ (photo.getContext('2d')), dpr = width / innerWidth;
    ctx.drawImage(world, 0, 0);
    ctx.font = `800 ${SIZE * dpr}px system-ui, sans-serif`;
    ctx.lineJoin = 'round';
    ctx.lineWidth = 4 * dpr;
    ctx.strokeStyle = 'rgba(20, 26, 36, 0.9)';
    ctx.fillStyle = '#ffe9b0';
    const text = `${placeName(state)} · Flatlands`;
    for (const draw of ['strokeText', 'fillText']) ctx[draw](text, MARGIN * dpr, height - MARGIN * dpr);
    return new Promise((resolve) => photo.toBlob(resolve, 'image/png'));
  }

  /** Share the photo from a phone, and otherwise let the browser keep it. */
  async function take() {
    const blob = await picture(), file = new File([blob], `${placeName(state)}.png`, { type: 'image/png' });
    if (byTouch() && navigator.canShare?.({ files: [file] })) {
      try {
        return await navigator.share({ files: [file] });
      } catch (error) {
        // The player has cancelled.
        if (!(error instanceof DOMException)) throw error;
        return undefined;
      }
    }
    const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(blob), download: file.name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    return hud.toast(`Photo: ${placeName(state)}.`);
  }

  events.on('photo', take);
}
