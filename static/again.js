// Loads the page again where it could not begin: while a new version is rolled out, the page may come
// from one server, and one of its files be asked of another, which has not got it. It is no module, so
// that it runs whatever becomes of those, and it knows nothing of the game.

addEventListener('load', () => {
  const MOST = 5, FIRST = 400;            // times; ms to the first one, and twice as many to each next
  const begun = 'begun' in document.documentElement.dataset, styled = document.styleSheets.length
    === document.querySelectorAll('link[rel=stylesheet]').length;
  if (begun && styled) return;
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
