// The sounds of the page, all of them made by oscillators and noise: finds, steps, bubbles, emotes, what
// parts of the game let ring. Browsers let a page sound only after it was touched, so before that it is silent.

import { ASK, BOW, DANCE, EXCLAIM, HEART, LAUGH, WAVE } from './emotes.js';
import { forBrowser } from './keep.js';
import { BRIDGE, GRASS, PATH, PLATEAU, PLAZA, RAMP, SAND, WOOD } from './terrain.js';

const SOUND_KEY = 'flatlands.sound';
const LOUDNESS = 0.07;
const OVERTONE = 2.76, OVERTONE_SHARE = 0.16;   // as bells have it
const ATTACK = 0.008;                     // s
const REST_AFTER = 2000;                  // ms without a sound, after which it uses no audio device
const NOISE = 2;                          // s of noise that is kept
const FADES = 0.5;                        // s: the time constant with which the sound of a place changes

/** Notes: the frequency in Hz, when it begins and how long it rings, in s, and to which share of its
 * frequency it slides (1: it does not). @typedef {[number, number, number, number][]} Notes */

/** @type {Notes} */
const CHIME = [[1046.5, 0, 0.5, 1], [1568, 0.07, 0.7, 1]];
/** @type {Notes} */
const SPARK = [[1318.5, 0, 0.3, 1], [1760, 0.08, 0.35, 1], [2637, 0.16, 0.7, 1]];
/** @type {Notes} */
const POP = [[340, 0, 0.09, 1.9]];
/** By the numbers of emotes. @type {Record<number, Notes>} */
const EMOTES = {
  [WAVE]: [[660, 0, 0.16, 1.25], [880, 0.14, 0.28, 1.1]],
  [HEART]: [[523.3, 0, 0.3, 1], [659.3, 0.12, 0.5, 1]],
  [LAUGH]: [[600, 0, 0.1, 1.3], [640, 0.13, 0.1, 1.3], [690, 0.26, 0.1, 1.3], [620, 0.39, 0.16, 1.1]],
  [DANCE]: [[392, 0, 0.12, 1], [523.3, 0.15, 0.12, 1], [659.3, 0.3, 0.12, 1], [523.3, 0.45, 0.2, 1]],
  [EXCLAIM]: [[500, 0, 0.2, 1.7]],
  [ASK]: [[440, 0, 0.14, 1], [520, 0.16, 0.3, 1.3]],
  [BOW]: [[587.3, 0, 0.25, 0.75], [440, 0.22, 0.45, 1]],
};

/** Steps by the kind of the ground: the filter through which the noise goes, its frequency in Hz, how
 * loud it is, and how long it lasts in s. @type {Record<number, [BiquadFilterType, number, number, number]>} */
const STEPS = {
  [GRASS]: ['lowpass', 850, 0.06, 0.09],
  [WOOD]: ['bandpass', 2600, 0.05, 0.12],
  [SAND]: ['bandpass', 1700, 0.04, 0.14],
  [PATH]: ['lowpass', 1500, 0.07, 0.06],
  [PLAZA]: ['bandpass', 1900, 0.08, 0.04],
  [BRIDGE]: ['lowpass', 420, 0.16, 0.08],
  [RAMP]: ['bandpass', 1400, 0.07, 0.05],
  [PLATEAU]: ['bandpass', 1100, 0.05, 0.08],
};

/** What a place sounds like: the filter through which the noise goes, its frequency in Hz, how sharp it is, how loud, and how often
 * in a second it swells. @type {Record<string, [BiquadFilterType, number, number, number, number]>} */
const PLACES = {
  fire: ['bandpass', 900, 0.5, 0.05, 7],
  water: ['lowpass', 520, 0.5, 0.07, 0.23],
  crickets: ['bandpass', 4300, 30, 0.09, 21],
  wind: ['bandpass', 330, 1.2, 0.09, 0.11],
};

export class Sound {
  constructor() {
    this.on = forBrowser.get(SOUND_KEY) !== 'off';
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {AudioBuffer | null} */
    this.noise = null;
    /** @type {Map<string, GainNode>} How loud each sound of a place is. */
    this.places = new Map();
    /** @type {number | undefined} */
    this.resting = undefined;
    // In some browsers a context sounds only if it was made while the page was touched.
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

  /** Something was found. */
  chime() {
    this.#play((context) => ringAll(context, CHIME, 1));
  }

  /** A wave was returned. */
  spark() {
    this.#play((context) => ringAll(context, SPARK, 0.8));
  }

  /** Let notes ring, with a loudness from 0 to 1.
   * @param {Notes} notes */
  ring(notes, loud) {
    this.#play((context) => ringAll(context, notes, loud));
  }

  /** Somebody says something; `near` is 0 (out of earshot) to 1. */
  pop(near) {
    this.#play((context) => ringAll(context, POP, 0.8 * near));
  }

  /** Somebody makes an emote. */
  emote(emote, near) {
    this.#play((context) => ringAll(context, EMOTES[emote], 0.6 * near));
  }

  /** A foot of this page's player touches a kind of ground. */
  step(kind) {
    const sounds = STEPS[kind];
    if (sounds === undefined) return;
    this.#play((context) => {
      this.noise ??= noiseOf(context);
      rustle(context, this.noise, ...sounds);
    });
  }

  /** Let a place sound like this from now on; the levels are 0 to 1.
   * @param {import('./ambience.js').Levels} levels */
  ambient(levels) {
    const loud = this.on && Object.values(levels).some((level) => level > 0);
    if (!loud && ![...this.places.values()].some(({ gain }) => gain.value > 0.001)) return;
    this.#play((context) => {
      this.noise ??= noiseOf(context);
      for (const [name, level] of Object.entries(levels)) {
        if (level === 0 && !this.places.has(name)) continue;
        const place = this.places.get(name) ?? murmur(context, this.noise, ...PLACES[name]);
        this.places.set(name, place);
        place.gain.setTargetAtTime(level, context.currentTime, FADES);
      }
    });
  }

  /** @param {(context: AudioContext) => void} begin */
  async #play(begin) {
    const { context } = this;
    if (!this.on || context === null) return;
    clearTimeout(this.resting);
    await context.resume();
    begin(context);
    clearTimeout(this.resting);
    this.resting = setTimeout(() => context.suspend(), REST_AFTER);
  }
}

/** Let notes ring from now on.
 * @param {AudioContext} context @param {Notes} notes */
function ringAll(context, notes, loud) {
  for (const [frequency, after, rings, slide] of notes) {
    const at = context.currentTime + after;
    ring(context, frequency, LOUDNESS * loud, at, rings, slide);
    ring(context, frequency * OVERTONE, LOUDNESS * OVERTONE_SHARE * loud, at, rings / 2, slide);
  }
}

/** Let one tone begin at `at` and fade for `rings`, both in s by the context's clock.
 * @param {AudioContext} context */
function ring(context, frequency, loudness, at, rings, slide) {
  const tone = context.createOscillator(), volume = context.createGain();
  tone.frequency.setValueAtTime(frequency, at);
  tone.frequency.exponentialRampToValueAtTime(frequency * slide, at + rings);
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(loudness, at + ATTACK);
  volume.gain.exponentialRampToValueAtTime(loudness / 1000, at + rings);
  tone.connect(volume).connect(context.destination);
  tone.start(at);
  tone.stop(at + rings);
}

/** Let noise go on through a filter, and swell; return what says how loud it is, at first 0.
 * @param {AudioContext} context @param {AudioBuffer} noise @param {BiquadFilterType} type @returns {GainNode} */
function murmur(context, noise, type, frequency, sharp, loudness, swells) {
  const source = context.createBufferSource(), filter = context.createBiquadFilter(), swell = context.createGain();
  const wave = context.createOscillator(), depth = context.createGain(), volume = context.createGain();
  source.buffer = noise;
  source.loop = true;
  filter.type = type;
  filter.frequency.value = frequency;
  filter.Q.value = sharp;
  swell.gain.value = loudness / 2;
  depth.gain.value = loudness / 2;
  wave.frequency.value = swells;
  volume.gain.value = 0;
  wave.connect(depth).connect(swell.gain);
  source.connect(filter).connect(swell).connect(volume).connect(context.destination);
  source.start();
  wave.start();
  return volume;
}

/** @param {AudioContext} context */
function noiseOf(context) {
  const buffer = context.createBuffer(1, NOISE * context.sampleRate, context.sampleRate);
  const samples = buffer.getChannelData(0);
  for (let i = 0; i < samples.length; i++) samples[i] = Math.random() * 2 - 1;
  return buffer;
}

/** Let noise sound through a filter for `lasts` s, never quite the same twice.
 * @param {AudioContext} context @param {AudioBuffer} noise @param {BiquadFilterType} type */
function rustle(context, noise, type, frequency, loudness, lasts) {
  const source = context.createBufferSource(), filter = context.createBiquadFilter();
  const volume = context.createGain(), at = context.currentTime;
  source.buffer = noise;
  filter.type = type;
  filter.frequency.value = frequency * (0.85 + 0.3 * Math.random());
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(loudness, at + ATTACK);
  volume.gain.exponentialRampToValueAtTime(loudness / 1000, at + lasts);
  source.connect(filter).connect(volume).connect(context.destination);
  source.start(at, Math.random() * (NOISE - lasts));
  source.stop(at + lasts);
}
