// Short texts that the browser keeps for its player, such as the name. Where a page may not store
// anything, or there is no room, they are kept for this visit. It never touches the page.

export class Keep {
  /** `open()` returns the browser's Storage, or throws a DOMException where the page has none. */
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
    this.#try((storage) => {
      storage.setItem(key, text);
      this.visit.delete(key);
    });
  }

  /** Forget what is kept under a key. */
  forget(key) {
    this.visit.delete(key);
    this.#try((storage) => storage.removeItem(key));
  }

  /** @param {(storage: Storage) => any} act */
  #try(act) {
    try {
      return act(this.open());
    } catch (error) {
      if (error instanceof DOMException) return null;
      throw error;
    }
  }
}

/** What is kept for this browser, and for this window. */
export const forBrowser = new Keep(() => localStorage), forWindow = new Keep(() => sessionStorage);
