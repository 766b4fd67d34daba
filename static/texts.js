// What players may write: names and chat.

export const NAME_MOST = 20, SAID_MOST = 120;    // characters

// What no text may contain. Joiners are kept: scripts and emoji need them.
const UNSAYABLE =
  /(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;

/** Return a text as the server takes it: without invisible characters, which may come with pasted text, and up
 * to `most` characters long. */
export function sayable(text, most = SAID_MOST) {
  return [...text.replace(UNSAYABLE, '').trim()].slice(0, most).join('').trim();
}
