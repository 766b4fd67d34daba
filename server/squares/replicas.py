"""Keeps this node subscribed to each square that it needs, and for a little longer.

It subscribes and unsubscribes, and passes each square what the broker brings for it. It never looks
into a message: subscription.py does.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from flatlands.brokers.base import Reset
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import Changes, pack
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.context import Services, SquareContext
from flatlands.server.squares.crowds import CROWD_FROM
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.subscription import Subscription
from flatlands.world.events import Player
from flatlands.world.grid import Grid, Rect, Square
from flatlands.world.things import Thing

#: This node stays subscribed to a square for this many ms after nobody needs it any more.
LINGER: Final = 2000

#: After this many ms screens see a square, even if the sync request has not come back. It must be
#: less than LINGER, so that no square is forgotten before it gets ready.
READY_AFTER: Final = 300


class Replicas(SquareContext):
    """The subscriptions of this node. `squares`, given empty, are those that this node is
    subscribed to."""

    def __init__(
        self,
        bus: Bus,
        grid: Grid,
        squares: dict[Square, Subscription],
        hub: Hub | Any,
        outbox: Outbox,
        peers: Peers,
        services: Services,
    ) -> None:
        super().__init__(bus, grid.span, hub, outbox, peers, services)
        self._grid = grid
        self._channel = bus.channels.square
        self.squares = squares
        self.crowd_from = CROWD_FROM
        self._by_channel: dict[str, Subscription] = {}
        self._lingering = TimerQueue(self.loop, self._forget)
        self._getting_ready = TimerQueue(self.loop, self._get_ready)

    def follow(self, squares: Iterable[Square]) -> None:
        """Hear these squares from now on for the observer, and no others."""
        before, self.followed = self.followed, frozenset(squares)
        self.need(self.followed - before)
        self.let_go(before - self.followed)

    # Which squares this node is subscribed to.

    def need(self, squares: Iterable[Square]) -> None:
        """Count one more need for each of these squares, and subscribe to those that are new."""
        unknown = []
        for square in squares:
            subscription = self.squares.get(square)
            if subscription is None:
                unknown.append(square)
                continue
            if not subscription.needs:
                self._lingering.drop(square)
            subscription.needs += 1
        if unknown:
            self._begin(unknown)

    def _begin(self, squares: list[Square]) -> None:
        """Subscribe to squares, and ask the other nodes what is in them."""
        channels = list(map(self._channel, squares))
        some = tuple(
            Subscription(square, channel, self)
            for square, channel in zip(squares, channels, strict=True)
        )
        for subscription in some:
            subscription.needs = 1
            self.squares[subscription.square] = self._by_channel[subscription.channel] = (
                subscription
            )
        self.bus.subscribe(*channels)
        for subscription in some:
            subscription.sync.request()
        self._getting_ready.put(some, self.loop.now() + READY_AFTER)

    def _get_ready(self, some: tuple[Subscription, ...], _due: int) -> None:
        for subscription in some:
            subscription.view.get_ready()

    def let_go(self, squares: Iterable[Square]) -> None:
        """Count one need fewer for each of these squares. Those left without any linger."""
        until = self.loop.now() + LINGER
        for square in squares:
            subscription = self.squares[square]
            subscription.needs -= 1
            if not subscription.needs:
                self._lingering.put(square, until)

    def _forget(self, square: Square, _due: int) -> None:
        """Unsubscribe from a square."""
        subscription = self.squares.pop(square)
        del self._by_channel[subscription.channel]
        self.bus.unsubscribe(subscription.channel)
        subscription.end()

    def seq(self, id: int) -> int:
        """Return the highest seq that is known of a player in any square, or -1 if none is."""
        removed_at = self.tombstones.seq(id, self.loop.now())
        player = self.player(id)
        return removed_at if player is None else max(removed_at, player.seq)

    def player(self, id: int) -> Player | None:
        """Return what is known of a player, by its highest seq in any square, or None."""
        found = [replica.players[id] for replica in self.player_index.of(id)]
        return max(found, key=lambda player: player.seq, default=None)

    def around(self, x: int, y: int, reach: int) -> Iterator[Player]:
        """Yield the players in the squares that touch the box of `reach` units around (x, y), as
        far as this node is subscribed to them."""
        grid = self._grid
        box = Rect(*grid.square(x - reach, y - reach), *grid.square(x + reach, y + reach))
        for square in box.squares():
            subscription = self.squares.get(square)
            if subscription is not None:
                yield from subscription.replica.players.values()

    # What screens see.

    def snapshot(self, squares: Iterable[Square]) -> bytes:
        """Return the WebSocket frames of these squares' snapshots.

        Squares that are not ready yet are left out: they are shown once they are.
        """
        some = [self.squares[square].view for square in squares]
        return b"".join([view.snapshot() for view in some if view.ready])

    # What the broker brings.

    def receive(self, channel: str, payload: bytes) -> bool:
        """Apply a message that came on the channel of a square that this node is subscribed to.

        Returns False if the channel is none of them. Raises Malformed.
        """
        subscription = self._by_channel.get(channel)
        if subscription is None:
            return False
        subscription.receive(payload)
        return True

    def publish_things(
        self, square: Square, things: Sequence[Thing], gone: Sequence[str | int]
    ) -> None:
        """Publish what has changed about the things of a square; arguments as in `changes`.

        If the broker refuses the message, this node's own screens see the change anyway.
        """
        message = pack(Changes(*square, self.node, self.services.store_identity, things, gone))
        if not self.bus.publish(square, message) and square in self.squares:
            self.squares[square].receive(message)

    def reset(self, lost: Reset) -> None:
        """Publish sync requests for the squares whose messages may have been lost.

        This node's full state is not published here, but when the request comes back from the
        broker: only then is it certain that messages are received again.
        """
        self.missed = self.peers.heard_until, self.loop.now()
        for channel, subscription in self._by_channel.items():
            if lost.channels is None or channel in lost.channels:
                self.loop.stats["resets"] += 1
                subscription.reset()

    def drop(self, node: int, computers: bool) -> None:
        """Remove the players of a node that is dead; computer players only with `computers`: then
        no other node will take them on."""
        for square in tuple(self.squares_by_node.get(node, ())):
            self.squares[square].drop(node, computers=computers)
