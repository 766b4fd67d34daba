// Shows the author of a game, in the page, what has failed in it, and loads the page again when its files have
// changed. Only `flatlands play` puts it into a page. It is not a module, and knows nothing of the game.

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
    // Nobody answers while the server restarts.
    const answer = await fetch(address).then((each) => each.json()).catch(() => null);
    if (answer !== null && answer.version !== version) return location.reload();
    if (answer !== null) show(answer.faults);
    setTimeout(look, EVERY);
  }

  look();
});
