// The book: what the player has found and done, and a card with what others did for it meanwhile; and the
// almanac, which describes the world.

import { byTouch, element, icon, show } from '../hud/element.js';

/** @typedef {import('./book.js').Line} Line */

const ON_CARD = 3, ON_SMALL_CARD = 1;     // lines
const CARD_MS = 20000;

export class BookPanels {
  /** `on` has { you(), book(), almanac(), goToPlace(x, y, name) }. */
  constructor(on) {
    this.on = on;
    this.title = element('h2', {});
    this.you = element('button', { type: 'button', class: 'quiet' }, 'Name and face');
    this.sums = element('ul', { class: 'sums', 'aria-label': 'All together' });
    this.nothing = element('p', {}, 'Nothing yet. What you find and leave, what you do with others, and '
      + 'what others do while you are away will be written here.');
    this.reminder = element('p', { class: 'stands', hidden: true });
    this.lines = element('div', { class: 'lines' });
    this.pages = element('div', {});
    const almanac = element('button', { type: 'button', class: 'quiet' }, 'Almanac');
    this.root = element('dialog', { class: 'help book panel', 'aria-label': 'Your book' },
      element('header', {}, this.title, almanac, this.you), this.sums, this.reminder, this.nothing, this.lines, this.pages,
      element('form', { class: 'end', method: 'dialog' },
        element('button', { type: 'submit', class: 'play quiet' }, 'Close')));
    this.you.addEventListener('click', () => {
      this.root.close();
      on.you();
    });
    almanac.addEventListener('click', () => {
      this.root.close();
      on.almanac();
    });
    this.entries = element('ul', { 'aria-label': 'Today' });
    this.almanac = element('dialog', { class: 'help book panel', 'aria-label': 'Almanac' },
      element('h2', {}, 'Almanac'), element('p', {}, 'Each day of this world, which is sixteen minutes, has a '
        + 'page.'), element('div', { class: 'lines' }, this.entries), element('form', { class: 'end', method: 'dialog' },
        element('button', { type: 'submit', class: 'play quiet' }, 'Close')));
    this.news = element('ul', {});
    const open = element('button', { type: 'button' }, 'Open the book');
    const close = element('button', { type: 'button', class: 'quiet' }, 'Close');
    this.card = element('section', { class: 'since panel', role: 'status', 'aria-label': 'While you were away',
      hidden: true }, element('h2', {}, 'While you were away'), this.news,
    element('div', { class: 'row-of-buttons' }, open, close));
    open.addEventListener('click', () => {
      this.closeCard();
      on.book();
    });
    close.addEventListener('click', () => this.closeCard());
  }

  /** Fill the book of a player of this name.
   * @param {string} name @param {Line[]} lines @param {[string, number, string][]} sums @param {number} now  ms
   * @param {string | null} reminder  what stands */
  fill(name, lines, sums, now, reminder) {
    this.reminder.textContent = reminder ?? '';
    show(reminder !== null, this.reminder);
    this.title.replaceChildren(element('bdi', {}, name), '’s book');
    this.sums.replaceChildren(...sums.map(([sign, n, word]) =>
      element('li', {}, icon(sign), element('b', {}, String(n)), ` ${word}`)));
    const days = new Map();
    for (const line of lines) {
      const day = dayOf(line.at, now);
      if (!days.has(day)) days.set(day, []);
      days.get(day).push(this.#row(line, this.root));
    }
    this.lines.replaceChildren(...[...days].flatMap(([day, rows]) =>
      [element('h3', {}, day), element('ul', { 'aria-label': day }, ...rows)]));
    show(lines.length === 0, this.nothing);
    show(sums.length > 0, this.sums);
  }

  /** Show for a while what others have done while the player was away.
   * @param {Line[]} lines */
  since(lines) {
    if (lines.length === 0) return;
    // On a phone it must not cover the player's walker.
    const most = byTouch() ? ON_SMALL_CARD : ON_CARD, more = lines.length - most;
    this.news.replaceChildren(...lines.slice(0, most).map(({ sign, text }) =>
      element('li', {}, icon(sign), element('span', {}, text))),
    ...more > 0 ? [element('li', {}, `… and ${more} more`)] : []);
    show(true, this.card);
    this.timer = setTimeout(() => this.closeCard(), CARD_MS);
  }

  closeCard() {
    clearTimeout(this.timer);
    show(false, this.card);
  }

  /** Fill the almanac.
   * @param {Line[]} lines */
  fillAlmanac(lines) {
    this.entries.replaceChildren(...lines.map((line) => this.#row(line, this.almanac)));
  }

  /** Return a line of a dialog.
   * @param {Line} line @param {HTMLDialogElement} dialog */
  #row({ sign, text, place }, dialog) {
    const words = element('span', {}, text);
    if (place === null) return element('li', {}, icon(sign), words);
    const button = element('button', { type: 'button', title: `Go to ${place.name}` }, icon(sign), words);
    button.addEventListener('click', () => {
      dialog.close();
      this.on.goToPlace(place.x, place.y, place.name);
    });
    return element('li', {}, button);
  }
}

/** Return the day on which something happened, in words.
 * @param {number} at @param {number} now  both in ms since 1970 */
export function dayOf(at, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0), day = new Date(at).setHours(0, 0, 0, 0);
  const before = Math.round((midnight - day) / 86_400_000);
  if (before <= 0) return 'Today';
  if (before === 1) return 'Yesterday';
  return new Date(at).toLocaleDateString([], { day: 'numeric', month: 'long' });
}
