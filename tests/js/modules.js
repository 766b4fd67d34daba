// For node's --import: the page's files are modules, as for a browser. Elsewhere a package.json says
// so; one beside them would be served with them, and one above them would make hosts take the whole
// for a project of Node's. What a game's page imports and has not got lies in static/, as on a server.

import { register } from 'node:module';

const hooks = `
export const resolve = (name, context, next) => next(name, context).catch((error) => {
  const path = error.url?.replace(/[/]games[/][^/]+[/]page[/]/, '/static/');
  if (path === undefined || path === error.url) throw error;
  return next(path, context);
});
export const load = (url, context, next) =>
  next(url, url.endsWith('.js') ? { ...context, format: 'module' } : context);`;
register('data:text/javascript,' + encodeURIComponent(hooks));
