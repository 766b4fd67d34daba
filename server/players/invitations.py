"""Where somebody who invited a guest is now: asked of the other nodes. It moves nobody.

Only a signed invitation is ever asked for (server/clients/tokens.py), so no client finds out with
it where a player is whom it just heard of.
"""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from server.agenda import Agenda
from server.messages import peer_protocol
from server.players.spots import Place

if TYPE_CHECKING:
    from server.node import Node

#: A question that nobody answers within so many ms has no answer.
ANSWER_WITHIN = 300


class Invitations:
    """See the module."""

    def __init__(self, node: "Node") -> None:
        self._node = node
        self._nonces = itertools.count(1)
        self._asked: dict[int, Callable[[Place | None], None]] = {}
        self._overdue = Agenda(node.loop, lambda nonce, _due: self._done(nonce, None))

    def find(self, id: int, done: Callable[[Place | None], None]) -> None:
        """Call `done` with where a player is, or None if no node has it; perhaps at once."""
        here = self._node
        resident = here.residents.get(id)
        if resident is not None:
            done(resident.track.at(here.loop.now()))
        elif not here.peers.peers:
            done(None)
        else:
            nonce = next(self._nonces)
            self._asked[nonce] = done
            self._overdue.put(nonce, here.loop.now() + ANSWER_WITHIN)
            here.broker.publish(here.channels.nodes, peer_protocol.where(here.id, id, nonce))

    def sought(self, node: int, id: int, nonce: int) -> None:
        """Another node asks where a player is."""
        here = self._node
        resident = here.residents.get(id)
        if resident is not None:
            x, y = resident.track.at(here.loop.now())
            here.broker.publish(
                here.channels.nodes, peer_protocol.here(here.id, node, nonce, x, y)
            )

    def found(self, _node: int, to: int, nonce: int, x: int, y: int) -> None:
        """A node has a player that some node asked for."""
        if to == self._node.id and nonce in self._asked:
            self._overdue.drop(nonce)
            self._done(nonce, (x, y))

    def _done(self, nonce: int, place: Place | None) -> None:
        self._asked.pop(nonce)(place)
