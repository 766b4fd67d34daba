// Who plays in this window: its token, name, look and secret, and where they are kept. A browser keeps
// one identity. A second window that plays at the same time has another one, which it keeps as long as
// it is open; so has a copy of a window that plays. It never touches the page.

import { suggestName } from './names.js';

/** @typedef {import('./keep.js').Keep} Keep */

const TOKEN = 'flatlands.token', NAME = 'flatlands.name', LOOK = 'flatlands.look',
  SECRET = 'flatlands.key';
const SECRET_FORM = /^[0-9a-f]{32}$/, SECRET_BYTES = 16;
const TOKEN_MOST = 512;                   // characters, as many as the server takes
const LOOK_FORM = /^\d{1,5}$/, LOOK_MOST = 65535;
const ANSWER_WITHIN = 200;                // ms that another window may take to say that it plays

export class Identity {
  /** `others` reaches the other windows of this browser; null if the browser cannot. `suggestLook` returns
   * the number of a look for a new player.
   * @param {Keep} browser @param {Keep} window @param {BroadcastChannel | null} others */
  constructor(browser, window, others, suggestLook = () => 0) {
    this.browser = browser;
    this.window = window;
    this.others = others;
    // A window that already had its own identity keeps it.
    this.keep = window.get(TOKEN) === null ? browser : window;
    this.plays = false;
    this.suggested = suggestName();
    this.suggestLook = suggestLook;
    this.suggestedLook = suggestLook();
    /** Called when another window turns out to play as this browser's player. */
    this.onOther = () => {};
    /** Resolves when it is known whether another window plays. @type {Promise<void>} */
    this.ready = this.#ask();
  }

  async #ask() {
    const { others } = this;
    if (others === null) return;
    others.onmessage = ({ data: { asks, plays } }) => {
      if (this.plays && asks === this.secret) others.postMessage({ plays: asks });
      else if (!this.plays && plays === this.secret) this.#beAnother();
    };
    others.postMessage({ asks: this.secret });
    await new Promise((resolve) => setTimeout(resolve, ANSWER_WITHIN));
  }

  /** Get an identity of this window's own: another window plays as the one that this window had. */
  #beAnother() {
    if (this.keep === this.window) this.anew();
    else this.keep = this.window;
    this.onOther();
  }

  /** Begin to play: other windows that would be the same player, and do not play yet, get identities of
   * their own. */
  begin() {
    this.plays = true;
    this.others?.postMessage({ plays: this.secret });
  }

  /** Stop playing. */
  end() {
    this.plays = false;
  }

  /** Forget this player: the next one is new. */
  anew() {
    for (const key of [TOKEN, NAME, LOOK, SECRET]) this.keep.forget(key);
    this.suggested = suggestName();
    this.suggestedLook = this.suggestLook();
  }

  /** The text by which the server knows a player that comes back; null if there is none yet. One that no
   * server can have given, such as that of another program at the same address, is none.
   * @returns {string | null} */
  get token() {
    const kept = this.keep.get(TOKEN);
    return kept !== null && kept !== '' && kept.length <= TOKEN_MOST ? kept : null;
  }

  set token(text) {
    if (text !== null) this.keep.set(TOKEN, text);
  }

  /** The name that was used last, or else a new one. */
  get name() {
    return this.keep.get(NAME) ?? this.suggested;
  }

  set name(name) {
    this.keep.set(NAME, name);
  }

  /** The look that was chosen last, or else a new one. */
  get look() {
    const text = this.keep.get(LOOK);
    if (text === null || !LOOK_FORM.test(text)) return this.suggestedLook;
    return Math.min(Number(text), LOOK_MOST);
  }

  set look(look) {
    this.keep.set(LOOK, String(look));
  }

  /** The secret by which this player's gems are counted; it is made when first needed. */
  get secret() {
    const known = this.keep.get(SECRET);
    if (known !== null && SECRET_FORM.test(known)) return known;
    const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
    const made = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    this.keep.set(SECRET, made);
    return made;
  }
}
