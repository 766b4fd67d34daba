// The small menu of one walker: follow it, or mute it.

import { faceOf } from '../faces.js';
import { element } from './element.js';

const EDGE = 8;                           // css px between the menu and the screen's edge

export class Menu {
  /** `giveFocusBack` gives the focus to the world.
   * @param {import('../events.js').Events} events @param {() => void} giveFocusBack */
  constructor(events, giveFocusBack) {
    this.root = element('div', { class: 'popover panel', role: 'dialog', hidden: true });
    this.events = events;
    this.giveFocusBack = giveFocusBack;
    this.outside = (event) => {
      if (!this.root.contains(event.target)) this.close(false);
    };
    this.root.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.close(true);
    });
  }

  open(id, look, name, muted, cssX, cssY) {
    const who = element('b', {}, element('bdi', {}, name));
    who.style.color = faceOf(id, look).ink;
    const button = (label, act) => {
      const made = element('button', { type: 'button' }, label);
      made.addEventListener('click', () => {
        act();
        this.close(true);
      });
      return made;
    };
    const follow = button('Follow', () => this.events.emit('follow', id));
    const mute = button(muted ? 'Unmute' : 'Mute', () => this.events.emit('mute', id, !muted));
    this.root.setAttribute('aria-label', 'About ' + name);
    this.root.replaceChildren(who, follow, mute);
    this.root.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.root;
    const left = Math.min(Math.max(cssX - width / 2, EDGE), innerWidth - width - EDGE);
    const above = cssY - height - 44;
    this.root.style.left = left + 'px';
    this.root.style.top = (above < EDGE ? Math.min(cssY + 24, innerHeight - height - EDGE) : above)
      + 'px';
    follow.focus({ preventScroll: true });
    document.addEventListener('pointerdown', this.outside, true);
  }

  close(focus) {
    if (this.root.hidden) return;
    this.root.hidden = true;
    document.removeEventListener('pointerdown', this.outside, true);
    if (focus) this.giveFocusBack();
  }
}
