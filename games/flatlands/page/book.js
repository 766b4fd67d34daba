// The book of this page's player and the almanac, in words: what each of their lines says, and what others
// have done since the book was last read. It never touches the page.

import { secondsOf } from './echoes.js';
import { KINDS as GROWN } from './grown.js';
import { forBrowser } from './keep.js';
import { wayTo } from './near.js';
import { ordinalOf } from './places.js';
import { PART } from './landmarks.js';

/** A line as the server tells it: kind, node time in ms, somebody's name or "", and three numbers.
 * @typedef {[string, number, string, number, number, number]} Row */
/** A line: `sign` is its picture (ICONS in hud/element.js), and `place`, in tiles, what it is about.
 * @typedef {{ kind: string, at: number, sign: string, text: string,
 * place: { x: number, y: number, name: string } | null }} Line */
/** An entry of the almanac: kind, somebody's name or "", three numbers, and words or "".
 * @typedef {[string, string, number, number, number, string]} Entry */
/** @typedef {import('./landmarks.js').Landmarks} Landmarks */
/** @typedef {Line['place']} Place */

const DAY = 86_400_000;                   // ms
const SEEN_KEY = 'flatlands.book';        // node time, ms, of the newest line that was seen

/** What is said of each kind of line: `sum` of several, `say` of one. `others`: somebody else has done it, maybe
 * while the player was away. A new kind gets an entry here.
 * @type {Record<string, { sign: string, sum: [string, string], others?: boolean,
 * say: (row: Row, landmarks: Landmarks) => [string, Place] }>} */
const KINDS = {
  landmark: {
    sign: 'flag',
    sum: ['landmark', 'landmarks'],
    say: ([, , , n, i, j], landmarks) => {
      const place = landmarkOf(i, j, landmarks), { name } = place;
      return [n === 1 ? `You were the first to find ${name}: your name is carved there.`
        : `You were the ${ordinalOf(n)} to find ${name}.`, place];
    },
  },
  cairn: {
    sign: 'cairn',
    sum: ['cairn', 'cairns'],
    say: ([, , , , x, y]) => [`You left a cairn ${fromPlaza(x, y)}.`, placeAt(x, y, 'your cairn')],
  },
  stone: {
    sign: 'cairn',
    sum: ['stone from others', 'stones from others'],
    others: true,
    say: ([, , who, n, x, y]) => [`${who} put a stone on your cairn ${fromPlaza(x, y)}: it has ${n} now.`,
      placeAt(x, y, 'your cairn')],
  },
  hand: {
    sign: 'flame',
    sum: ['landmark lit', 'landmarks lit'],
    say: ([, , who, n, i, j], landmarks) => {
      const mark = landmarks.of(i, j), name = mark === null ? 'a landmark' : mark.name;
      const hands = ['You', `You and ${who}`, `You, ${who} and another`][n - 1] ?? `You, ${who} and ${n - 2} others`;
      return [`${hands} brought the ember to ${name}.`,
        { x: (mark?.x ?? i * PART) + 0.5, y: (mark?.y ?? j * PART) + 0.5, name }];
    },
  },
  plant: {
    sign: 'flower',
    sum: ['garden', 'gardens'],
    say: ([, , , n, x, y]) => [`You planted ${GROWN[n - 1]?.many ?? 'something'} ${fromPlaza(x, y)}.`,
      placeAt(x, y, 'your garden')],
  },
  twin: {
    sign: 'gem',
    sum: ['twin gem', 'twin gems'],
    say: ([, , who, , x, y]) => [`You and ${who} opened twin stones ${fromPlaza(x, y)}.`, null],
  },
  spark: {
    sign: 'emote',
    sum: ['spark', 'sparks'],
    say: ([, , who, , x, y]) => [`You and ${who} waved to each other ${fromPlaza(x, y)}.`, null],
  },
  bloom: {
    sign: 'flower',
    sum: ['square in bloom', 'squares in bloom'],
    say: ([, , who, , x, y]) => [`You, ${who} and a third danced until a square bloomed ${fromPlaza(x, y)}.`,
      placeAt(x, y, 'where you danced')],
  },
  echo: {
    sign: 'race',
    sum: ['race won', 'races won'],
    say: (row, landmarks) => {
      const { from, name, time } = courseOf(row, landmarks), [, , who] = row;
      return [`${who === '' ? 'You were the first' : `You beat ${who}`} on the way to ${name}: ${time}.`, from];
    },
  },
  beaten: {
    sign: 'race',
    sum: ['race lost', 'races lost'],
    others: true,
    say: (row, landmarks) => {
      const { from, name, time } = courseOf(row, landmarks);
      return [`${row[2]} was faster than you on the way to ${name}: ${time}.`, from];
    },
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

/** Return the lines of a book, as the server tells them, in words. What this page does not know is left out.
 * @param {Row[]} rows @param {Landmarks} landmarks @returns {Line[]} */
export function linesOf(rows, landmarks) {
  return rows.filter(([kind]) => Object.hasOwn(KINDS, kind)).map((row) => {
    const [kind, at] = row, [text, place] = KINDS[kind].say(row, landmarks);
    return { kind, at, sign: KINDS[kind].sign, text, place };
  });
}

/** Return how many lines there are of each kind: [picture, number, word].
 * @param {Line[]} lines @returns {[string, number, string][]} */
export function sumsOf(lines) {
  return Object.entries(KINDS).flatMap(([kind, { sign, sum: [one, many] }]) => {
    const n = lines.filter((line) => line.kind === kind).length;
    return n === 0 ? [] : [[sign, n, n === 1 ? one : many]];
  });
}

/** Return what others have done since this was last asked in this browser, the newest first: nothing when it is
 * asked for the first time.
 * @param {Line[]} lines @returns {Line[]} */
export function sinceSeen(lines) {
  const seen = Number(forBrowser.get(SEEN_KEY) ?? NaN);
  forBrowser.set(SEEN_KEY, String(Math.max(seen || 0, ...lines.map(({ at }) => at))));
  return lines.filter(({ kind, at }) => KINDS[kind].others === true && at > seen);
}

/** Return where the course of a row begins, where it leads, and in what time it was run.
 * @param {Row} row @param {Landmarks} landmarks */
function courseOf([, , , n, i, j], landmarks) {
  const post = landmarks.post(i, j), course = post && landmarks.courses(post).find(({ side }) => side === n % 4);
  const from = post && placeAt(post.x, post.y, 'the signpost where it begins');
  return { from, name: course?.name ?? 'a signpost', time: secondsOf(Math.floor(n / 4)) };
}

/** Return in words where a tile is. */
function fromPlaza(x, y) {
  const way = wayTo(x, y);
  return way === 'here' ? 'on the plaza' : `${way} of the plaza`;
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

function placeAt(x, y, name) {
  return { x: x + 0.5, y: y + 0.5, name };
}
