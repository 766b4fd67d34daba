// Where the panels are on the screen, so that marks on the canvas keep clear of them. They are
// measured after the layout when one of them, or the window, has changed its size; none is forced.

const ROOM = 6;                           // css px kept free around a panel

export class Panels {
  /** `root` fills the window.
   * @param {HTMLElement} root @param {HTMLElement[]} panels */
  constructor(root, panels) {
    this.root = root;
    this.panels = panels;
    /** @type {import('../state.js').Box[]} Those that are shown. */
    this.boxes = [];
    this.observer = new ResizeObserver(() => this.#measure());
    for (const one of [root, ...panels]) this.observer.observe(one);
  }

  /** Measure one more panel.
   * @param {HTMLElement} panel */
  watch(panel) {
    this.panels.push(panel);
    this.observer.observe(panel);
  }

  /** Measure them after the next layout, because one has moved without changing its size. */
  moved() {
    // An element that is observed again is reported once.
    this.observer.unobserve(this.root);
    this.observer.observe(this.root);
  }

  #measure() {
    this.boxes = [];
    for (const panel of this.panels) {
      const { left, top, right, bottom } = panel.getBoundingClientRect();
      if (right > left) {
        this.boxes.push({ left: left - ROOM, top: top - ROOM, right: right + ROOM,
          bottom: bottom + ROOM });
      }
    }
  }
}
