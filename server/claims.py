"""A player who comes back at another node: this one claims it, the one that has it lets go.

Who shows a token is the player, so whoever has it lets go of it to a node that asks. One player is
never in two places for long: of two nodes that find that both have it, the one with the higher
incarnation keeps it, and of equal ones the node with the higher id. It never moves anybody itself.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from server import peer_protocol
from server.loop import Agenda
from server.resident import INCARNATION, Resident, incarnation_of

if TYPE_CHECKING:
    from server.node import Node

#: A claim that nobody answers within so many ms is granted.
ANSWER_WITHIN = 300

#: One that nobody answered may have been lost, or its answer: it is told again until it has come
#: back so many times, so many ms apart, for the links of other nodes may be mended a little later.
REPEATS, REPEAT_EVERY = 4, 1000


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
        #: Residents whose claim nobody answered: id -> how often it is still to come back.
        self._unsure: dict[int, int] = {}
        self._repeats = Agenda(node.loop, self._repeat)

    def ask(self, id: int, done: Callable[[Granted | None], None]) -> None:
        """Claim a player; `done` is called with what its node told, or None if none did."""
        before = self._asked.pop(id, None)
        if before is not None:
            before(None)
        self._asked[id] = done
        self._overdue.put(id, self._node.loop.now() + ANSWER_WITHIN)
        self._tell(id, None)

    def _tell(self, id: int, incarnation: int | None) -> None:
        self._publish(peer_protocol.claim(self._node.id, id, incarnation))

    def _grant(self, id: int, to: int, player: list[Any]) -> None:
        self._publish(peer_protocol.grant(self._node.id, id, to, player))

    def _publish(self, message: bytes) -> None:
        self._node.broker.publish(self._node.channels.nodes, message)

    def claimed(self, node: int, id: int, incarnation: int | None) -> None:
        """A node claims a player: with an incarnation it has it, without one it asks for it."""
        here = self._node
        if node == here.id:
            self._sure(id)
            return
        resident = here.residents.get(id)
        if resident is None:
            if id in here.left:
                seq, (x, y) = here.left[id]
                self._grant(id, node, [None, seq, x, y])
        elif incarnation is None:
            self._let_go(resident, node)
        else:
            self.contest(resident, node, incarnation)

    def contest(self, resident: Resident, node: int, incarnation: int) -> None:
        """Another node says that it has a resident of this one: one of them lets go."""
        here = self._node
        if (incarnation, node) < (resident.incarnation, here.id):
            self._tell(resident.id, resident.incarnation)
        else:
            self._let_go(resident, node)

    def _let_go(self, resident: Resident, node: int) -> None:
        here = self._node
        x, y = resident.track.at(here.loop.now())
        self._grant(resident.id, node, [resident.name, resident.seq, x, y])
        here.stats["released"] += 1
        here.release(resident)

    def granted(self, _node: int, id: int, to: int, player: list[Any]) -> None:
        """A node let go of a player."""
        if to != self._node.id:
            return
        name, seq, x, y = player
        resident = self._node.residents.get(id)
        if id in self._asked:
            self._done(id, Granted(name, seq, (x, y)))
        elif resident is not None and seq >= resident.seq:
            # Both had it, and the other one told more of it: nobody would believe this one.
            resident.seq = (incarnation_of(seq) + 1) * INCARNATION
            self._node.renew(resident)

    def _unanswered(self, id: int, due: int) -> None:
        self._done(id, None)
        if id in self._node.residents:
            self._unsure[id] = REPEATS
            self._repeats.put(id, due + REPEAT_EVERY)

    def _repeat(self, id: int, due: int) -> None:
        resident = self._node.residents.get(id)
        if resident is None:
            del self._unsure[id]
        else:
            self._tell(id, resident.incarnation)
            self._repeats.put(id, due + REPEAT_EVERY)

    def _sure(self, id: int) -> None:
        """The own claim has come back: others that hear have heard it."""
        if id in self._unsure and id not in self._asked:
            self._unsure[id] -= 1
            if not self._unsure[id]:
                del self._unsure[id]
                self._repeats.drop(id)

    def _done(self, id: int, granted: Granted | None) -> None:
        self._overdue.drop(id)
        self._asked.pop(id)(granted)
