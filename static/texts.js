// What players may write: names and chat.

import { TEXT_LIMIT } from './protocol.js';

// What no text may contain. Joiners are kept: scripts and emoji need them.
const UNSAYABLE =
  /(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;

/** Return a text as the server takes it: without invisible characters, which may come with pasted text, and up
 * to `most` characters long. */
export function sayable(text, most = TEXT_LIMIT) {
  return [...text.replace(UNSAYABLE, '').trim()].slice(0, most).join('').trim();
}
