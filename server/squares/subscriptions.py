"""Keeps this node subscribed to each square that it needs, and for a little longer.

It subscribes and unsubscribes, and lets each square receive what the broker brings for it. It never
looks into a message: subscription.py does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from flatlands.brokers.base import Reset
from flatlands.server.messages.peer_batches import TupleKind
from flatlands.server.messages.peer_protocol import ThingChanges, pack
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.context import SquareContext
from flatlands.server.squares.subscription import Subscription
from flatlands.world.events import Player
from flatlands.world.grid import Grid, Rect, Square
from flatlands.world.things import PlacedThing

#: This node stays subscribed to a square for this many ms after nobody needs it any more.
LINGER: Final = 2000

#: After this many ms screens see a square, even if the sync request has not come back. It must be
#: less than LINGER, so that no square is forgotten before it gets ready.
READY_AFTER: Final = 300


class Subscriptions:
    """The squares that this node is subscribed to, each as long as somebody needs it. `squares` is
    the dictionary, empty at first, in which the rest of the node finds them."""

    def __init__(
        self, context: SquareContext, grid: Grid, squares: dict[Square, Subscription]
    ) -> None:
        self._context = context
        self._bus = context.bus
        self._loop = loop = context.loop
        self._grid = grid
        self._channel = context.bus.channels.square
        self.by_square = squares
        #: The squares that the observer wants to receive.
        self._followed: frozenset[Square] = frozenset()
        self._lingering = TimerQueue(loop, self._forget)
        self._getting_ready = TimerQueue(loop, self._get_ready)

    def follow(self, squares: Iterable[Square]) -> None:
        """Receive these squares from now on for the observer, and no others."""
        before, self._followed = self._followed, frozenset(squares)
        self.need(self._followed - before)
        self.let_go(before - self._followed)

    # Which squares this node is subscribed to.

    def need(self, squares: Iterable[Square]) -> None:
        """Count one more need for each of these squares, and subscribe to those that are new."""
        unknown = []
        for square in squares:
            subscription = self.by_square.get(square)
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
            Subscription(square, channel, self._context)
            for square, channel in zip(squares, channels, strict=True)
        )
        for subscription in some:
            subscription.needs = 1
            self.by_square[subscription.square] = subscription
            self._bus.set_receiver(subscription.channel, subscription.receive)
        self._bus.subscribe(*channels)
        for subscription in some:
            subscription.sync.request()
        self._getting_ready.put(some, self._loop.now() + READY_AFTER)

    def _get_ready(self, some: tuple[Subscription, ...], _due: int) -> None:
        for subscription in some:
            subscription.view.get_ready()

    def let_go(self, squares: Iterable[Square]) -> None:
        """Count one need fewer for each of these squares. Those left without any linger."""
        until = self._loop.now() + LINGER
        for square in squares:
            subscription = self.by_square[square]
            subscription.needs -= 1
            if not subscription.needs:
                self._lingering.put(square, until)

    def _forget(self, square: Square, _due: int) -> None:
        """Unsubscribe from a square."""
        subscription = self.by_square.pop(square)
        self._bus.drop_receiver(subscription.channel)
        self._bus.unsubscribe(subscription.channel)
        subscription.end()

    def seq(self, id: int) -> int:
        """Return the highest seq of a player in any square, or -1 if there is none."""
        removed_at = self._context.tombstones.seq(id, self._loop.now())
        player = self.player(id)
        return removed_at if player is None else max(removed_at, player.seq)

    def player(self, id: int) -> Player | None:
        """Return a player as the square has it where its seq is highest; None if no square has
        it."""
        found = [replica.players[id] for replica in self._context.player_index.of(id)]
        return max(found, key=lambda player: player.seq, default=None)

    def players(self) -> Iterator[tuple[int, Square, Player]]:
        """Yield the id of each player in any square, the square where its seq is highest, and the
        player as it is there."""
        for id, replicas in self._context.player_index.each():
            replica = max(replicas, key=lambda one: one.players[id].seq)
            yield id, replica.square, replica.players[id]

    def around(self, x: int, y: int, reach: int) -> Iterator[Player]:
        """Yield the players in the squares that touch the box of `reach` units around (x, y), as
        far as this node is subscribed to them."""
        grid = self._grid
        box = Rect(*grid.square(x - reach, y - reach), *grid.square(x + reach, y + reach))
        for square in box.squares():
            subscription = self.by_square.get(square)
            if subscription is not None:
                yield from subscription.replica.players.values()

    # What clients get.

    def snapshot(self, squares: Iterable[Square]) -> bytes:
        """Return the WebSocket frames of these squares' snapshots.

        Squares that are not ready yet are left out: they are shown once they are.
        """
        some = [self.by_square[square].view for square in squares]
        return b"".join([view.snapshot() for view in some if view.ready])

    # The things in squares.

    def declare_things(self, kinds: Mapping[int, TupleKind]) -> None:
        """Take the kinds of things of the game, by their numbers."""
        self._context.things.update(kinds)

    def read(self, square: Square) -> None:
        """Read a square's things from the store again, because changes may have been missed."""
        self._context.read_square(square)

    def publish_things(
        self, square: Square, things: Sequence[PlacedThing], gone: Sequence[str | int]
    ) -> None:
        """Publish changes of the things in a square; arguments as in ThingChanges.

        If the broker refuses the message, this node's own clients see the change anyway.
        """
        store = self._context.services.store_identity
        message = pack(ThingChanges(*square, self._context.node, store, things, gone))
        if not self._bus.publish(square, message) and square in self.by_square:
            self.by_square[square].receive(message)

    # What the broker and the other nodes lose.

    def reset(self, lost: Reset) -> None:
        """Publish sync requests for the squares whose messages may have been lost.

        This node's full state is not published here, but when the request comes back from the
        broker: only then is it certain that messages are received again.
        """
        self._context.note_missed()
        for subscription in self.by_square.values():
            if lost.channels is None or subscription.channel in lost.channels:
                self._loop.stats["resets"] += 1
                subscription.reset()

    def node_dead(self, node: int) -> None:
        """Remove the players of a node that is dead, but not its movers of the store: another node
        may take them on."""
        for square in tuple(self._context.squares_by_node.get(node, ())):
            self.by_square[square].remove_people(node)

    def node_forgotten(self, node: int) -> None:
        """Remove whatever is left of the players of a node that has long been silent."""
        for square in tuple(self._context.squares_by_node.get(node, ())):
            self.by_square[square].remove_all(node)
