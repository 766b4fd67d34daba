"""A player who comes back at another node: this one claims it, the one that has it lets go.

Who shows a token is the player, so whoever has it lets go of it to a node that asks. One player is
never in two places for long: of two nodes that find that both have it, the one with the higher
incarnation keeps it, and of equal ones the node with the higher id. Claims and their answers may be
lost, so each node says again and again which players came back to it. It never moves anybody
itself.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from server.agenda import Agenda
from server.messages import peer_protocol
from server.messages.peer_protocol import PAIRS
from server.players.resident import INCARNATION, Resident, incarnation_of
from world.grid import Square

if TYPE_CHECKING:
    from server.node import Node

#: A claim that nobody answers within so many ms is granted.
ANSWER_WITHIN = 300

#: One who was let go of, and whom no other node has told of for so many ms, has gone: the node that
#: asked is dead by then, or what let go of the player was lost.
RELEASED_FOR = 3000

#: Every so many ms a node says which players came back to it, some of them each time: each player
#: is named once in RETELL_TURNS times, so that two nodes that both have one know it within 4 s.
RETELL_EVERY, RETELL_TURNS = 1000, 4


class Granted(NamedTuple):
    """What the node that had a player tells of it: its last seq and place in units, and its name
    if it had not left."""

    name: str | None
    seq: int
    place: tuple[int, int]


class _Asked(NamedTuple):
    """A claim that waits for its answer: whom to tell it, or that another one came instead."""

    done: Callable[[Granted | None], None]
    withdrawn: Callable[[], None]


class Claims:
    """See the module."""

    def __init__(self, node: "Node") -> None:
        self._node = node
        self._asked: dict[int, _Asked] = {}
        self._overdue = Agenda(node.loop, self._unanswered)
        #: Players who may be at another node too, until they are forgotten: a set for each turn.
        self._watched: list[set[int]] = [set() for _ in range(RETELL_TURNS)]
        self._retelling = Agenda(node.loop, self._retell)
        #: Residents that were let go of, and that no other node has told of yet.
        self._released: dict[int, Resident] = {}
        self._vanishing = Agenda(node.loop, self._vanish)

    def ask(
        self, id: int, done: Callable[[Granted | None], None], withdrawn: Callable[[], None]
    ) -> None:
        """Claim a player that no other claim of this node waits for (see `withdraw`).

        `done` is called with what its node told, or None if none did; or `withdrawn` instead.
        """
        self._asked[id] = _Asked(done, withdrawn)
        self._overdue.put(id, self._node.loop.now() + ANSWER_WITHIN)
        self._publish(peer_protocol.claim(self._node.id, id))

    def withdraw(self, id: int) -> None:
        """Give up a claim that waits for its answer, if there is one, for a later one."""
        asked = self._asked.pop(id, None)
        if asked is not None:
            self._overdue.drop(id)
            asked.withdrawn()

    def watch(self, id: int) -> None:
        """A player that may be at another node too came back here, or has gone from here: others
        are told so from now on."""
        if not any(self._watched):
            self._retelling.put(0, self._node.loop.now() + RETELL_EVERY)
        self._watched[id % RETELL_TURNS].add(id)

    def _grant(self, id: int, to: int, player: list[Any]) -> None:
        self._publish(peer_protocol.grant(self._node.id, id, to, player))

    def _publish(self, message: bytes) -> None:
        self._node.broker.publish(self._node.channels.nodes, message)

    # What other nodes say.

    def claimed(self, node: int, id: int) -> None:
        """A node asks for a player."""
        here = self._node
        if node == here.id:
            return
        resident = here.residents.get(id)
        if resident is not None:
            self._let_go(resident, node)
            self._released[id] = resident
            self._vanishing.put(id, here.loop.now() + RELEASED_FOR)
        elif id in here.left:
            seq, (x, y) = here.left[id]
            self._grant(id, node, [None, seq, x, y])

    def granted(self, _node: int, id: int, to: int, player: list[Any]) -> None:
        """A node let go of a player."""
        if to != self._node.id:
            return
        name, seq, x, y = player
        if id in self._asked:
            self._done(id, Granted(name, seq, (x, y)))
        else:
            self.outlive(id, seq)

    def hosted(self, node: int, pairs: list[int]) -> None:
        """A node says which players came back to it, with their incarnations."""
        if node == self._node.id:
            return
        for id, incarnation in zip(pairs[::2], pairs[1::2], strict=True):
            resident = self._node.residents.get(id)
            if resident is not None:
                self.contest(resident, node, incarnation)
            elif id in self._node.left:
                seq, _place = self._node.left[id]
                if incarnation > incarnation_of(seq):
                    # Since it left here it came back there: who asks for it is answered there.
                    del self._node.left[id]
                else:
                    self.tell_left(id, seq)

    def left(self, node: int, pairs: list[int]) -> None:
        """A node says which players have left there, with their last seq."""
        if node != self._node.id:
            for id, seq in zip(pairs[::2], pairs[1::2], strict=True):
                self.outlive(id, seq)

    def contest(self, resident: Resident, node: int, incarnation: int) -> None:
        """Another node says that it has a resident of this one: one of them lets go."""
        here = self._node
        if (incarnation, node) < (resident.incarnation, here.id):
            message = peer_protocol.hosted(here.id, [resident.id, resident.incarnation])
            self._publish(message)
        else:
            self._let_go(resident, node)
            # The other one is on screens already, perhaps far away: this one is so no longer.
            here.tell_gone(resident)

    def tell_left(self, id: int, seq: int) -> None:
        """Say that a player is believed to have left with `seq`: whoever has it knows better."""
        self._publish(peer_protocol.left(self._node.id, [id, seq]))

    def _let_go(self, resident: Resident, node: int) -> None:
        here = self._node
        x, y = resident.track.at(here.loop.now())
        here.release(resident)
        self._grant(resident.id, node, [resident.name, resident.seq, x, y])
        here.stats["released"] += 1

    def told(self, square: Square, id: int, seq: int) -> None:
        """Another node tells of a player in a square that is not here."""
        resident = self._released.get(id)
        if resident is None:
            return
        if seq > resident.seq:
            del self._released[id]
            self._vanishing.drop(id)
            if square != resident.square:
                self._node.tell_gone(resident)
        else:
            # It did not hear how much was told here.
            self.tell_left(id, resident.seq)

    def _vanish(self, id: int, _due: int) -> None:
        resident = self._released.pop(id)
        # It may have come back here meanwhile.
        if id not in self._node.residents:
            self._node.stats["vanished"] += 1
            self._node.tell_gone(resident)
            self._node.remember(resident)
            self.watch(id)
            self.tell_left(id, resident.seq)

    def outlive(self, id: int, seq: int) -> None:
        """Others were told of a player up to `seq`, by another node: if it is here, and less was
        told of it, nobody would believe what is."""
        resident = self._node.residents.get(id)
        if resident is not None and seq >= resident.seq:
            resident.seq = (incarnation_of(seq) + 1) * INCARNATION
            self._node.renew(resident)

    # What is due.

    def _unanswered(self, id: int, _due: int) -> None:
        self._done(id, None)

    def _done(self, id: int, granted: Granted | None) -> None:
        self._overdue.drop(id)
        self._asked.pop(id).done(granted)

    def _retell(self, turn: int, due: int) -> None:
        """Say of some of those who came back that they are here, or that they have left."""
        here = self._node
        hosted: list[int] = []
        left: list[int] = []
        watched = self._watched[turn]
        for id in tuple(watched):
            resident = here.residents.get(id)
            if resident is not None:
                hosted += (id, resident.incarnation)
            elif id in here.left:
                left += (id, here.left[id][0])
            else:
                watched.discard(id)
        # Without others there is nobody who could have them too.
        if here.peers.peers:
            for pairs, message in ((hosted, peer_protocol.hosted), (left, peer_protocol.left)):
                for at in range(0, len(pairs), 2 * PAIRS):
                    self._publish(message(here.id, pairs[at : at + 2 * PAIRS]))
        if any(self._watched):
            self._retelling.put((turn + 1) % RETELL_TURNS, due + RETELL_EVERY)
