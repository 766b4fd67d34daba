"""A crowd: a square with so many players that clients get their moves in a rough form only.

In such a square clients get enters, leaves, chat and events of the game as in any other. But they
get all moves once per flush, as six bytes each (world/sketches.py), in one message that is packed
once for all. Only the player's own client gets its move exactly. So what a client gets in a second
is bounded, however many players move. This module changes nothing between nodes, and no replica.
"""

from collections.abc import Callable
from typing import Final

from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import BatchBody
from flatlands.server.squares.context import SquareContext
from flatlands.server.squares.hub import CrowdNews
from flatlands.world.batches import RECORD, SEQ_STEP_MOST, BatchContent, SquareCoordinates
from flatlands.world.events import Event, Player
from flatlands.world.replica import Replica, UnsentMoves
from flatlands.world.sketches import LOW_BITS, RISE_MOST, join, sketch

#: A square is a crowd once it has CROWD_FROM players, until it has fewer than CROWD_UNTIL x as
#: many.
CROWD_FROM: Final = 300
CROWD_UNTIL: Final = 0.8

#: The most bytes of sketches a second that a client gets from one crowd. Moves that do not fit
#: wait, the oldest first, and newer ones of the same players replace them.
SKETCH_RATE: Final = 31_000

#: Bytes of one sketch.
SKETCH_BYTES: Final = 6

#: A crowd that has sent nothing for a while may send as many moves at once as in this time.
SAVED_MS: Final = 1000


class Crowd:
    """The crowd in one square: collects the moves there, and sends them with each flush. Times are
    node time in ms.

    `on_end` is called when the square is no longer a crowd, after everything was sent.
    """

    def __init__(
        self, context: SquareContext, replica: Replica, on_end: Callable[[], None]
    ) -> None:
        self._square = replica.square
        self._span = context.span
        self._node = context.node
        self._replica = replica
        self._until = int(context.crowd_from * CROWD_UNTIL)
        self._source = context.peers.source
        self._session = context.services.session
        self._on_end = on_end
        self._moved = replica.moved = UnsentMoves()
        self._flushed_at = 0

    @property
    def has_news(self) -> bool:
        """Whether there are moves that were not sent to clients yet."""
        return bool(self._moved.before)

    def without_moves(self, content: BatchContent) -> BatchBody | None:
        """Return what of a batch, which the replica has just applied, is sent to clients at once:
        all but its moves."""
        moved = self._moved
        if not content.others:
            return None
        # What is sent of a player counts the player's older events that were not: those that its
        # records have replaced are counted by `collect`.
        replaced = max(content.replaced - moved.jumped, 0) + moved.passed
        return protocol.body(BatchContent(b"", content.others, replaced))

    def forget(self) -> None:
        """Drop the moves until now, because no client holds the square."""
        self._moved.before.clear()
        self._end_if_small()

    def collect(self, now: int) -> CrowdNews:
        """Return what to send in a flush that is written at the time `now`."""
        replica, before = self._replica, self._moved.before
        coordinates = SquareCoordinates(self._square, self._span, now)
        most = max(min(now - self._flushed_at, SAVED_MS) * SKETCH_RATE // (1000 * SKETCH_BYTES), 1)
        self._flushed_at = now
        news = CrowdNews()
        sketches: dict[int, list[tuple[int, bytes]]] = {}
        replaced = 0
        exact: dict[int, list[tuple[Player, int]]] = {}
        for id in list(before)[:most]:
            seq, ack = before.pop(id)
            player = replica.players[id]
            rough = None
            if player.seq - seq <= RISE_MOST and 0 <= player.ack - ack <= LOW_BITS:
                rough = sketch(player, self._square, self._span, now)
            if rough is None:
                exact.setdefault(player.node, []).append((player, seq))
                continue
            sketches.setdefault(player.node, []).append((player.slot, rough))
            replaced += player.seq - seq - 1
            if player.node == self._node and (session := self._session(id)) is not None:
                news.own.append((session, self._exactly(coordinates, self._node, [(player, seq)])))
        news.batches = [self._exactly(coordinates, node, some) for node, some in exact.items()]
        if sketches:
            by_source = [(self._source(node), join(some)) for node, some in sketches.items()]
            news.crowd = protocol.crowd(self._square, replaced, by_source)
        if not before:
            self._end_if_small()
        return news

    def _exactly(
        self, coordinates: SquareCoordinates, node: int, some: list[tuple[Player, int]]
    ) -> bytes:
        """Return a batch with tracks of a node's players, each given with the seq that clients have
        of it."""
        tracks: list[bytes] = []
        wide: list[bytes] = []
        others: list[Event] = []
        replaced = 0
        for player, seq in some:
            record = coordinates.record(player) if player.seq - seq <= SEQ_STEP_MOST else None
            replaced += player.seq - seq - 1
            if record is None:
                others.append(coordinates.enter(player))
            elif len(record) == RECORD.size:
                tracks.append(record)
            else:
                wide.append(record)
        content = BatchContent(b"".join(tracks), others, replaced, b"".join(wide))
        return protocol.batch(self._square, self._source(node), 0, protocol.body(content))

    def _end_if_small(self) -> None:
        if len(self._replica.players) < self._until:
            self._replica.moved = None
            self._on_end()
