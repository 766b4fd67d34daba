"""A player who comes back at another node: that one takes it over from the one that has it.

Who shows a token is the player, so whoever has it lets go of it to a node that asks. One player is
never in two places for long: of two nodes that find that both have it, the one with the higher
incarnation keeps it, and of equal ones the node with the higher id. Questions and answers may be
lost, so each node says again and again which players came back to it. It never moves anybody
itself.
"""

from collections.abc import Callable
from typing import NamedTuple

from server.agenda import Agenda
from server.messages import peer_protocol
from server.messages.peer_protocol import PAIRS
from server.players.among_nodes import AmongNodes
from server.players.resident import Resident, incarnation, next_incarnation
from server.players.spots import Place
from world.grid import Square

#: A player for whom nobody answers within so many ms is at no other node.
ANSWER_WITHIN = 300

#: One who was handed over, and whom no other node has told of for so many ms, has gone: the node
#: that asked is dead by then, or what handed the player over was lost.
RELEASED_FOR = 3000

#: Every so many ms a node says which players came back to it, some of them each time: each player
#: is named once in RETELL_TURNS times, so that two nodes that both have one know it within 4 s.
RETELL_EVERY, RETELL_TURNS = 1000, 4


class Elsewhere(NamedTuple):
    """What another node tells of a player that it had: its last seq and place, and its name unless
    it had left before."""

    name: str | None
    seq: int
    place: Place


class _Question(NamedTuple):
    """A takeover that waits for its answer: whom to tell it, or that another one came instead."""

    done: Callable[[Elsewhere | None], None]
    withdrawn: Callable[[], None]


class Takeovers:
    """See the module."""

    def __init__(self, among: AmongNodes) -> None:
        self._node, self._loop, self._publish, self._residents, self._peers = among
        self._asked: dict[int, _Question] = {}
        self._overdue = Agenda(self._loop, lambda id, _due: self._answer(id, None))
        #: Players who may be at another node too, until they are forgotten: a set for each turn.
        self._watched: list[set[int]] = [set() for _ in range(RETELL_TURNS)]
        self._retelling = Agenda(self._loop, self._retell)
        #: Residents that were handed over, and that no other node has told of yet.
        self._released: dict[int, Resident] = {}
        self._vanishing = Agenda(self._loop, self._vanish)

    def ask(
        self, id: int, done: Callable[[Elsewhere | None], None], withdrawn: Callable[[], None]
    ) -> None:
        """Ask for a player that no other takeover of this node waits for (see `withdraw`).

        `done` is called with what its node told, or None if none did; or `withdrawn` instead.
        """
        self._asked[id] = _Question(done, withdrawn)
        self._overdue.put(id, self._loop.now() + ANSWER_WITHIN)
        self._publish(peer_protocol.takeover(self._node, id))

    def withdraw(self, id: int) -> None:
        """Give up a takeover that waits for its answer, if there is one, for a later one."""
        question = self._asked.pop(id, None)
        if question is not None:
            self._overdue.drop(id)
            question.withdrawn()

    def _answer(self, id: int, elsewhere: Elsewhere | None) -> None:
        self._overdue.drop(id)
        self._asked.pop(id).done(elsewhere)

    def watch(self, id: int) -> None:
        """A player that may be at another node too came back here, or has gone from here: others
        are told so from now on."""
        if not any(self._watched):
            self._retelling.put(0, self._loop.now() + RETELL_EVERY)
        self._watched[id % RETELL_TURNS].add(id)

    # What other nodes say.

    def asked(self, node: int, id: int) -> None:
        """A node asks for a player."""
        if node == self._node:
            return
        resident = self._residents.by_id.get(id)
        if resident is not None:
            self._hand_over(resident, node)
            self._released[id] = resident
            self._vanishing.put(id, self._loop.now() + RELEASED_FOR)
        elif id in self._residents.left:
            seq, (x, y) = self._residents.left[id]
            self._publish(peer_protocol.departed(self._node, id, node, seq, x, y))

    def handed_over(
        self, _node: int, id: int, to: int, name: str, seq: int, x: int, y: int
    ) -> None:
        """A node lets go of a player that it had."""
        self._answered(id, to, Elsewhere(name, seq, (x, y)))

    def departed(self, _node: int, id: int, to: int, seq: int, x: int, y: int) -> None:
        """A node tells of a player that left it a while ago."""
        self._answered(id, to, Elsewhere(None, seq, (x, y)))

    def _answered(self, id: int, to: int, elsewhere: Elsewhere) -> None:
        if to == self._node:
            if id in self._asked:
                self._answer(id, elsewhere)
            else:
                self._outlive(id, elsewhere.seq)

    def hosted(self, node: int, pairs: list[int]) -> None:
        """A node says which players came back to it, with their seqs."""
        if node == self._node:
            return
        left = self._residents.left
        for id, seq in zip(pairs[::2], pairs[1::2], strict=True):
            resident = self._residents.by_id.get(id)
            if resident is not None:
                self._contest(resident, node, seq)
            elif id in left:
                last, _place = left[id]
                if incarnation(seq) > incarnation(last):
                    # Since it left here it came back there: who asks for it is answered there.
                    del left[id]
                else:
                    self._publish_left(id, last)

    def left(self, node: int, pairs: list[int]) -> None:
        """A node says which players have left there, with their last seq."""
        if node != self._node:
            for id, seq in zip(pairs[::2], pairs[1::2], strict=True):
                self._outlive(id, seq)

    def entered(self, node: int, square: Square, id: int, seq: int) -> None:
        """Another node tells of a player that came into a square, or is there."""
        resident = self._residents.by_id.get(id)
        if resident is not None:
            self._contest(resident, node, seq)
            return
        released = self._released.get(id)
        if released is None:
            return
        if seq > released.seq:
            del self._released[id]
            self._vanishing.drop(id)
            if square != released.square:
                self._residents.tell_gone(released)
        else:
            # It did not hear how much was told here.
            self._publish_left(id, released.seq)

    def parted(self, id: int, seq: int) -> None:
        """Another node tells that a player went from a square: here it may be in play."""
        self._outlive(id, seq)

    def ignored(self, id: int, seq: int) -> None:
        """Another node tells of a player with a seq that is not believed: one as high was told of
        it by a node where it is no more."""
        self._loop.stats["ignored_enters"] += 1
        self._publish_left(id, seq)

    # What follows from it.

    def _contest(self, resident: Resident, node: int, seq: int) -> None:
        """Another node says that it has a resident of this one: one of them lets go."""
        if (incarnation(seq), node) < (incarnation(resident.seq), self._node):
            self._publish(peer_protocol.hosted(self._node, [resident.id, resident.seq]))
        else:
            self._hand_over(resident, node)
            # The other one is on screens already, perhaps far away: this one is so no longer.
            self._residents.tell_gone(resident)

    def _hand_over(self, resident: Resident, node: int) -> None:
        self._residents.hand_over(resident)
        x, y = resident.track.at(self._loop.now())
        self._publish(
            peer_protocol.handover(
                self._node, resident.id, node, resident.name, resident.seq, x, y
            )
        )
        self._loop.stats["released"] += 1

    def _outlive(self, id: int, seq: int) -> None:
        """Others were told of a player up to `seq`, by another node: if it is here, and less was
        told of it, nobody would believe what is."""
        resident = self._residents.by_id.get(id)
        if resident is not None and seq >= resident.seq:
            resident.seq = next_incarnation(seq)
            self._residents.renew(resident)

    def _publish_left(self, id: int, seq: int) -> None:
        """Say that a player is believed to have left with `seq`: whoever has it knows better."""
        self._publish(peer_protocol.left(self._node, [id, seq]))

    # What is due.

    def _vanish(self, id: int, _due: int) -> None:
        resident = self._released.pop(id)
        # It may have come back here meanwhile.
        if id not in self._residents.by_id:
            self._loop.stats["vanished"] += 1
            self._residents.tell_gone(resident)
            self._residents.remember(resident)
            self.watch(id)
            self._publish_left(id, resident.seq)

    def _retell(self, turn: int, due: int) -> None:
        """Say of some of those who came back that they are here, or that they have left."""
        hosted: list[int] = []
        left: list[int] = []
        watched = self._watched[turn]
        for id in tuple(watched):
            resident = self._residents.by_id.get(id)
            if resident is not None:
                hosted += (id, resident.seq)
            elif id in self._residents.left:
                left += (id, self._residents.left[id][0])
            else:
                watched.discard(id)
        # Without others there is nobody who could have them too.
        if self._peers.peers:
            for pairs, message in ((hosted, peer_protocol.hosted), (left, peer_protocol.left)):
                for at in range(0, len(pairs), 2 * PAIRS):
                    self._publish(message(self._node, pairs[at : at + 2 * PAIRS]))
        if any(self._watched):
            self._retelling.put((turn + 1) % RETELL_TURNS, due + RETELL_EVERY)
