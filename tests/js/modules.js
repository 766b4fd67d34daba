// For node's --import: the page's files are modules, as for a browser. Elsewhere a package.json says
// so; one beside them would be served with them, and one above them would make hosts take the whole
// for a project of Node's. What a part of a game's page imports and has not got lies in the page of the game; what
// that has not got, in static/, as on a server.

import { register } from 'node:module';

const hooks = `
export const resolve = async (name, context, next) => {
  try {
    return await next(name, context);
  } catch (error) {
    const [, games, game, rest] = /^(.*[/]games[/])([^/]+)[/]([^]*)$/.exec(error.url ?? '') ?? [];
    if (rest === undefined) throw error;
    const [folder, ...path] = rest.split('/');
    const at = folder === 'page' ? new URL('../static/' + path.join('/'), games) : new URL(game + '/page/' + path.join('/'), games);
    return resolve(at.href, context, next);
  }
};
export const load = (url, context, next) =>
  next(url, url.endsWith('.js') ? { ...context, format: 'module' } : context);`;
register('data:text/javascript,' + encodeURIComponent(hooks));
