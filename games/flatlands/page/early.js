// Keeps what a player does on the title before the modules have loaded; hud/title.js then obeys it. It is
// not a module, and the page waits for it, so that it misses nothing.

{
  const { dataset } = document.documentElement;
  // The map of everybody that is shown on a wall has no title.
  if (location.pathname.endsWith('/live')) dataset.live = '';
  addEventListener('input', () => {
    if (!('begun' in dataset)) dataset.typed = '';
  });
  addEventListener('submit', (event) => {
    if ('begun' in dataset) return;
    event.preventDefault();
    dataset.pressed = '';
  });
}
