// The legend of the grid overlay: each sign beside what it means.

import { BORDERS } from '../borders.js';
import { element } from './element.js';

const SQUARES = [['held', 'subscribed', 'you receive this square’s channel'],
  ['flash', 'flash', 'a message has just arrived'],
  ['dropped', 'dropped', 'you no longer receive it']];
const SVG = 'http://www.w3.org/2000/svg';
const WIDE = 30, HIGH = 4;                // css px of a line

/** Return the legend. */
export function makeLegend() {
  const item = (sign, word, means) => element('li', {}, sign,
    element('span', {}, element('b', {}, word),
      means === '' ? '' : element('span', { class: 'means' }, ': ' + means)));
  const squares = SQUARES.map(([sort, word, means]) =>
    item(element('i', { class: 'sign ' + sort }), word, means));
  const borders = [...BORDERS].reverse().map((border) =>
    item(lineOf(border), border.word, border.means));
  return element('section', { class: 'legend panel', 'aria-label': 'Legend', hidden: true },
    element('ul', {}, ...squares, ...borders));
}

/** Return a line as it is drawn in the overlay, with the same dashes. */
function lineOf({ colour, dash }) {
  const svg = document.createElementNS(SVG, 'svg'), line = document.createElementNS(SVG, 'line');
  const put = (on, attributes) => {
    for (const [key, value] of Object.entries(attributes)) on.setAttribute(key, String(value));
  };
  put(svg, { width: WIDE, height: HIGH, 'aria-hidden': 'true' });
  put(line, { x1: 0, y1: HIGH / 2, x2: WIDE, y2: HIGH / 2, stroke: colour, 'stroke-width': HIGH - 1,
    'stroke-dasharray': dash.map((length) => length / 2).join(' ') });
  svg.append(line);
  return svg;
}
