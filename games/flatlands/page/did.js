// What the player of this browser has done at least once: 'gem', 'wave', 'landmark' and so on. The next step goes by
// it. It never touches the page.

import { forBrowser } from './keep.js';

const DID_KEY = 'flatlands.did';

export class Did {
  constructor() {
    this.words = new Set((forBrowser.get(DID_KEY) ?? '').split(' '));
  }

  has(word) {
    return this.words.has(word);
  }

  add(word) {
    if (this.words.has(word)) return;
    this.words.add(word);
    forBrowser.set(DID_KEY, [...this.words].join(' ').trim());
  }

  /** Forget it: whoever plays next in this browser is somebody else. */
  clear() {
    this.words.clear();
    forBrowser.forget(DID_KEY);
  }
}
