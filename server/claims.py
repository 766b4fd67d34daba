"""A player who comes back at another node: this one claims it, the one that has it lets go.

One player is never in two places for long: of two nodes that have it, the one with the higher
incarnation keeps it, and of equal ones the node with the higher id. It never moves anybody itself.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from server import peer_protocol
from server.loop import Agenda
from server.peer_protocol import NODES
from server.resident import Resident

if TYPE_CHECKING:
    from server.node import Node

#: A claim that nobody answers within so many ms is granted.
ANSWER_WITHIN = 300


class Granted(NamedTuple):
    """What the node that had a player tells of it: its last seq and place in units, and its name
    if it had not left."""

    name: str | None
    seq: int
    place: tuple[int, int]


class Claims:
    """See the module."""

    def __init__(self, node: "Node") -> None:
        self._node = node
        self._asked: dict[int, Callable[[Granted | None], None]] = {}
        self._overdue = Agenda(node.loop, self._unanswered)

    def ask(
        self, id: int, incarnation: int, done: Callable[[Granted | None], None]
    ) -> None:
        """Claim a player; `done` is called with what its node told, or None if none did."""
        before = self._asked.pop(id, None)
        if before is not None:
            before(None)
        self._asked[id] = done
        self._overdue.put(id, self._node.loop.now() + ANSWER_WITHIN)
        self._tell(id, incarnation)

    def _tell(self, id: int, incarnation: int) -> None:
        self._node.broker.publish(NODES, peer_protocol.claim(self._node.id, id, incarnation))

    def claimed(self, node: int, id: int, incarnation: int) -> None:
        """A node claims a player."""
        here = self._node
        if node == here.id:
            return
        resident = here.residents.get(id)
        if resident is not None:
            self.contest(resident, node, incarnation)
        elif id in here.left:
            seq, (x, y) = here.left[id]
            player = [None, seq, x, y]
            here.broker.publish(
                NODES, peer_protocol.grant(here.id, id, node, incarnation, player)
            )

    def contest(self, resident: Resident, node: int, incarnation: int) -> None:
        """Another node says that it has a resident of this one: one of them lets go."""
        here = self._node
        if (incarnation, node) < (resident.incarnation, here.id):
            self._tell(resident.id, resident.incarnation)
            return
        x, y = resident.track.at(here.loop.now())
        player = [resident.name, resident.seq, x, y]
        grant = peer_protocol.grant(here.id, resident.id, node, incarnation, player)
        here.broker.publish(NODES, grant)
        here.stats["released"] += 1
        here.release(resident)

    def granted(self, _node: int, id: int, to: int, _incarnation: int, player: list[Any]) -> None:
        """A node let go of a player."""
        if to == self._node.id and id in self._asked:
            name, seq, x, y = player
            self._done(id, Granted(name, seq, (x, y)))

    def _unanswered(self, id: int, _due: int) -> None:
        self._done(id, None)

    def _done(self, id: int, granted: Granted | None) -> None:
        self._overdue.drop(id)
        self._asked.pop(id)(granted)
