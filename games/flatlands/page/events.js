// What happens in the page, by its name: whoever notices something says so, and whoever wants to know listens.
// The panels say what the player wants, the session what the server has told, and the controls what the player does.
// So none of them knows who listens, and a part of the game can be there or not.

export class Events {
  constructor() {
    /** @type {Map<string, ((...what: any[]) => any)[]>} */
    this.calls = new Map();
  }

  /** Call a function whenever something with this name happens. If it returns true, it has done all there is to do.
   * @param {string} name @param {(...what: any[]) => any} call */
  on(name, call) {
    this.calls.set(name, [...this.calls.get(name) ?? [], call]);
  }

  /** Say that something happens; return whether somebody has done all there is to do, after which nobody else is
   * called.
   * @param {string} name */
  emit(name, ...what) {
    return (this.calls.get(name) ?? []).some((call) => call(...what) === true);
  }

  /** Return a function that says that something happens.
   * @param {string} name @returns {(...what: any[]) => boolean} */
  emitter(name) {
    return (...what) => this.emit(name, ...what);
  }
}
