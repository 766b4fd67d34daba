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
  grid: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  home: 'M3 11l9-8 9 8M6 9v11h4v-6h4v6h4V9',
  invite: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-6-.4l-3 3'
    + 'a4 4 0 0 0 5.7 5.7l1.2-1.2',
  chat: 'M4 5h16v11H11l-5 4v-4H4zM8 9h8M8 12h5',
  help: 'M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5v.5',
};

/** Return a line drawing for a button. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg'), path = document.createElementNS(SVG, 'path');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

/** Return a whole number as text, with a real minus sign. */
export function signed(number) {
  return number < 0 ? '−' + String(-number) : String(number);
}

/** Show an element, or hide it, also from screen readers. */
export function show(shown, made) {
  made.hidden = !shown;
}
