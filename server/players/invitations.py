"""Finds where a player that sent an invitation is now, at this node or at another.

It never moves a player. It is only called for signed invitations (server/clients/tokens.py), so a
client cannot use it to find any player whose id it knows.
"""

import itertools
from collections.abc import Callable

from server.agenda import Agenda
from server.messages import peer_protocol
from server.players.among_nodes import AmongNodes
from server.players.spots import Place

#: ms that a question waits for an answer. After that no node has the player.
ANSWER_WITHIN = 300


class Invitations:
    """See the module."""

    def __init__(self, among: AmongNodes) -> None:
        self._node, self._loop, self._publish, self._residents, self._peers = among
        self._nonces = itertools.count(1)
        self._asked: dict[int, Callable[[Place | None], None]] = {}
        self._overdue = Agenda(self._loop, lambda nonce, _due: self._done(nonce, None))

    def find(self, id: int, done: Callable[[Place | None], None]) -> None:
        """Call `done` with the position of a player, or with None if no node has it.

        This may be at once, and is within ANSWER_WITHIN ms.
        """
        place = self._place(id)
        if place is not None or not self._peers.peers:
            done(place)
            return
        nonce = next(self._nonces)
        self._asked[nonce] = done
        self._overdue.put(nonce, self._loop.now() + ANSWER_WITHIN)
        self._publish(peer_protocol.where(self._node, id, nonce))

    def _place(self, id: int) -> Place | None:
        resident = self._residents.by_id.get(id)
        return None if resident is None else resident.track.at(self._loop.now())

    def asked(self, node: int, id: int, nonce: int) -> None:
        """Answer another node that asks where a player is, if the player is here."""
        place = self._place(id)
        if place is not None:
            self._publish(peer_protocol.here(self._node, node, nonce, *place))

    def found(self, _node: int, to: int, nonce: int, x: int, y: int) -> None:
        """Take the answer of a node that has a player, if it is for this node (`to`)."""
        if to == self._node and nonce in self._asked:
            self._overdue.drop(nonce)
            self._done(nonce, (x, y))

    def _done(self, nonce: int, place: Place | None) -> None:
        self._asked.pop(nonce)(place)
