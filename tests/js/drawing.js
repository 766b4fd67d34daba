// A canvas as node has none: it notes what is drawn on it, so that the view's modules can be tested here.

const LETTER = 7;                         // px

/** A path, or what has been noted of one. */
class Path {
  constructor(path = '') {
    this.path = String(path);
  }
}
for (const name of ['moveTo', 'lineTo', 'quadraticCurveTo', 'arc', 'ellipse', 'rect', 'closePath']) {
  Path.prototype[name] = function (...more) {
    this.path += [name, ...more].join(' ');
  };
}

/** A canvas whose context notes in `calls` what is done with it: [name, ...what is given]. */
export function canvas(width = 1, height = 1) {
  const calls = [], made = { width, height, calls, getContext: () => context };
  const context = new Proxy({ canvas: made, getTransform: () => ({}) }, {
    get: (target, name) => target[name] ?? ((...given) => {
      calls.push([name, ...given.map((one) => one instanceof Path ? one.path : one)]);
      // All letters are as wide.
      return { width: name === 'measureText' ? LETTER * given[0].length : 1, data: [], addColorStop() {} };
    }),
    set: (target, name, value) => {
      if (name === 'fillStyle' || name === 'strokeStyle') calls.push([name, value]);
      target[name] = value;
      return true;
    },
  });
  return made;
}

/** Let modules that are imported from now on find such canvases. */
export function draw() {
  Object.assign(globalThis, { Path2D: Path, document: { createElement: () => canvas() } });
}
