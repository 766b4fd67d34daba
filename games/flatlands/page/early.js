// Keeps what a player does on the title before the modules are there: hud/title.js obeys it then. It is no
// module, and the page waits for it, so that nothing is done before it.

{
  const { dataset } = document.documentElement;
  // The map of everybody for a wall has no title.
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
