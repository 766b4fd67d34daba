// The book of this page's player, and the almanac: when they are asked for, and shown.

import { isComputer } from '../faces.js';
import { NOTICE_BOARD } from '../landmarks.js';
import { BRIDGE } from '../terrain.js';
import { almanacOf, FIRSTS, keepStanding, linesOf, reminder, sinceSeen, standing, sumsOf } from './book.js';
import { BookPanels } from './panels.js';

const ASKS_EVERY = 6000;                  // ms between two times that either is asked for
const MEETS_WITHIN = 12000;               // ms in which somebody greets a newcomer, if anybody does
const LOOKS_EVERY = 500;                  // ms between two looks whether the player is on a bridge
const BOARD_HALF = 0.9, BOARD_HIGH = 1;   // tiles of the notice board to its sides, and above its own

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, hud, controls, events }) {
  const { on, identity, net } = client;
  const panels = new BookPanels({ you: events.emitter('you'), book: () => openBook(), almanac: () => openAlmanac(),
    goToPlace: events.emitter('go') });
  let read = false;                       // true once the book has come
  /** @type {Set<string>} The kinds of first lines that this window has asked for. */
  const asked = new Set();
  /** @type {Record<string, number>} When each was asked for, performance time, ms. */
  const askedAt = {};

  /** Ask for the book or the almanac, but not so often that the server would refuse it. */
  function ask(what) {
    const now = performance.now();
    if (now < (askedAt[what] ?? -Infinity) + ASKS_EVERY) return;
    askedAt[what] = now;
    client.do[what]();
  }

  function openBook() {
    if (!net.playing) return;
    ask('book');
    panels.closeCard();
    panels.pages.replaceChildren(...hud.pages.all);
    hud.openDialog(panels.root);
    events.emit('book');
  }

  function openAlmanac() {
    if (!net.playing) return;
    ask('almanac');
    hud.openDialog(panels.almanac);
  }

  /** Let a line be written, once in this window. The server may not do so: then the next visit asks again, until the book has it.
   * @param {string} kind @param {() => void} write */
  function writeFirst(kind, write) {
    if (asked.has(kind) || state.did.has(kind) || !net.playing) return;
    asked.add(kind);
    write();
  }

  /** Let the book begin, with the clockwork walker of an id, or without one (0). */
  const begin = (guide) => writeFirst('came', () => client.do.came(guide));

  /** Note the first bridge. */
  function lookForBridge() {
    const { here, terrain } = state;
    if (terrain.kind(Math.floor(here.x), Math.floor(here.y)) === BRIDGE) writeFirst('bridge', () => client.do.crossed());
  }

  hud.titleScreen.remind(reminder(Date.now()));
  FIRSTS.forEach((each, i) => state.notes.add(i, each));
  on.begun(() => setTimeout(() => begin(0), MEETS_WITHIN));
  on.said((player, text) => player !== null && isComputer(player.id) && text.includes(identity.name) && begin(player.id));
  setInterval(lookForBridge, LOOKS_EVERY);
  hud.note(20, panels.card);
  hud.deed({ letter: 'n', sign: 'book', label: 'Book', at: 30, act: openBook });
  controls.targets.add(50, (cssX, cssY) => isOnBoard(view.tileAt(state, cssX, cssY)) ? openAlmanac : null);
  on.message('book', (rows) => {
    const lines = linesOf(rows, state), since = sinceSeen(lines, state);
    for (const [kind] of rows) if (asked.has(kind) && !state.did.has(kind)) events.emit('did', kind);
    keepStanding(standing(rows, state, state.clock.now()));
    panels.fill(identity.name, lines, sumsOf(lines, state), Date.now(), reminder(Date.now()));
    // What comes while the player plays is shown anyway.
    if (!read) panels.since(since);
    read = true;
  });
  on.message('almanac', (_, entries) => {
    const notices = state.board.all.flatMap((say) => say() ?? []).map((text) => ({ kind: '', at: 0, sign: 'flag', text, place: null }));
    panels.fillAlmanac([...notices, ...almanacOf(entries, state.landmarks)]);
  });
  events.on('first', () => ask('book'));
  events.on('walked', () => panels.closeCard());
}

/** Return whether a place is on the notice board on the plaza, as it is drawn. */
function isOnBoard({ x, y }) {
  return Math.abs(x - NOTICE_BOARD.x - 0.5) < BOARD_HALF && y > NOTICE_BOARD.y - BOARD_HIGH && y < NOTICE_BOARD.y + 1;
}
