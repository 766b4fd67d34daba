// The sound of a gem that was found: a short soft chime, made by oscillators. Browsers let a page
// sound only after it was touched, so before that it is silent.

import { forBrowser } from './keep.js';

const SOUND_KEY = 'flatlands.sound';
const LOUDNESS = 0.07;
// Each note of the chime: its frequency in Hz, when it begins and how long it rings, in s.
const NOTES = [[1046.5, 0, 0.5], [1568, 0.07, 0.7]];
const OVERTONE = 2.76, OVERTONE_SHARE = 0.16;   // as bells have it
const ATTACK = 0.008;                     // s
const REST_AFTER = 2000;                  // ms without a chime, after which it uses no audio device

export class Sound {
  constructor() {
    this.on = forBrowser.get(SOUND_KEY) !== 'off';
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {number | undefined} */
    this.resting = undefined;
    // Some browsers let only a context sound that was made while the page was touched.
    const touched = () => {
      removeEventListener('pointerup', touched, true);
      removeEventListener('keydown', touched, true);
      this.context = new AudioContext();
      this.context.suspend();
    };
    addEventListener('pointerup', touched, true);
    addEventListener('keydown', touched, true);
  }

  /** Turn sounds on or off, also for later visits. */
  turn(on) {
    this.on = on;
    forBrowser.set(SOUND_KEY, on ? 'on' : 'off');
  }

  async chime() {
    const { context } = this;
    if (!this.on || context === null) return;
    clearTimeout(this.resting);
    await context.resume();
    for (const [frequency, after, rings] of NOTES) {
      const at = context.currentTime + after;
      ring(context, frequency, LOUDNESS, at, rings);
      ring(context, frequency * OVERTONE, LOUDNESS * OVERTONE_SHARE, at, rings / 2);
    }
    clearTimeout(this.resting);
    this.resting = setTimeout(() => context.suspend(), REST_AFTER);
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
