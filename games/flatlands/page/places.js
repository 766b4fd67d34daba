// Which landmark and which signpost this page's player has come to. It never touches the page.

import { isInRing, Landmarks } from './landmarks.js';

/** @typedef {import('./state.js').State} State */

const FOUND_FROM = 22;                    // tiles from a landmark on the screen within which it is found
const SHOWN_AROUND = 80;                  // tiles along each axis in which landmarks are shown

const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth',
  'tenth'];

/** Return a number from 1 on as an ordinal number. */
export function ordinalOf(number) {
  if (number <= ORDINALS.length) return ORDINALS[number - 1];
  const teen = number % 100 >= 11 && number % 100 <= 13;
  return number + (teen ? 'th' : ['th', 'st', 'nd', 'rd'][number % 10] ?? 'th');
}

/** Bring state.marks, state.found and state.sign up to where this page's player is.
 * @param {State} state */
export function advancePlaces(state) {
  const { terrain, here, viewport } = state, x = Math.floor(here.x), y = Math.floor(here.y);
  if (state.landmarks.terrain !== terrain) {
    state.landmarks = new Landmarks(terrain);
    state.placesAt.x = NaN;
    state.sign = null;
  }
  state.landmarks.prepare(x, y);
  const { landmarks } = state;
  if (state.placesAt.x !== x || state.placesAt.y !== y) {
    state.placesAt = { x, y, posts: landmarks.posts(x - 5, y - 5, x + 5, y + 5) };
    state.marks = landmarks.within(x - SHOWN_AROUND, y - SHOWN_AROUND, x + SHOWN_AROUND, y + SHOWN_AROUND);
    state.found = state.marks.find((mark) => {
      const dx = Math.abs(mark.x + 0.5 - here.x), dy = Math.abs(mark.y + 0.5 - here.y);
      return dx <= viewport.w / 2 && dy <= viewport.h / 2 && Math.hypot(dx, dy) <= FOUND_FROM;
    }) ?? null;
  }
  const post = state.placesAt.posts.find((each) => isInRing(here, each));
  if (post === undefined) state.sign = null;
  else if (state.sign === null || state.sign.x !== post.x || state.sign.y !== post.y) {
    const courses = state.coursesOf(post), names = courses.map(({ name }) => name);
    const directions = landmarks.directions(post.x, post.y).filter(({ name }) => !names.includes(name));
    state.sign = { ...post, directions, courses, chosen: -1 };
  }
}
