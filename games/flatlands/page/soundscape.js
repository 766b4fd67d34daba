// Which sounds the page makes, and when: steps, words and emotes nearby, sparks, and squares that sing.

import { Footsteps } from './footsteps.js';
import { Singing } from './singing.js';

const EARSHOT = 16;                       // tiles: from farther away nothing is heard

/** @param {import('./main.js').Game} game */
export function install({ state, hud, events, sound }) {
  const singing = new Singing(), footsteps = new Footsteps((ground) => sound.step(ground));

  /** Let squares sing, but not in a hidden tab. */
  function sing() {
    if (!sound.sings || document.hidden) return;
    const tones = singing.listen(state);
    if (tones.length > 0) sound.sing(tones);
  }

  function toggle() {
    const { on, sings } = sound;
    sound.turn(!on || sings, !on);
    hud.setSound(sound.on, sound.sings);
    hud.toast(`Sounds are ${!on ? 'on, and squares sing where somebody walks' : sings ? 'on' : 'off'}.`);
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

  hud.setSound(sound.on, sound.sings);
  events.on('sound', toggle);
  events.on('heard', hear);
  events.on('spark', () => sound.spark());
  events.on('frame', () => {
    footsteps.follow(state);
    sing();
  });
}
