// The book of this page's player and the almanac, in words: what each of their lines says, and what others
// have done since the book was last read. It never touches the page.

import { forBrowser } from './keep.js';
import { fromPlaza } from './near.js';
import { placeAt } from './notes.js';
import { ordinalOf } from './places.js';
import { PART } from './landmarks.js';

/** @typedef {import('./notes.js').Note} Note */
/** @typedef {import('./notes.js').Row} Row */
/** A line: `sign` is its picture (ICONS in hud/element.js), and `place`, in tiles, what it is about.
 * @typedef {{ kind: string, at: number, sign: string, text: string,
 * place: { x: number, y: number, name: string } | null }} Line */
/** An entry of the almanac: kind, somebody's name or "", three numbers, and words or "".
 * @typedef {[string, string, number, number, number, string]} Entry */
/** @typedef {import('./landmarks.js').Landmarks} Landmarks */
/** @typedef {import('./notes.js').Place} Place */

const DAY = 86_400_000;                   // ms
const SEEN_KEY = 'flatlands.book';        // node time, ms, of the newest line that was seen

/** What is said of kinds of lines, by their places in the sums.
 * @type {Record<string, Omit<Note, 'kind'> & { at: number }>} */
const KINDS = {
  landmark: {
    at: 10,
    sign: 'flag',
    sum: ['landmark', 'landmarks'],
    say: ([, , , n, i, j], landmarks) => {
      const place = landmarkOf(i, j, landmarks), { name } = place;
      return [n === 1 ? `You were the first to find ${name}: your name is carved there.`
        : `You were the ${ordinalOf(n)} to find ${name}.`, place];
    },
  },
  cairn: {
    at: 20,
    sign: 'cairn',
    sum: ['cairn', 'cairns'],
    say: ([, , , , x, y]) => [`You left a cairn ${fromPlaza(x, y)}.`, placeAt(x, y, 'your cairn')],
  },
  stone: {
    at: 30,
    sign: 'cairn',
    sum: ['stone from others', 'stones from others'],
    others: true,
    say: ([, , who, n, x, y]) => [`${who} put a stone on your cairn ${fromPlaza(x, y)}: it has ${n} now.`,
      placeAt(x, y, 'your cairn')],
  },
  hand: {
    at: 40,
    sign: 'flame',
    sum: ['landmark lit', 'landmarks lit'],
    say: ([, , who, n, i, j], landmarks) => {
      const mark = landmarks.of(i, j), name = mark === null ? 'a landmark' : mark.name;
      const hands = ['You', `You and ${who}`, `You, ${who} and another`][n - 1] ?? `You, ${who} and ${n - 2} others`;
      return [`${hands} brought the ember to ${name}.`,
        { x: (mark?.x ?? i * PART) + 0.5, y: (mark?.y ?? j * PART) + 0.5, name }];
    },
  },
  spark: {
    at: 70,
    sign: 'emote',
    sum: ['spark', 'sparks'],
    say: ([, , who, , x, y]) => [`You and ${who} waved to each other ${fromPlaza(x, y)}.`, null],
  },
};

/** What the almanac says of each kind of entry.
 * @type {Record<string, { sign: string, say: (entry: Entry, landmarks: Landmarks) => [string, Place] }>} */
const ENTRIES = {
  farthest: {
    sign: 'follow',
    say: ([, who, , i, j], landmarks) => {
      const place = landmarkOf(i, j, landmarks);
      return [`${who} went farthest: to ${place.name}, ${fromPlaza(place.x, place.y)}.`, place];
    },
  },
  loneliest: {
    sign: 'cairn',
    say: ([, who, n, x, y, words]) => [`${who}’s cairn is the loneliest: ${n} tiles from the next one. `
      + `“${words}”`, placeAt(x, y, 'the loneliest cairn')],
  },
  oldest: {
    sign: 'cairn',
    say: ([, who, n, x, y, words]) => [`${who}’s cairn is the oldest: it has stood `
      + `${n < DAY ? 'since today' : daysOf(n)}. “${words}”`, placeAt(x, y, 'the oldest cairn')],
  },
  hands: {
    sign: 'emote',
    say: ([, , n, i, j], landmarks) => {
      const place = landmarkOf(i, j, landmarks);
      return [`${n} ${n === 1 ? 'hand has' : 'hands have'} brought the fire to ${place.name}.`, place];
    },
  },
  unseen: {
    sign: 'flag',
    say: ([, , , i, j], landmarks) => {
      const place = landmarkOf(i, j, landmarks);
      return [`Nobody has ever seen ${place.name}, ${fromPlaza(place.x, place.y)}.`, place];
    },
  },
};

/** Return the entries of the almanac in words. What this page does not know is left out.
 * @param {Entry[]} entries @param {Landmarks} landmarks @returns {Line[]} */
export function almanacOf(entries, landmarks) {
  return entries.filter(([kind]) => Object.hasOwn(ENTRIES, kind)).map((entry) => {
    const { sign, say } = ENTRIES[entry[0]], [text, place] = say(entry, landmarks);
    return { kind: entry[0], at: 0, sign, text, place };
  });
}

/** Let a state know what is said of the kinds of lines that are known here.
 * @param {import('./state.js').State} state */
export function addNotes({ notes }) {
  for (const [kind, { at, ...note }] of Object.entries(KINDS)) notes.add(at, { kind, ...note });
}

/** Return the lines of a book, as the server tells them, in words. What this page does not know is left out.
 * @param {Row[]} rows @param {import('./state.js').State} state @returns {Line[]} */
export function linesOf(rows, { notes, landmarks }) {
  return rows.flatMap((row) => {
    const [kind, at] = row, note = notes.all.find((each) => each.kind === kind);
    if (note === undefined) return [];
    const [text, place] = note.say(row, landmarks);
    return [{ kind, at, sign: note.sign, text, place }];
  });
}

/** Return how many lines there are of each kind: [picture, number, word].
 * @param {Line[]} lines @param {import('./state.js').State} state @returns {[string, number, string][]} */
export function sumsOf(lines, { notes }) {
  return notes.all.flatMap(({ kind, sign, sum: [one, many] }) => {
    const n = lines.filter((line) => line.kind === kind).length;
    return n === 0 ? [] : [[sign, n, n === 1 ? one : many]];
  });
}

/** Return what others have done since this was last asked in this browser, the newest first: nothing when it is
 * asked for the first time.
 * @param {Line[]} lines @param {import('./state.js').State} state @returns {Line[]} */
export function sinceSeen(lines, { notes }) {
  const seen = Number(forBrowser.get(SEEN_KEY) ?? NaN);
  forBrowser.set(SEEN_KEY, String(Math.max(seen || 0, ...lines.map(({ at }) => at))));
  return lines.filter(({ kind, at }) => at > seen && notes.all.some((each) => each.kind === kind && each.others === true));
}

function daysOf(ms) {
  const days = Math.floor(ms / DAY);
  return `for ${days} ${days === 1 ? 'day' : 'days'}`;
}

/** Return where the landmark of a part of the world is, and its name.
 * @param {number} i @param {number} j @param {Landmarks} landmarks */
function landmarkOf(i, j, landmarks) {
  const { x, y, name } = landmarks.of(i, j) ?? { x: i * PART, y: j * PART, name: 'a landmark' };
  return placeAt(x, y, name);
}
