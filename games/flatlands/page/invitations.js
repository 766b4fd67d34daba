// The link by which a friend begins beside this page's player: asks the server for it, and shows it.

import * as P from './protocol.js';

// The names by which only this machine itself reaches the server.
const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);

/** @param {import('./main.js').Game} game */
export function install({ client, hud, events }) {
  /** @type {(text: string) => void} Called with the invitation that was asked for. */
  let onInvitation = () => {};

  /** Ask the server for an invitation, and return a link with it once it has come.
   * @returns {Promise<string>} */
  function invitation() {
    const link = new Promise((resolve) => {
      const by = encodeURIComponent(client.identity.name);
      onInvitation = (text) =>
        resolve(new URL(`?near=${text}&by=${by}`, location.href).href);
    });
    client.net.act(P.INVITE);
    return link;
  }

  /** Show a link with an invitation, to be shared or copied. */
  async function invite() {
    if (client.net.playing) hud.showLink(await invitation(), LOCAL.has(location.hostname));
  }

  client.on.applied((message) => {
    if (message[0] === P.INVITATION) onInvitation(message[1]);
  });
  events.on('invite', () => invite());
}
