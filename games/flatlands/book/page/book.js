// The book of this page's player and the almanac, in words: what each of their lines says, and what others
// have done since the book was last read. It never touches the page.

import { forBrowser } from '../keep.js';
import { fromPlaza } from '../near.js';
import { landmarkAt, placeAt } from '../notes.js';

/** @typedef {import('../notes.js').Row} Row */
/** A line: `sign` is its picture (ICONS in hud/element.js), and `place`, in tiles, what it is about.
 * @typedef {{ kind: string, at: number, sign: string, text: string,
 * place: { x: number, y: number, name: string } | null }} Line */
/** An entry of the almanac: kind, somebody's name or "", three numbers, and words or "".
 * @typedef {[string, string, number, number, number, string]} Entry */
/** @typedef {import('../landmarks.js').Landmarks} Landmarks */
/** @typedef {import('../notes.js').Place} Place */

const DAY = 86_400_000;                   // ms
const STANDS_KEY = 'flatlands.stands';    // what stands, and until when
const SEEN_KEY = 'flatlands.book';        // node time, ms, of the newest line that was seen

/** What the book says of what is done for the first time. @type {import('../notes.js').Note[]} */
export const FIRSTS = [
  { kind: 'came', sign: 'home', say: ([, , who]) => [`You came to Flatlands${who === '' ? '' : ` and met ${who}`}.`, null] },
  { kind: 'gem', sign: 'gem', say: ([, , , , x, y]) => [`You found your first gem, ${fromPlaza(x, y)}.`, null] },
  { kind: 'bridge', sign: 'follow', say: ([, , , , x, y]) =>
    [`You crossed your first bridge, ${fromPlaza(x, y)}.`, placeAt(x, y, 'the bridge')] },
];

/** What the almanac says of each kind of entry.
 * @type {Record<string, { sign: string, say: (entry: Entry, landmarks: Landmarks) => [string, Place | null] }>} */
const ENTRIES = {
  farthest: {
    sign: 'follow',
    say: ([, who, , i, j], landmarks) => {
      const place = landmarkAt(i, j, landmarks);
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
  empty: {
    sign: 'book',
    say: () => ['Nothing to tell yet: nobody has found or built anything.', null],
  },
  hands: {
    sign: 'emote',
    say: ([, , n, i, j], landmarks) => {
      const place = landmarkAt(i, j, landmarks);
      return [`${n} ${n === 1 ? 'hand has' : 'hands have'} brought the fire to ${place.name}.`, place];
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

/** Return the lines of a book, as the server sends them, in words. What this page does not know is left out.
 * @param {Row[]} rows @param {import('../state.js').State} state @returns {Line[]} */
export function linesOf(rows, { notes, landmarks }) {
  return rows.flatMap((row) => {
    const [kind, at] = row, note = notes.all.find((each) => each.kind === kind);
    if (note === undefined) return [];
    const [text, place] = note.say(row, landmarks);
    return [{ kind, at, sign: note.sign, text, place }];
  });
}

/** Return what stands longest of what the lines of a book are about: what, and until when (node time, ms); null if nothing does.
 * @param {Row[]} rows @param {import('../state.js').State} state @param {number} now  node time, ms
 * @returns {{ what: string, until: number } | null} */
export function standing(rows, { notes }, now) {
  const all = rows.flatMap(([kind, at]) => {
    const { stands = null } = notes.all.find((each) => each.kind === kind) ?? {};
    return stands === null || at + stands.ms <= now ? [] : [{ what: stands.what, until: at + stands.ms }];
  });
  return all.sort((a, b) => b.until - a.until)[0] ?? null;
}

/** Keep for the next visit what stands.
 * @param {{ what: string, until: number } | null} stands */
export function keepStanding(stands) {
  if (stands === null) forBrowser.forget(STANDS_KEY);
  else forBrowser.set(STANDS_KEY, `${stands.until} ${stands.what}`);
}

/** Return in a sentence what stands of what this browser's player has left, or null.
 * @param {number} now  ms since 1970 */
export function reminder(now) {
  const [until = '', ...words] = (forBrowser.get(STANDS_KEY) ?? '').split(' '), days = midnight(Number(until)) - midnight(now);
  if (words.length === 0 || Number(until) <= now) return null;
  const when = days <= 0 ? 'today' : days === 1 ? 'tomorrow'
    : new Date(Number(until)).toLocaleDateString('en-GB', { weekday: 'long' });
  return `${words.join(' ')} stands until ${when}.`;
}

/** Return the number of the day on which something happens. */
function midnight(at) {
  return Math.round(new Date(at).setHours(12, 0, 0, 0) / DAY);
}

/** Return how many lines there are of each kind: [picture, number, word].
 * @param {Line[]} lines @param {import('../state.js').State} state @returns {[string, number, string][]} */
export function sumsOf(lines, { notes }) {
  return notes.all.flatMap(({ kind, sign, sum }) => {
    if (sum === undefined) return [];
    const [one, many] = sum;
    const n = lines.filter((line) => line.kind === kind).length;
    return n === 0 ? [] : [[sign, n, n === 1 ? one : many]];
  });
}

/** Return what others have done since this was last asked in this browser, the newest first: nothing when it is
 * asked for the first time.
 * @param {Line[]} lines @param {import('../state.js').State} state @returns {Line[]} */
export function sinceSeen(lines, { notes }) {
  const seen = Number(forBrowser.get(SEEN_KEY) ?? NaN);
  forBrowser.set(SEEN_KEY, String(Math.max(seen || 0, ...lines.map(({ at }) => at))));
  return lines.filter(({ kind, at }) => at > seen && notes.all.some((each) => each.kind === kind && each.others === true));
}

function daysOf(ms) {
  const days = Math.floor(ms / DAY);
  return `for ${days} ${days === 1 ? 'day' : 'days'}`;
}
