// Loads the page again if it could not begin: while a new version is rolled out, the page may come
// from one server, and one of its files be asked of another, which does not have it. It is not a
// module, so it runs even if a module cannot be loaded, and it knows nothing of the game.

addEventListener('load', () => {
  const MOST = 5, FIRST = 400;            // attempts; ms before the first, doubled each time
  const { dataset } = document.documentElement;
  const begun = 'begun' in dataset, styled = document.styleSheets.length
    === document.querySelectorAll('link[rel=stylesheet]').length;
  // An author's page shows what is wrong instead (author.js).
  if ((begun && styled) || 'author' in dataset) return;
  const times = history.state?.again ?? 0;
  if (times === MOST) {
    if (!begun) document.body.append(`${document.title} could not be loaded. Please try again later.`);
    return;
  }
  setTimeout(() => {
    history.replaceState({ again: times + 1 }, '');
    location.reload();
  }, FIRST * 2 ** times);
});
