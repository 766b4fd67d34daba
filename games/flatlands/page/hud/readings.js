// Who is in view, and the readings: what the page measures about itself, four times a second.
// Readings are shown while the grid is.

import { element, show, signed } from './element.js';

export class Readings {
  constructor() {
    this.values = {};
    const list = element('dl', {});
    for (const label of ['You', 'Place', 'Ping', 'Channels']) {
      this.values[label] = element('dd');
      list.append(element('dt', {}, label), this.values[label]);
    }
    this.count = element('p', { class: 'tally panel' });
    this.list = element('div', { class: 'list panel', hidden: true }, list);
    this.root = element('section', { class: 'readings', 'aria-label': 'Readings' }, this.count,
      this.list);
  }

  /** Show the readings, or only who is in view. */
  open(is) {
    show(is, this.list);
  }

  show({ name, position, square, ping, company, held, messages, bytes }) {
    const { values } = this, { col, row } = square;
    write(this.count, company);
    write(values.You, name);
    const x = Math.floor(position.x), y = Math.floor(position.y);
    write(values.Place, `${signed(x)}, ${signed(y)} · square ${signed(col)}, ${signed(row)}`);
    write(values.Ping, ping === null ? '–' : Math.round(ping) + ' ms');
    write(values.Channels, `${held} held · ${Math.round(messages)} msg/s · ${sizeOf(bytes)}/s`);
  }
}

/** Change the page only if the text has changed. */
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function sizeOf(bytes) {
  if (bytes < 1000) return Math.round(bytes) + ' B';
  return bytes < 1e6 ? (bytes / 1000).toFixed(1) + ' KB' : (bytes / 1e6).toFixed(1) + ' MB';
}
