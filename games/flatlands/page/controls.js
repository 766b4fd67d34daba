// What keys, clicks and touches mean: turns them into what the player wants. Others do it, such as navigation.js.

import { letterOf } from './keys.js';
import { standsBeside } from './near.js';
import { Ordered } from './ordered.js';

/** @typedef {import('./hud/hud.js').Hud} Hud */
/** @typedef {import('./state.js').State} State */
/** @typedef {import('./view/view.js').View} View */

const DIGIT = /^(Digit|Numpad)[1-7]$/;

const STAY = () => {};                    // a click on the player's own walker: it stays where it is

export class Controls {
  /** @param {State} state @param {import('./net.js').Net} net @param {Hud} hud @param {View} view
   * @param {import('./navigation.js').Navigation} navigation @param {import('./events.js').Events} events */
  constructor(state, net, hud, view, navigation, events) {
    this.state = state;
    this.net = net;
    this.hud = hud;
    this.view = view;
    this.navigation = navigation;
    this.events = events;
    /** @type {Ordered<() => boolean>} What the key Escape ends: the first that returns true. */
    this.escapes = new Ordered();
    this.escapes.add(10, () => hud.closeSheet());
    this.escapes.add(30, () => navigation.unfollow());
    this.escapes.add(50, () => navigation.endAim());
    /** @type {Ordered<(cssX: number, cssY: number, byMouse: boolean) => (() => void) | null>} What can be
     * clicked in the world: each returns what a click on a css px of it does, or null. */
    this.targets = new Ordered();
    this.targets.add(10, (cssX, cssY) => this.#clickArrow(view.arrowAt(cssX, cssY)));
    this.targets.add(30, (cssX, cssY, byMouse) => this.#clickWalker(view.walkerAt(cssX, cssY, byMouse), cssX, cssY));
  }

  // Called by Input, for keys and clicks.

  /** Walk in a direction; 0, 0: no longer. */
  heading(dx, dy) {
    if (!this.net.playing) return;
    this.hud.hint(null);
    this.navigation.unfollow();
    this.events.emit('steer');
    this.navigation.walk(dx === 0 && dy === 0 ? null : { heading: [dx, dy] });
  }

  /** Walk towards the css px of the world at which the mouse or a finger is held; null: no longer.
   * @param {{ x: number, y: number } | null} place */
  lead(place) {
    this.navigation.lead(place);
  }

  /** End the walk, unless it follows somebody. */
  rest() {
    this.navigation.rest();
  }

  /** Return whether a click on a css px of the world, which the mouse is over, does more than walk there. */
  canClick(cssX, cssY) {
    const act = this.targets.first((target) => target(cssX, cssY, true));
    return this.net.playing && act !== null && act !== STAY;
  }

  /** Take a click or touch on a css px of the world. */
  tap(cssX, cssY, byMouse) {
    const { state, hud, view } = this;
    if (!this.net.playing) return;
    hud.focusWorld();
    const act = this.targets.first((target) => target(cssX, cssY, byMouse));
    if (act !== null) return act();
    this.events.emit('steer');
    const { x, y } = view.tileAt(state, cssX, cssY);
    this.navigation.goTo(x, y);
  }

  key(event) {
    const { key, code, target } = event;
    if (!this.net.playing || target?.closest?.('dialog, .popover')) return false;
    if (key === 'Enter' && target instanceof HTMLButtonElement) return false;
    if (key === 'Escape') {
      return this.escapes.all.some((escape) => escape());
    }
    if (key === 'Enter') this.hud.chat.open();
    else if (DIGIT.test(code)) this.events.emit('emote', Number(code.slice(-1)));
    else return this.hud.tools.press(letterOf(event));
    return true;
  }

  /** @param {import('./state.js').Arrow | null} arrow */
  #clickArrow(arrow) {
    if (arrow === null) return null;
    const { id, x, y, label, sign } = arrow;
    if (id !== null) return () => this.navigation.follow(id);
    return sign === undefined ? () => this.navigation.goTo(x, y, label) : () => this.navigation.goToPlace(x, y, label);
  }

  /** A walker is followed; if it is followed already, and stands beside this page's player, its menu opens.
   * @param {number | null} id */
  #clickWalker(id, cssX, cssY) {
    const { state } = this;
    if (id === null) return null;
    if (id === state.ownId) return STAY;
    return id === state.followed && standsBeside(state, id) ? () => this.showMenu(id, cssX, cssY) : () => this.navigation.follow(id);
  }

  /** Open the menu of a walker, at a css px of the world. */
  showMenu(id, cssX, cssY) {
    const { names, drawn, muted } = this.state, name = names.get(id), look = drawn.get(id)?.look ?? 0;
    if (name !== undefined) this.hud.menu.open(id, look, name, muted.has(id), cssX, cssY);
  }
}
