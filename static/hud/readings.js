// The panel of readings: what the page measures about itself, four times a second.

import { element, signed } from './element.js';

export class Readings {
  constructor() {
    this.values = {};
    const list = element('dl', {});
    for (const label of ['You', 'Place', 'In view', 'Ping', 'Channels']) {
      this.values[label] = element('dd');
      list.append(element('dt', {}, label), this.values[label]);
    }
    this.line = element('p', { class: 'line' });
    this.root = element('section', { class: 'readings panel', 'aria-label': 'Readings' }, list,
      this.line);
  }

  show({ name, position, square, ping, people, clockwork, held, messages, bytes }) {
    const { values } = this, { col, row } = square, at = `square ${signed(col)}, ${signed(row)}`;
    const delay = ping === null ? '–' : Math.round(ping) + ' ms';
    const rate = Math.round(messages) + ' msg/s';
    const others = people === 1 ? '1 person' : people + ' people';
    write(values.You, name);
    const x = Math.floor(position.x), y = Math.floor(position.y);
    write(values.Place, `${signed(x)}, ${signed(y)} · ${at}`);
    write(values['In view'], clockwork > 0 ? `${others}, ${clockwork} clockwork` : others);
    write(values.Ping, delay);
    write(values.Channels, `${held} held · ${rate} · ${sizeOf(bytes)}/s`);
    write(this.line, `${signed(col)}, ${signed(row)} · ${people + clockwork} in view · ${delay}`);
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
