// The keys of the user's keyboard: which letter an event means, and what is printed on the keys that walk.
// Those are at the places of W, A, S and D on every keyboard; all other keys go by their letters. It never
// touches the page.

const PLACES = ['KeyW', 'KeyA', 'KeyS', 'KeyD'];

/** Return the letter, a to z, of a keyboard event, or null. On a keyboard without Latin letters, the key's
 * place decides.
 * @param {{ key: string, code: string }} event */
export function letterOf({ key, code }) {
  if (/^[a-z]$/i.test(key)) return key.toLowerCase();
  return /^\p{L}$/u.test(key) && /^Key[A-Z]$/.test(code) ? code.slice(3).toLowerCase() : null;
}

const OF_AN_INPUT_METHOD = 229;           // the keyCode of a key that an input method takes

/** Return whether a key belongs to a composition, by which such as Japanese is typed: Enter accepts what was
 * composed then, and sends nothing. Safari says by the keyCode alone that Enter ended one.
 * @param {{ isComposing: boolean, keyCode: number }} event */
export function composes({ isComposing, keyCode }) {
  return isComposing || keyCode === OF_AN_INPUT_METHOD;
}

/** Return what is printed on the keys that walk up, left, down and right, as far as the browser's `keyboard`
 * says, which not every browser has.
 * @param {{ getLayoutMap(): Promise<Map<string, string>> } | undefined} keyboard
 * @returns {Promise<string[]>} */
export async function walkingKeys(keyboard) {
  const layout = await keyboard?.getLayoutMap().catch((error) => {
    // A page within another one may not ask.
    if (error instanceof DOMException) return undefined;
    throw error;
  });
  return PLACES.map((code) => (layout?.get(code) ?? code.slice(3)).toUpperCase());
}
