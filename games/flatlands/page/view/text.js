// Words on the canvas. They are measured and drawn once into small pictures, which are then copied.

import { canvasOf, contextOf, Lru } from './sprite.js';

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const MEMORY = 8 * 2 ** 20;               // bytes
const PLATE = 8;                          // css px of a plate to both sides of its text
const RIGHT_TO_LEFT = /^[^A-Za-z\u00c0-\u02b8]*[\u0591-\u07ff\ufb1d-\ufdfd\ufe70-\ufefc]/;
const BREAKS = /[\s\p{Cc}\u2028\u2029]+/gu;
const graphemes = typeof Intl !== 'undefined' && Intl.Segmenter ? new Intl.Segmenter() : null;

const ruler = contextOf(canvasOf(1, 1));
const lines = new Lru(MEMORY);

/** Return a text without line breaks and control characters. */
export function plain(text) {
  return String(text).replace(BREAKS, ' ').trim();
}

/** Split a text into what a reader sees as letters: emoji with their joiners stay whole. */
function lettersOf(text) {
  return graphemes === null ? Array.from(text)
    : Array.from(graphemes.segment(text), ({ segment }) => segment);
}

export function isRightToLeft(text) {
  return RIGHT_TO_LEFT.test(text);
}

/** Return the width of a text in css px. */
export function widthOf(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}

/** Break a text into at most `most` lines of `width` css px. If something is left out, the last line
 * ends in dots. */
export function wrap(text, font, width, most) {
  ruler.font = font;
  const fits = (line) => ruler.measureText(line).width <= width;
  const rows = [];
  let rest = plain(text);
  while (rest !== '' && rows.length < most) {
    if (fits(rest)) {
      rows.push(rest);
      break;
    }
    const letters = lettersOf(rest), last = rows.length === most - 1;
    let low = 1, high = letters.length;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (fits(letters.slice(0, middle).join('') + (last ? '…' : ''))) low = middle;
      else high = middle - 1;
    }
    let row = letters.slice(0, low).join('');
    const space = row.lastIndexOf(' ');
    const atSpace = letters[low] === ' ' || space < row.length / 3;
    if (!atSpace && !last) row = row.slice(0, space);
    rest = rest.slice(row.length).trim();
    rows.push(last ? row.trimEnd() + '…' : row);
  }
  return rows;
}

/** Return a line of text as a picture of w x h device px. `outline` is a colour or null, as is the `plate` behind
 * it; `size` is in css px. The text is centred in the picture. A text wider than `widest` css px is cut and ends in dots.
 * @param {string} text
 * @param {{ size: number, weight?: number, colour: string, outline?: string | null, plate?: string | null, dpr: number,
 *   widest?: number }} look
 * @returns {{ canvas: HTMLCanvasElement, w: number, h: number }} */
export function textOf(text, { size, weight = 700, colour, outline = null, plate = null, dpr,
  widest = Infinity }) {
  const key = size + '|' + weight + '|' + colour + '|' + outline + '|' + plate + '|' + dpr + '|' + widest + '|'
    + text;
  const known = lines.get(key);
  if (known !== undefined) return known;
  const font = weight + ' ' + size + 'px ' + FONT;
  const edge = plate !== null ? PLATE : outline === null ? 1 : 3;
  if (widest < Infinity) [text = ''] = wrap(text, font, widest, 1);
  // A single letter can be wider than the room for it: it is cut off.
  const w = Math.ceil((Math.min(widthOf(text, font), widest) + 2 * edge) * dpr);
  const h = Math.ceil((size * 1.35 + 2 * Math.min(edge, 3)) * dpr);
  const canvas = canvasOf(w, h), ctx = contextOf(canvas);
  ctx.scale(dpr, dpr);
  ctx.font = font;
  ctx.direction = isRightToLeft(text) ? 'rtl' : 'ltr';
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  if (plate !== null) {
    ctx.fillStyle = plate;
    ctx.beginPath();
    ctx.roundRect(0, 0, w / dpr, h / dpr, h / dpr / 2);
    ctx.fill();
  }
  if (outline !== null) {
    ctx.lineJoin = 'round';
    ctx.lineWidth = 3.4;
    ctx.strokeStyle = outline;
    ctx.strokeText(text, w / dpr / 2, h / dpr / 2);
  }
  ctx.fillStyle = colour;
  ctx.fillText(text, w / dpr / 2, h / dpr / 2);
  return lines.set(key, { canvas, w, h }, w * h * 4);
}
