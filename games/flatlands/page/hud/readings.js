// Who is in view, in a chip that opens the list of them, and the readings: what the page measures about itself, four
// times a second. The readings are shown while the grid is.

import { Chip } from './chip.js';
import { element, show, signed } from './element.js';

export class Readings {
  /** `onNear()` opens the list of who is near. */
  constructor(onNear) {
    this.values = {};
    const list = element('dl', {});
    for (const label of ['You', 'Place', 'Ping', 'Channels']) {
      this.values[label] = element('dd');
      list.append(element('dt', {}, label), this.values[label]);
    }
    this.count = new Chip('people', 'Who is near (M)', onNear);
    this.count.root.classList.add('tally');
    this.strip = element('div', { class: 'strip' }, this.count.root);
    this.list = element('div', { class: 'list panel', hidden: true }, list);
    this.root = element('section', { class: 'readings playing', 'aria-label': 'Readings' }, this.strip, this.list);
  }

  /** Show the readings, or only who is in view. */
  open(is) {
    show(is, this.list);
  }

  show({ name, position, square, ping, company, held, messages, bytes }) {
    const { values } = this, { col, row } = square;
    this.count.show(company);
    write(values.You, name);
    const x = Math.floor(position.x), y = Math.floor(position.y);
    write(values.Place, `${signed(x)}, ${signed(y)} · square ${signed(col)}, ${signed(row)}`);
    write(values.Ping, ping === null ? '–' : Math.round(ping) + ' ms');
    write(values.Channels, `${held} squares · ${Math.round(messages)} msg/s · ${sizeOf(bytes)}/s`);
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
