// The link by which a friend begins beside this page's player: asks the server for it, and copies or shows it.

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

  /** Copy a link with an invitation, or show it to be shared or copied by hand: on a touch screen,
   * where the link leads to this machine only, and where the page may not copy. */
  async function invite() {
    if (!client.net.playing) return;
    const link = invitation();
    const local = LOCAL.has(location.hostname);
    if (local || matchMedia('(pointer: coarse)').matches) return hud.showLink(await link, local);
    try {
      // A page may copy only shortly after a click. So the clipboard gets a promise at once.
      const blob = link.then((text) => new Blob([text], { type: 'text/plain' }));
      await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
      hud.toast('Invite link copied. A friend who opens it starts beside you.');
    } catch {
      // Without https or permission the page may not use the clipboard.
      hud.showLink(await link, local);
    }
  }

  client.on.applied((message) => {
    if (message[0] === P.INVITATION) onInvitation(message[1]);
  });
  events.on('invite', () => invite());
}
