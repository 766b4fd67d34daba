// Shows the author of a game, in the page, what has failed in it and in the page, and loads the page again when its
// files have changed. Only `flatlands play` puts it into a page. It is not a module, and knows nothing of the game.

/** The latest errors of this page, as (what, where), and the most that are shown. @type {[string, string][]} */
const pageFaults = [], PAGE_FAULTS = 5;

// The page is not loaded again when it cannot begin (again.js): its author reads why.
document.documentElement.dataset.author = '';

/** Keep an error of this page once. */
function keepFault(what, where) {
  if (pageFaults.some((fault) => fault[0] === what && fault[1] === where)) return;
  pageFaults.splice(0, pageFaults.length - PAGE_FAULTS + 1);
  pageFaults.push([what, where]);
}

/** The first line of a stack, without the address of the server and the version of its files. */
function placeIn(stack) {
  const line = /[^\s(@]+:\d+:\d+/.exec(stack ?? '');
  return line === null ? '' : line[0].replace(/^.*?\/v\/[^/]+\//, '');
}

addEventListener('unhandledrejection', ({ reason }) => {
  keepFault(`The page: ${reason}`, placeIn(reason?.stack));
});

// A file that cannot be loaded has an event of its own, which does not bubble.
addEventListener('error', (event) => {
  const { target } = event;
  if (event instanceof ErrorEvent) {
    keepFault(`The page: ${event.message}`, placeIn(`${event.filename}:${event.lineno}:${event.colno}`));
  } else if (target instanceof HTMLScriptElement) {
    keepFault('The page: a script, or one that it imports, cannot be loaded', placeIn(`${target.src}:1:1`));
  }
}, true);

addEventListener('load', () => {
  const EVERY = 1000;                     // ms
  const version = new URL(document.baseURI).pathname.split('/').at(-2);
  const address = new URL('../../author', document.baseURI);
  const box = document.createElement('pre'), close = document.createElement('button');
  let shown = '', closed = '';
  box.setAttribute('role', 'alert');
  Object.assign(box.style, { position: 'fixed', zIndex: 1000, left: '8px', right: '8px', bottom: '8px', margin: 0,
    maxHeight: '40vh', overflow: 'auto', padding: '10px 14px', borderRadius: '8px', background: '#5c1a1a',
    color: '#fff', font: '14px/1.5 ui-monospace, monospace', whiteSpace: 'pre-wrap' });
  Object.assign(close.style, { float: 'right' });
  close.textContent = 'Close';
  close.addEventListener('click', () => {
    closed = shown;
    box.remove();
  });

  function show(faults) {
    shown = faults.map(([what, where]) => `${what}\n  ${where}`).join('\n');
    if (shown === '' || shown === closed) return box.remove();
    if (box.isConnected && box.textContent === close.textContent + shown) return;
    box.replaceChildren(close, shown);
    document.body.append(box);
  }

  async function look() {
    // Nobody answers while the server restarts. One whose game does not load has no version.
    const answer = await fetch(address).then((each) => each.json()).catch(() => null);
    if (![undefined, null, version].includes(answer?.version)) return location.reload();
    if (answer !== null) show([...answer.faults, ...pageFaults]);
    setTimeout(look, EVERY);
  }

  look();
});
