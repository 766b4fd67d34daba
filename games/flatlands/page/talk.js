// What this page's player says, in words and by emotes, and whom it does not hear.

import { isWavedTo, WAVE } from './emotes.js';
import { isComputer } from './faces.js';

const EMOTES = 4, EMOTES_WITHIN = 5000;   // the most emotes, and within how many ms

/** @param {import('./main.js').Game} game */
export function install({ client, state, session, events }) {
  // Performance times, in ms, of the last emotes.
  const emotesAt = Array(EMOTES).fill(-Infinity);

  /** Say something; return whether it was sent. */
  function say(text) {
    const connected = session.connected();
    if (connected) client.say(text);
    return connected;
  }

  /** Make an emote, but not so often that the server would refuse it. */
  function emote(number) {
    const now = performance.now();
    if (!client.net.playing || now - emotesAt[0] < EMOTES_WITHIN) return;
    emotesAt.shift();
    emotesAt.push(now);
    client.do.emote(number);
  }

  /** Wave back to somebody near; return whether somebody had waved. */
  function waveBack() {
    const waited = isWavedTo(state, performance.now());
    if (waited) emote(WAVE);
    return waited;
  }

  events.on('say', say);
  events.on('emote', emote);
  events.on('waveBack', waveBack);
  events.on('spark', (other) => {
    if (!isComputer(other)) client.do.spark(other);
  });
  events.on('mute', (id, muted) => {
    if (muted) state.muted.add(id);
    else state.muted.delete(id);
  });
}
