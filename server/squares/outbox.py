"""What this node's residents did and is not published yet: a batch for each square, paced.

On a quiet node a batch goes out at the end of the loop's turn. On a busy one it waits until just
before the hub's next flush, for it could not get to clients earlier anyway: one batch then tells
what many would. A crowd's square waits longer. It decides nothing about players, and never looks
into a batch.
"""

from collections.abc import Callable, Collection

from brokers import Broker
from server.loop import Loop
from server.messages import protocol
from server.messages.channels import Channels
from server.squares.hub import Hub
from server.squares.replicas import OwnBatch
from world.events import Batch, Corner, Event
from world.grid import Square

#: Events in one batch: 120 x 494 bytes, the longest sayings, still fit a broker's payload.
BATCH_LIMIT = 120

#: A square whose batch had n events rests for n ms, up to REST_MOST: a thousand events a second are
#: what everybody who holds it must take, and newer tracks then replace older ones in its batch.
REST_MOST = 250

#: What is published an interval's LEAD_SHARE-th part before a flush, or LEAD ms, is back from the
#: broker in time for it. Later than that, and it would lie there until the next one.
LEAD_SHARE, LEAD = 6, 3

#: Told of each batch: its square, and whether the broker took it.
Published = Callable[[OwnBatch, Square, bool], None]


class Outbox:
    """See the module. `present` are the squares with residents."""

    def __init__(
        self, node: int, span: int, channels: Channels, broker: Broker, loop: Loop, hub: Hub,
        present: Collection[Square], published: Published,
    ) -> None:  # fmt: skip
        self._node = node
        self._span = span
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._hub = hub
        self._present = present
        self._published = published
        self._batches: dict[Square, Batch] = {}
        #: Until when the square of a crowd rests.
        self._resting: dict[Square, int] = {}
        self._alarm = loop.alarm(self.publish)
        #: The number of the last batch of each square with residents.
        self.numbers: dict[Square, int] = {}
        self._number = 0

    def batch(self, square: Square) -> Batch:
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
        if square not in self._present:
            # No resident left: the next batch there is a full base again.
            self.numbers.pop(square, None)
            self._resting.pop(square, None)

    def _send(self, square: Square, sent: int, replaced: int, events: list[Event]) -> None:
        previous = self.numbers.get(square, 0)
        number = self.next_number(square)
        payload = protocol.batch(square, self._node, previous, number, sent, replaced, events)
        self._loop.stats["batches"] += 1
        taken = self._broker.publish(self._channels.square(square), payload)
        self._published(OwnBatch(number, self._loop.now(), sent, events, payload), square, taken)

    def next_number(self, square: Square) -> int:
        """Return a number for something published on a square's channel."""
        self._number += 1
        self.numbers[square] = self._number
        return self._number

    def forget(self, square: Square) -> None:
        """Nobody is in a square any more: unless something of it waits, its count begins anew."""
        if square not in self._present and square not in self._batches:
            self.numbers.pop(square, None)
