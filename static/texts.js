// What players may write: names and chat.

import { TEXT_LIMIT } from './protocol.js';

// What no text may contain. Joiners are kept: scripts and emoji need them.
const JOINER = /\u200c|\u200d|\ufe0e|\ufe0f/u;
const UNSAYABLE = new RegExp(`(?!${JOINER.source})[\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}`
  + '\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}]', 'gu');
const MARK = /\p{M}/u, SPACING = /\p{Mc}/u;
const MARKS = 3, JOINERS = 2;             // on a letter, at most
// A text must have something other than these, the last four of which are blank.
const SEEN = new RegExp(`(?!${JOINER.source})[^\\s\\p{M}\\u2800\\u{1d159}\\u{13441}\\u{13442}]`, 'u');

/** Return the beginning of a text, at most `most` code points long. Letters of several code points, such as an emoji
 * with the colour of a skin, are left out whole, if the browser knows them. */
function cut(text, most) {
  const letters = 'Segmenter' in Intl ? Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment) : [...text];
  let length = 0;
  const end = letters.findIndex((letter) => (length += [...letter].length) > most);
  return end < 0 ? text : letters.slice(0, end).join('');
}

/** Return a text as the server accepts it: without what is not allowed but may have been pasted, and
 * up to `most` characters long; '' if nothing of it could be seen. */
export function sayable(text, most = TEXT_LIMIT) {
  const plain = text.replace(/\s+/gu, ' ').replace(UNSAYABLE, '').normalize('NFC');
  let marks = 0, joiners = 0;
  const kept = [...plain].filter((each) => {
    if (JOINER.test(each)) return ++joiners <= JOINERS;
    if (MARK.test(each)) return SPACING.test(each) || ++marks <= MARKS;
    marks = joiners = 0;
    return true;
  });
  const line = kept.join('').replace(/\s+/gu, ' ').trim();
  const short = cut(line, most).trim();
  return SEEN.test(short) ? short : '';
}
