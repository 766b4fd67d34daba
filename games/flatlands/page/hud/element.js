// Builds the elements of the panels. A text always stays text: nothing here is read as markup.

const SVG = 'http://www.w3.org/2000/svg';

/** Return a new element with attributes and children (elements or texts). */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

const ICONS = {
  arrow: 'M4 12h15M13 6l6 6-6 6',
  home: 'M3 11l9-8 9 8M6 9v11h4v-6h4v6h4V9',
  invite: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-6-.4l-3 3'
    + 'a4 4 0 0 0 5.7 5.7l1.2-1.2',
  chat: 'M4 5h16v11H11l-5 4v-4H4zM8 9h8M8 12h5',
  gem: 'M7 5h10l4 5-9 10L3 10zM3 10h18M9 10l3 10 3-10',
  cairn: 'M4 20.5c0-3 3-4 8-4s8 1 8 4zM7 16.5c0-2.6 2-4 5-4s5 1.4 5 4M9 12.5c0-2.2 1-3.5 3-3.5'
    + 's3 1.3 3 3.5M10.5 9c0-2 .5-3.5 1.5-3.5s1.5 1.5 1.5 3.5',
  close: 'M6 6l12 12M18 6L6 18',
  emote: 'M8 12V6.5a1.5 1.5 0 0 1 3 0V11M11 10V5a1.5 1.5 0 0 1 3 0v6M14 11V6.5a1.5 1.5 0 0 1 3 0V14'
    + 'c0 4-2.5 6.5-6 6.5-3 0-4.5-1.5-6-4.5l-1.5-3c-.6-1.4 1.3-2.4 2.2-1.2L8 13.5',
  flower: 'M12 9.5a2.5 2.5 0 1 0 0-5a2.5 2.5 0 1 0 0 5M9.7 8.2a2.4 2.4 0 1 0-1 4.3M14.3 8.2a2.4 2.4 0 1 1 1 4.3'
    + 'M12 9.5V21M12 17c-3 0-4.5-1.3-5-4M12 18.5c2.6 0 4-1.2 4.6-3.5',
  flame: 'M12 3c1 4 6 6 6 11a6 6 0 0 1-12 0c0-2.5 1.2-4 2.5-5.5.3 1.5 1 2.5 2 2.5 1.6-2.2.5-5 1.5-8z',
  flag: 'M6 21V4M6 5h11l-3 4 3 4H6',
  race: 'M12 8a7 7 0 1 0 0 14a7 7 0 1 0 0-14M12 15l3-3M9.5 3h5M12 3v5',
  book: 'M4 5.5C6.5 4 9.5 4 12 6c2.5-2 5.5-2 8-.5V19c-2.5-1.5-5.5-1.5-8 .5-2.5-2-5.5-2-8-.5zM12 6v13.5',
  back: 'M14.5 6l-6 6 6 6',
  on: 'M9.5 6l6 6-6 6',
  people: 'M9 11a3.2 3.2 0 1 0 0-6.4a3.2 3.2 0 1 0 0 6.4M3.5 19.5c0-3.6 2.4-5.5 5.5-5.5s5.5 1.9 5.5 5.5'
    + 'M15.5 5a3 3 0 0 1 0 5.7M17 14.4c2.2.6 3.5 2.4 3.5 5.1',
  share: 'M12 15V4M8 7.5L12 3.5l4 4M6 11v8h12v-8',
  globe: 'M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18M3 12h18M12 3c2.8 2.6 4 5.6 4 9s-1.2 6.4-4 9'
    + 'c-2.8-2.6-4-5.6-4-9s1.2-6.4 4-9',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  whole: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  more: 'M4 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M11 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M18 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0',
  wind: 'M13 12h8M18 12v3.5M13 12a4 4 0 1 0-8 0a4 4 0 1 0 8 0',
  follow: 'M4 17c3-6 7-8 13-8M13 4.5L17.5 9 13 13.5M4 20h.01',
  help: 'M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5v.5',
};

/** Return a line drawing for a button: one of ICONS, or one of another path. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg'), path = document.createElementNS(SVG, 'path');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', ICONS[name] ?? name);
  svg.append(path);
  return svg;
}

/** Return a whole number as text, with a real minus sign. */
export function signed(number) {
  return number < 0 ? '−' + String(-number) : String(number);
}

/** Show an element, or hide it, from screen readers too. */
export function show(shown, made) {
  made.hidden = !shown;
}

/** Return how many times larger than usual the browser's text is, as its user has set it: 1 to 2. */
export function textScale() {
  const probe = element('span', {});
  probe.style.fontSize = 'medium';
  document.body.append(probe);
  const size = parseFloat(getComputedStyle(probe).fontSize);
  probe.remove();
  return Math.min(Math.max(size / 16, 1), 2);
}

/** Return whether this device is used with fingers. */
export function byTouch() {
  return matchMedia('(pointer: coarse)').matches;
}
