// Which sounds the page makes, and when: steps, words and emotes nearby, sparks, and what the place sounds like.

import { levelsAt, SILENCE } from './ambience.js';
import { Footsteps } from './footsteps.js';

const LISTENS_EVERY = 700;                // ms
const EARSHOT = 16;                       // tiles: from farther away nothing is heard

/** @param {import('./main.js').Game} game */
export function install({ state, hud, events, sound }) {
  const footsteps = new Footsteps((ground) => sound.step(ground));

  function toggle() {
    sound.turn(!sound.on);
    hud.setSound(sound.on);
    hud.toast(`Sounds are ${sound.on ? 'on' : 'off'}.`);
    sound.chime();
  }

  /** Sound a player's words (0) or emote, the louder the nearer it is. */
  function hear(id, emote) {
    const { drawn, here } = state, walker = drawn.get(id);
    if (walker === undefined) return;
    const near = 1 - Math.hypot(walker.x - here.x, walker.y - here.y) / EARSHOT;
    if (near <= 0) return;
    if (emote === 0) sound.pop(near);
    else sound.emote(emote, near);
  }

  hud.setSound(sound.on);
  events.on('sound', toggle);
  events.on('heard', hear);
  events.on('spark', () => sound.spark());
  events.on('frame', () => footsteps.follow(state));
  setInterval(() => sound.ambient(document.hidden || state.ownId === null ? SILENCE : levelsAt(state)), LISTENS_EVERY);
}
