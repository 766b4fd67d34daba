// The sound of a gem that was found: a short soft chime, made by oscillators. Browsers let a page
// sound only after it was touched, so before that it is silent.

import { forBrowser } from './keep.js';

const SOUND_KEY = 'flatlands.sound';
const LOUDNESS = 0.07;
// Each note of the chime: its frequency in Hz, when it begins and how long it rings, in s.
const NOTES = [[1046.5, 0, 0.5], [1568, 0.07, 0.7]];
const OVERTONE = 2.76, OVERTONE_SHARE = 0.16;   // as bells have it
const ATTACK = 0.008;                     // s

export class Sound {
  constructor() {
    this.on = forBrowser.get(SOUND_KEY) !== 'off';
    /** @type {AudioContext | null} */
    this.context = null;
    this.touched = false;
    for (const kind of ['pointerdown', 'keydown']) {
      addEventListener(kind, () => {
        this.touched = true;
      }, { capture: true, once: true });
    }
  }

  /** Turn sounds on or off, also for later visits. */
  turn(on) {
    this.on = on;
    forBrowser.set(SOUND_KEY, on ? 'on' : 'off');
  }

  chime() {
    if (!this.on || !this.touched) return;
    const context = this.context ??= new AudioContext();
    for (const [frequency, after, rings] of NOTES) {
      const at = context.currentTime + after;
      ring(context, frequency, LOUDNESS, at, rings);
      ring(context, frequency * OVERTONE, LOUDNESS * OVERTONE_SHARE, at, rings / 2);
    }
  }
}

/** Let one tone begin at `at` and fade for `rings`, both in s by the context's clock.
 * @param {AudioContext} context */
function ring(context, frequency, loudness, at, rings) {
  const tone = context.createOscillator(), volume = context.createGain();
  tone.frequency.value = frequency;
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(loudness, at + ATTACK);
  volume.gain.exponentialRampToValueAtTime(loudness / 1000, at + rings);
  tone.connect(volume).connect(context.destination);
  tone.start(at);
  tone.stop(at + rings);
}
