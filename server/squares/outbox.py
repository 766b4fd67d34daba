"""What this node tells of its players: who is in which square, and a batch for each, paced.

On a quiet node a batch goes out at the end of the loop's turn. On a busy one it waits until just
before the hub's next flush, for it could not get to clients earlier anyway: one batch then tells
what many would. A crowd's square waits longer. It moves nobody, and never looks into a batch.
"""

from collections.abc import Callable
from typing import NamedTuple

from brokers import Broker
from server.loop import Loop
from server.messages import protocol
from server.messages.channels import Channels
from server.squares.hub import Hub
from world.events import Batch, Corner, Entry, Event, Player
from world.grid import Square

#: Events in one batch: 120 x 494 bytes, the longest sayings, still fit a broker's payload.
BATCH_LIMIT = 120

#: A square whose batch had n events rests for n ms, up to REST_MOST: a thousand events a second are
#: what everybody who holds it must take, and newer tracks then replace older ones in its batch.
REST_MOST = 250

#: What is published an interval's LEAD_SHARE-th part before a flush, or LEAD ms, is back from the
#: broker in time for it. Later than that, and it would lie there until the next one.
LEAD_SHARE, LEAD = 6, 3


class OwnBatch(NamedTuple):
    """A batch of this node: its number, when it was published and begun (node time in ms), and what
    it tells."""

    number: int
    published: int
    sent: int
    events: list[Event]
    payload: bytes


class Outbox:
    """See the module. `on_published` is told of each batch: its square, and whether the broker took
    it."""

    def __init__(
        self, node: int, span: int, channels: Channels, broker: Broker, loop: Loop, hub: Hub
    ) -> None:
        self._node = node
        self._span = span
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._hub = hub
        self.on_published: Callable[[Square, OwnBatch, bool], None]
        #: The players of each square that has any, by id.
        self.present: dict[Square, dict[int, Player]] = {}
        self._batches: dict[Square, Batch] = {}
        #: Until when the square of a crowd rests.
        self._resting: dict[Square, int] = {}
        self._alarm = loop.alarm(self.publish)
        #: The number of the last batch of each square with players.
        self.numbers: dict[Square, int] = {}
        self._number = 0

    # Who is where. All that is told of a player raises its seq.

    def enter(self, player: Player, square: Square) -> None:
        """A player is in a square from now on."""
        self.present.setdefault(square, {})[player.id] = player
        self.renew(player, square)

    def renew(self, player: Player, square: Square) -> None:
        """Tell all of a player, for something other than its track has changed."""
        player.seq += 1
        self._batch(square).enter(player)

    def track(self, player: Player, square: Square) -> None:
        """A player has a new track."""
        player.seq += 1
        self._batch(square).track(player)

    def leave(self, player: Player, square: Square, to: Square) -> None:
        """A player goes to another square."""
        self._remove(player, square)
        player.seq += 1
        self._batch(square).leave(player, to)

    def gone(self, player: Player, square: Square) -> None:
        """A player leaves the game."""
        self._remove(player, square)
        self.tell_gone(player, square)

    def tell_gone(self, player: Player, square: Square) -> None:
        """Tell that somebody who is nowhere here is not in a square any more."""
        player.seq += 1
        self._batch(square).gone(player.id, player.seq)

    def say(self, player: Player, square: Square, text: str) -> None:
        """A player says something."""
        self._batch(square).say(player, text)

    def hand_over(self, player: Player, square: Square) -> None:
        """Another node tells of a player from now on: this one says nothing of it any more."""
        self._remove(player, square)
        if square not in self.present and square not in self._batches:
            self.numbers.pop(square, None)

    def _remove(self, player: Player, square: Square) -> None:
        present = self.present[square]
        del present[player.id]
        if not present:
            del self.present[square]

    def entries(self, square: Square, sent: int) -> list[Entry]:
        """Return the players of a square as entries, with ages before `sent`."""
        present = self.present.get(square)
        if present is None:
            return []
        corner = Corner(square, self._span, sent)
        return [corner.entry(player) for player in present.values()]

    def numbered(self) -> dict[Square, int]:
        """Return the squares with players, and the number of the last batch of each."""
        return {square: self.numbers.get(square, 0) for square in self.present}

    # Batches, and when they go out.

    def _batch(self, square: Square) -> Batch:
        """Return the batch that tells what happens in a square from now on."""
        batch = self._batches.get(square)
        if batch is None:
            now = self._loop.now()
            if not self._batches:
                self._plan(self._in_time(), now)
            batch = self._batches[square] = Batch(Corner(square, self._span, now))
        return batch

    def _in_time(self) -> int:
        """Return when to publish for the next flush."""
        return self._hub.not_before - max(LEAD, int(self._hub.interval / LEAD_SHARE))

    def _plan(self, due: int, now: int) -> None:
        if due <= now:
            self._loop.soon(self.publish)
        else:
            self._alarm.set(due)

    def publish(self) -> None:
        """Publish the batches of all squares that do not rest."""
        now = self._loop.now()
        batches, self._batches = self._batches, {}
        for square, batch in batches.items():
            if self._resting.get(square, 0) > now:
                self._batches[square] = batch
            else:
                # One that fails must not take with it what happened in the other squares.
                self._loop.guarded(self._publish, square, batch, now)
        if self._batches:
            soonest = min(self._resting[square] for square in self._batches)
            self._plan(max(soonest, self._in_time()), now)

    def publish_all(self) -> None:
        """Publish everything, rest or no rest: for last words."""
        self._resting.clear()
        self.publish()

    def _publish(self, square: Square, batch: Batch, now: int) -> None:
        """Publish what happened in a square: one batch, more if large."""
        stats = self._loop.stats
        count = 0
        for events, replaced in batch.parts(BATCH_LIMIT):
            count += len(events)
            stats["replaced"] += replaced
            self._send(square, batch.corner.sent, replaced, events)
        stats["events"] += count
        rest = min(count, REST_MOST)
        if rest > 1:
            self._resting[square] = now + rest
        else:
            self._resting.pop(square, None)
        if square not in self.present:
            # No player left: the next batch there is a full base again.
            self.numbers.pop(square, None)
            self._resting.pop(square, None)

    def _send(self, square: Square, sent: int, replaced: int, events: list[Event]) -> None:
        previous = self.numbers.get(square, 0)
        number = self.next_number(square)
        payload = protocol.batch(square, self._node, previous, number, sent, replaced, events)
        self._loop.stats["batches"] += 1
        taken = self._broker.publish(self._channels.square(square), payload)
        batch = OwnBatch(number, self._loop.now(), sent, events, payload)
        self.on_published(square, batch, taken)

    def next_number(self, square: Square) -> int:
        """Return a number for something published on a square's channel."""
        self._number += 1
        self.numbers[square] = self._number
        return self._number
