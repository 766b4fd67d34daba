"""Guests and hosts: finds the player that sent an invitation, at this node or at another, and the
place beside it at which the guest begins.

The node that has the host chooses the place, since it has the other players around the host. This
module is only asked about signed invitations (server/clients/tokens.py), so a client cannot use it
to find any player by its id.
"""

import itertools
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import HostAnswer, HostQuery, pack
from flatlands.server.players.movement import Movement, face
from flatlands.server.players.resident import Resident
from flatlands.server.players.residents import Residents
from flatlands.server.players.spots import GUEST_FARTHEST_TILES, Position, Spots
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.world.track import UNIT

#: How long a question waits for an answer. After that no node has the player.
INVITATION_ANSWER_MS = 300

#: How long a place that was chosen is kept free: by then its guest stands there.
KEPT_FREE_MS = 2000

#: A host turns to a guest if no other guest has come for this long.
LOOKS_AFTER_MS = 1000

#: The distance from the host within which others may be in the guest's way.
AROUND_HOST_UNITS = round((GUEST_FARTHEST_TILES + 1) * UNIT)


class Inviter(NamedTuple):
    """The player that invited a guest.

    `place` is where the guest begins, and `way` leads from there to the host, (dx, dy) in units; it
    is None if the host is not in play.
    """

    name: str
    place: Position
    way: tuple[int, int] | None


class Invitations:
    """Finds the hosts of this node's guests, and a place for each guest of its residents."""

    def __init__(
        self,
        bus: Bus,
        residents: Residents,
        peers: Peers,
        spots: Spots,
        movement: Movement,
        subscriptions: Subscriptions,
    ) -> None:
        self._bus = bus
        self._node = bus.node
        self._loop = bus.loop
        self._residents = residents
        self._peers = peers
        self._spots = spots
        self._movement = movement
        self._subscriptions = subscriptions
        self._nonces = itertools.count(1)
        self._asked: dict[int, Callable[[Inviter | None], None]] = {}
        self._overdue = TimerQueue(self._loop, lambda nonce, _due: self._done(nonce, None))
        #: The places that were chosen lately: until when each is kept free, and beside whom it is.
        self._promised: deque[tuple[int, Position, int]] = deque()

    def find(self, id: int, done: Callable[[Inviter | None], None]) -> None:
        """Call `done` with where a guest of a player begins, or with None if no node has that
        player. This may be at once, and is within INVITATION_ANSWER_MS."""
        resident = self._residents.by_id.get(id)
        if resident is not None or not self._peers.peers:
            done(None if resident is None else Inviter(*self._make_room_for_guest(resident)))
            return
        nonce = next(self._nonces)
        self._asked[nonce] = done
        self._overdue.put(nonce, self._loop.now() + INVITATION_ANSWER_MS)
        self._bus.to_player(id, pack(HostQuery(self._node, id, nonce)))

    def _make_room_for_guest(self, host: Resident) -> tuple[str, Position, tuple[int, int]]:
        """Choose a place for a guest of a player that is here, and let the host look there. Return
        the fields of Inviter."""
        now = self._loop.now()
        x, y = host.track.at(now)
        while self._promised and self._promised[0][0] <= now:
            self._promised.popleft()
        others = [at for _until, at, _host in self._promised]
        looks = all(
            id != host.id or until <= now + KEPT_FREE_MS - LOOKS_AFTER_MS
            for until, _at, id in self._promised
        )
        others += [
            player.track.at(now)
            for player in self._subscriptions.around(x, y, AROUND_HOST_UNITS)
            if player.id != host.id
        ]
        place = self._spots.beside(x, y, others)
        self._promised.append((now + KEPT_FREE_MS, place, host.id))
        dx, dy = place[0] - x, place[1] - y
        if looks:
            face(self._movement, host, dx, dy, now)
        return host.name, place, (-dx, -dy)

    def on_host_query(self, question: HostQuery) -> None:
        """Answer another node that asks for a player, if the player is here."""
        resident = self._residents.by_id.get(question.player)
        if resident is not None:
            name, place, way = self._make_room_for_guest(resident)
            answer = HostAnswer(self._node, question.node, question.nonce, name, *place, *way)
            self._bus.to_node(question.node, pack(answer))

    def on_host_answer(self, answer: HostAnswer) -> None:
        """Take the answer of a node that has a player, if it is for this node."""
        if answer.to == self._node and answer.nonce in self._asked:
            self._overdue.drop(answer.nonce)
            place, way = (answer.x, answer.y), (answer.dx, answer.dy)
            self._done(answer.nonce, Inviter(answer.name, place, way))

    def _done(self, nonce: int, host: Inviter | None) -> None:
        self._asked.pop(nonce)(host)
