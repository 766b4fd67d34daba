// What happens in the page, by its name: whoever notices something says so, and whoever wants to know listens.
// So the panels, the session and the controls know nobody who listens, and a part of the game can be there or not.

/**
 * All that happens, and what is said of it. First what the player wants by the panels:
 * @typedef {object} Happenings
 * @property {[name: string, look: number]} start  to play
 * @property {[name: string, look: number]} appear  to have another name or look
 * @property {[]} anew        to leave for good, and begin as somebody else
 * @property {[text: string]} say  to say something; the answer is whether that was sent
 * @property {[emote: number]} emote  to make an emote
 * @property {[]} waveBack    to wave to somebody who waits for it; the answer is whether somebody did
 * @property {[]} home        to go home, or back again
 * @property {[]} grid        to see the grid, or no longer
 * @property {[]} invite      to have a link for a friend
 * @property {[]} photo       to have a photo of what is on the screen
 * @property {[]} sound       to have sounds, or none
 * @property {[]} near        to see who and what is near,
 * @property {[text: string]} find  or only what has these letters
 * @property {[]} you         to see its name and face
 * @property {[id: number, muted: boolean]} mute  to hear nothing more of somebody, or to hear it again
 * @property {[id: number]} follow  to follow somebody,
 * @property {[]} unfollow    or no longer
 * @property {[x: number, y: number, name: string]} go  to go to a place, in tiles
 * @property {[]} unaim       to remove the arrow to a place
 * @property {[dx: number, dy: number]} stick  to walk in a direction, by the stick
 * @property {[]} typing      to write: a key that is still held no longer walks
 * @property {[]} map         to see the map of everybody,
 * @property {[]} closeMap    or no longer,
 * @property {[factor: number]} zoom  larger or smaller,
 * @property {[]} whole       or all of it
 *
 * What the session says:
 * @property {[]} first       a player begins that did not play here before
 * @property {[]} cleared     nothing is drawn any more
 * @property {[]} walkOn      a direction that is still held is to be sent again
 * @property {[code: string]} refused  the player was shown why the server refuses something
 * @property {[id: number, emote: number]} heard  a player says something (emote 0), or makes an emote
 * @property {[other: number]} spark  somebody has returned a wave of this page's player, or it has returned somebody's
 * @property {[]} walked      the player walks
 *
 * What the controls say, and what walks the player:
 * @property {[]} steer       the player walks elsewhere, by keys or by a click on the ground
 * @property {[]} put         it is put elsewhere
 * @property {[id: number]} followed  it begins to follow somebody
 *
 * What main.js says:
 * @property {[]} frame       a frame is about to be drawn, while somebody plays
 *
 * @property {[word: string]} did  the player has done something, such as 'gem': see did.js
 * @property {[]} barred      no way leads to where the player wants to go
 *
 * And what a part of the game says to another one:
 * @property {[]} book        the player opens its book
 * @property {[]} plant       the player wants to plant something, or no longer
 * @property {[gems: number, flies: boolean]} purse  so many gems are left to plant, one of which may still fly to the counter
 */

export class Events {
  constructor() {
    /** @type {Map<string, ((...what: any[]) => any)[]>} */
    this.calls = new Map();
  }

  /** Call a function whenever something with this name happens.
   * @template {keyof Happenings} Name @param {Name} name @param {(...what: Happenings[Name]) => any} call */
  on(name, call) {
    this.calls.set(name, [...this.calls.get(name) ?? [], call]);
  }

  /** Say that something happens; return whether anybody who listens has answered true.
   * @template {keyof Happenings} Name @param {Name} name @param {Happenings[Name]} what */
  emit(name, ...what) {
    return (this.calls.get(name) ?? []).map((call) => call(...what)).includes(true);
  }

  /** Return a function that says that something happens.
   * @template {keyof Happenings} Name @param {Name} name @returns {(...what: Happenings[Name]) => boolean} */
  emitter(name) {
    return (...what) => this.emit(name, ...what);
  }
}
