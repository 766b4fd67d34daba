// Short texts that the browser keeps for its player, such as the name. Where a page may not store
// anything, or there is no room, they are kept for this visit. It never touches the page.

export class Keep {
  /** `open()` returns the browser's Storage; where the page has none, it returns null or throws.
   * @param {() => Storage | null} open */
  constructor(open) {
    this.open = open;
    /** @type {Map<string, string>} What could not be stored. */
    this.visit = new Map();
  }

  /** Return the text that is kept under a key, or null.
   * @returns {string | null} */
  get(key) {
    return this.visit.get(key) ?? this.#try((storage) => storage.getItem(key));
  }

  /** Keep a text under a key, for this visit only if it cannot be stored. */
  set(key, text) {
    this.visit.set(key, text);
    const stored = this.#try((storage) => {
      storage.setItem(key, text);
      return true;
    });
    if (stored) this.visit.delete(key);
  }

  /** Forget what is kept under a key. */
  forget(key) {
    this.visit.delete(key);
    this.#try((storage) => storage.removeItem(key));
  }

  /** Each browser has its own errors for storage that is forbidden, full or damaged.
   * @param {(storage: Storage) => any} act */
  #try(act) {
    try {
      const storage = this.open();
      return storage ? act(storage) : null;
    } catch {
      return null;
    }
  }
}

/** What is kept for this browser, and for this window. */
export const forBrowser = new Keep(() => localStorage), forWindow = new Keep(() => sessionStorage);
