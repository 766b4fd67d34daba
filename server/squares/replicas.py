"""The squares that this node hears: from when somebody here needs one until a little after.

It decides which squares are heard, and brings each what concerns it; what a square makes of that is
in heard.py.
"""

from collections.abc import Iterable

from brokers import Broker, Reset
from server.agenda import Agenda
from server.loop import Loop
from server.messages.channels import Channels
from server.squares.heard import HeardSquare, PlayerNews, Surroundings
from server.squares.hub import Hub
from server.squares.outbox import Outbox, OwnBatch
from server.squares.peers import Peers
from world.grid import Grid, Square

#: A square is heard for this many ms after nobody needs it any more.
LINGER = 2000

#: Screens see a square after so many ms even if some node has not told its players there yet. It is
#: less than LINGER, so that no square is forgotten before.
READY_AFTER = 300


class Replicas:
    """See the module."""

    def __init__(
        self, node: int, grid: Grid, channels: Channels, broker: Broker, loop: Loop, hub: Hub,
        outbox: Outbox, peers: Peers,
    ) -> None:  # fmt: skip
        self._channel = channels.square
        self._broker = broker
        self._loop = loop
        self._hub = hub
        self._around = Surroundings(
            node, grid.span, broker, loop, hub, outbox, peers, self.show_changed
        )
        self.squares = self._around.squares
        self._by_channel: dict[str, HeardSquare] = {}
        self._lingering = Agenda(loop, self._forget)
        self._getting_ready = Agenda(loop, self._get_ready)

    def report_to(self, news: PlayerNews) -> None:
        """Tell from now on what comes in of other nodes' players."""
        self._around.news = news

    # Which squares are heard.

    def need(self, squares: Iterable[Square]) -> None:
        """Somebody needs these squares, once more than before."""
        unknown = []
        for square in squares:
            heard = self.squares.get(square)
            if heard is None:
                unknown.append(square)
                continue
            if not heard.needs:
                self._lingering.drop(square)
            heard.needs += 1
        if unknown:
            self._begin(unknown)

    def _begin(self, squares: list[Square]) -> None:
        """Hear squares from now on that nobody here needed."""
        channels = list(map(self._channel, squares))
        some = tuple(
            HeardSquare(square, channel, self._around)
            for square, channel in zip(squares, channels, strict=True)
        )
        for heard in some:
            heard.needs = 1
            self.squares[heard.square] = self._by_channel[heard.channel] = heard
        self._broker.subscribe(*channels)
        for heard in some:
            heard.request_sync()
        self._getting_ready.put(some, self._loop.now() + READY_AFTER)

    def _get_ready(self, some: tuple[HeardSquare, ...], _due: int) -> None:
        for heard in some:
            if not heard.ready:
                heard.get_ready()

    def let_go(self, squares: Iterable[Square]) -> None:
        """Somebody needs these squares no more."""
        until = self._loop.now() + LINGER
        for square in squares:
            heard = self.squares[square]
            heard.needs -= 1
            if not heard.needs:
                self._lingering.put(square, until)

    def _forget(self, square: Square, _due: int) -> None:
        """Hear a square no more."""
        heard = self.squares.pop(square)
        del self._by_channel[heard.channel]
        self._broker.unsubscribe(heard.channel)
        heard.end()

    def seq(self, id: int) -> int:
        """Return the highest seq of a player that is known here, -1 where none is."""
        seqs = [self._around.departed.seq(id, self._loop.now())]
        for heard in self.squares.values():
            player = heard.replica.players.get(id)
            if player is not None:
                seqs.append(player.seq)
        return max(seqs)

    # What screens see.

    def snapshot(self, squares: Iterable[Square]) -> bytes:
        """Return the frames that tell all of these squares, without those that are not known enough
        yet: they are shown as soon as they are."""
        some = map(self.squares.__getitem__, squares)
        return b"".join(heard.snapshot() for heard in some if heard.ready)

    def show_changed(self) -> None:
        """Show what has changed: once per screen, as many squares of its as there are."""
        around = self._around
        if not around.changed:
            return
        squares_in_turn = (*around.changed, *around.again)
        around.changed, around.again = set(), set()
        for screen, squares in self._hub.screens(squares_in_turn).items():
            self._loop.guarded(screen.show, squares)

    # What comes in.

    def receive(self, channel: str, payload: bytes) -> None:
        """Take in what came on a square's channel. Raises Malformed."""
        heard = self._by_channel.get(channel)
        if heard is not None:
            heard.receive(payload)

    def published(self, square: Square, batch: OwnBatch, taken: bool) -> None:
        """A batch of this node was published, or with `taken` False refused by the broker."""
        if not taken:
            self._loop.stats["refused_batches"] += 1
        heard = self.squares.get(square)
        # Where nobody here needs the square any more, others do.
        if heard is not None:
            heard.published(batch, taken)

    def reset(self, lost: Reset) -> None:
        """Messages of some channels may be lost: ask for all there is. The own players are told
        when the question is back: only then is what is published heard again."""
        for channel, heard in self._by_channel.items():
            if lost.channels is None or channel in lost.channels:
                self._loop.stats["resets"] += 1
                heard.request_sync()

    def drop(self, node: int) -> None:
        """A node is dead: so are its players."""
        for heard in self.squares.values():
            heard.drop(node)

    def compare(self, node: int, listed: dict[Square, int]) -> None:
        """Compare what a node's heartbeat lists (square -> last batch number) with the replicas."""
        for square, heard in self.squares.items():
            heard.compare(node, listed.get(square))
