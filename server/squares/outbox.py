"""Publishes what this node's players do, in batches, and which of them are in which square.

On a quiet node a batch is published at the end of the event loop's turn. On a busy node it waits
until just before the hub's next flush: it could not reach clients earlier anyway, and one batch
then takes the place of many. A batch in a crowded square waits longer.

The broker may lose messages, and after the last one of a quiet square nothing would show the others
that it was lost. So a node with players in a square repeats its number (a keepalive), ever more
rarely, as long as it publishes nothing else there: only the subscribers of the square pay for that.
After its last player has left, a few more keepalives say that it has nobody there.

This module moves no player, and reads no batches of other nodes.
"""

import random
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from flatlands.server.messages import peer_batches, protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import Keepalive, pack
from flatlands.server.messages.protocol import BatchBody
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.hub import Hub
from flatlands.world.batches import NARROW, SLOT_RESTS, Batch, BatchContent, SquareCoordinates
from flatlands.world.events import Entry, Event, Player
from flatlands.world.grid import Square

#: The most events in one batch. This many of the longest chat messages, 494 bytes each, still fit a
#: broker's payload.
BATCH_LIMIT: Final = 120

#: After a batch of n events in a square, the next one there waits for n ms, at most REST_MOST ms. A
#: node thus publishes about a thousand events a second in one square, which all clients that hold
#: it must read. In a waiting batch newer tracks replace older ones.
REST_MOST: Final = 250

#: A batch is published early enough before the hub's next flush to be back from the broker in time:
#: 1 / LEAD_SHARE of the interval between flushes, or LEAD ms if that is more. If it came back after
#: the flush, it would wait for the next one.
LEAD_SHARE: Final = 6
LEAD: Final = 3


#: ms from the last batch or full state in a square to the first keepalive, from there to the
#: second, and between all that follow; each may come up to a quarter earlier, so that keepalives
#: that began together drift apart. Players mostly do something within the first wait, and then none
#: is needed.
KEEPALIVE_WAITS: Final = (1500, 2000, 3000)

#: ms that a keepalive waits if a batch of its square is about to be published, which is better.
KEEPALIVE_POSTPONED: Final = 250


@dataclass(slots=True)
class OwnBatch:
    """A batch that this node has published.

    `published_at` and `sent` are the node times in ms at which it was published and begun; ages in
    `content` count from `sent`. `body` is the content as it was packed, and `payload` the whole
    message.
    """

    number: int
    published_at: int
    sent: int
    content: BatchContent
    body: BatchBody
    payload: bytes


class PublishListener(Protocol):
    """A square that this node publishes in and is subscribed to (subscription.py), as the outbox
    uses it."""

    def batch_published(self, batch: OwnBatch, taken: bool) -> None:
        """Expect a batch of this node back from the broker, unless `taken` is False: then the
        broker has refused it."""

    def keepalive_sent(self, now: int) -> None:
        """Note that this node has sent a keepalive here."""


class _SquareSlots:
    """The slots of one square: how many were ever `given`, and those that are free, since they have
    rested.

    The free ones are in the order in which their rest ended, those of one byte apart from others.
    """

    __slots__ = ("given", "narrow", "wide")

    def __init__(self) -> None:
        self.given = 0
        self.narrow: deque[int] = deque()
        self.wide: deque[int] = deque()


class Slots:
    """The slots of this node's players: small numbers that name them in the batches of a square.

    A slot rests after its player has left the square (SLOT_RESTS in world/batches.py): batches that
    are lost or late must not make it another player's. Nothing is kept of a square in which no slot
    is in use and none rests. Times are node time in ms, and never go back.
    """

    def __init__(self) -> None:
        self._by_square: dict[Square, _SquareSlots] = {}
        #: The slots that rest, as (until when, square, slot), in the order of time.
        self._resting: deque[tuple[int, Square, int]] = deque()

    def take(self, square: Square, now: int) -> int:
        """Return a slot for a player that comes into a square: one of one byte if there is one."""
        self._wake(now)
        slots = self._by_square.get(square)
        if slots is None:
            slots = self._by_square[square] = _SquareSlots()
        if slots.narrow:
            return slots.narrow.popleft()
        if slots.wide:
            return slots.wide.popleft()
        slots.given += 1
        return slots.given - 1

    def release(self, square: Square, slot: int, now: int) -> None:
        """Let a slot rest, because its player has left the square."""
        self._wake(now)
        self._resting.append((now + SLOT_RESTS, square, slot))

    def _wake(self, now: int) -> None:
        """Free the slots that have rested."""
        resting = self._resting
        while resting and resting[0][0] <= now:
            _, square, slot = resting.popleft()
            slots = self._by_square[square]
            (slots.narrow if slot < NARROW else slots.wide).append(slot)
            if len(slots.narrow) + len(slots.wide) == slots.given:
                del self._by_square[square]


@dataclass(slots=True)
class _LastMessage:
    """The last message of this node in a square: the `number` of its last batch or full state
    there, when it last published anything, and how many keepalives it has sent since that batch or
    full state."""

    number: int = 0
    at: int = 0
    keepalives: int = 0


class Keepalives:
    """Sends the keepalives of this node. Times are node time in ms.

    `inhabited` are the squares with players of this node. `is_waiting` returns whether a batch of a
    square is about to be published; `subscriptions` as in Outbox. `done` is called with a square in
    which the last keepalive was sent.
    """

    def __init__(
        self,
        bus: Bus,
        inhabited: Container[Square],
        is_waiting: Callable[[Square], bool],
        subscriptions: Mapping[Square, PublishListener],
        done: Callable[[Square], None],
    ) -> None:
        self._bus = bus
        self._done = done
        self._loop = loop = bus.loop
        self._inhabited = inhabited
        self._is_waiting = is_waiting
        self._subscriptions = subscriptions
        self._last: dict[Square, _LastMessage] = {}
        #: The squares, with times at which to look whether a keepalive is due: the batches of a
        #: busy square do not put it off one by one.
        self._due = TimerQueue(loop, self._send_if_due)

    def __contains__(self, square: Square) -> bool:
        """Return whether this node sends keepalives in a square."""
        return square in self._last

    def note_published(self, square: Square, number: int) -> None:
        """Note that a batch or full state with this number is published in a square."""
        last = self._last.get(square)
        now = self._loop.now()
        if last is None:
            last = self._last[square] = _LastMessage()
            self._due.put(square, now + _wait(0))
        elif last.keepalives:
            # The next look is planned for later than the first keepalive is now due.
            self._due.put(square, now + _wait(0))
        last.number, last.at, last.keepalives = number, now, 0

    def restart(self, square: Square) -> None:
        """Start the keepalives in a square over from the first one, because a player is gone from
        it and nothing is published about that."""
        last = self._last.get(square)
        if last is not None:
            last.at, last.keepalives = self._loop.now(), 0
            self._due.put(square, last.at + _wait(0))

    def send(self, square: Square) -> None:
        """Send a keepalive now, if this node sends any in the square and no batch is about to
        come."""
        last = self._last.get(square)
        if last is not None and not self._is_waiting(square):
            self._publish(square, last)

    def _send_if_due(self, square: Square, _due: int) -> None:
        """Send a keepalive in a square if it is time, and plan the next one."""
        last, now = self._last[square], self._loop.now()
        if self._is_waiting(square):
            self._due.put(square, now + KEEPALIVE_POSTPONED)
            return
        quiet = now - last.at
        wait = KEEPALIVE_WAITS[min(last.keepalives, len(KEEPALIVE_WAITS) - 1)]
        if quiet < wait - wait // 4:
            self._due.put(square, last.at + _wait(last.keepalives))
            return
        self._publish(square, last)
        last.at = now
        last.keepalives += 1
        if last.keepalives < len(KEEPALIVE_WAITS) or square in self._inhabited:
            self._due.put(square, now + _wait(last.keepalives))
        else:
            del self._last[square]
            self._done(square)

    def _publish(self, square: Square, last: _LastMessage) -> None:
        now = self._loop.now()
        inhabited = square in self._inhabited
        message = Keepalive(*square, self._bus.node, last.number, now, inhabited)
        self._loop.stats["keepalives"] += 1
        if square in self._subscriptions:
            self._subscriptions[square].keepalive_sent(now)
        self._bus.publish(square, pack(message))


class Outbox:
    """Collects this node's events in batches, and publishes these.

    `span` is the length of a square's side in units. `subscriptions` are the squares that this node
    is subscribed to: they expect what is published there back from the broker. It also publishes in
    others that a player it handed over is gone.
    """

    def __init__(
        self, bus: Bus, span: int, hub: Hub | Any, subscriptions: Mapping[Square, PublishListener]
    ) -> None:
        self._bus = bus
        self._span = span
        self._loop = loop = bus.loop
        self._hub = hub
        self._subscriptions = subscriptions
        #: Square -> its players of this node, by id. Squares without any are left out.
        self.players_by_square: dict[Square, dict[int, Player]] = {}
        #: Square -> the batch that waits to be published there.
        self._batches: dict[Square, Batch] = {}
        #: Square -> the node time in ms until which nothing is published there.
        self._resting: dict[Square, int] = {}
        #: When the waiting batches are published next, in node time in ms.
        self._planned = 0
        self._timer = loop.timer(self.publish)
        #: Square -> the number of the last batch or full state there, while this node has players
        #: in the square.
        self.numbers: dict[Square, int] = {}
        #: Square -> how many batches were published there, while somebody counts them; or None.
        self.batch_counts: dict[Square, int] | None = None
        #: The last number in any square.
        self._number = 0
        self._slots = Slots()
        #: Its messages in squares in which nothing happens.
        self.keepalives = Keepalives(
            bus, self.players_by_square, self._is_waiting, subscriptions, self._end
        )
        #: The squares in which a game wrote something, until the last keepalive there.
        self._wrote: set[Square] = set()

    # Which players are where. Every event but chat messages and those of the game raises the
    # player's seq.

    def enter(self, player: Player, square: Square) -> None:
        """Put a player into a square, and publish an enter."""
        self.players_by_square.setdefault(square, {})[player.id] = player
        player.slot = self._slots.take(square, self._loop.now())
        self.renew(player, square)

    def renew(self, player: Player, square: Square) -> None:
        """Publish everything about a player, because something other than its track has changed."""
        player.seq += 1
        self._batch(square).enter(player)

    def track(self, player: Player, square: Square, replaces: int = 0, leaps: bool = False) -> None:
        """Publish a player's new track, which replaces `replaces` others that were never published.

        `leaps`: its intent's number does not directly follow those that were obeyed or replaced.
        """
        player.seq += 1
        self._batch(square).track(player, replaces, leaps)

    def leave(self, player: Player, square: Square, to: Square) -> None:
        """Take a player out of a square, and publish that it went to the square `to`."""
        self._remove(player, square)
        player.seq += 1
        self._batch(square).leave(player, to)

    def gone(self, player: Player, square: Square) -> None:
        """Take a player out of a square, and publish that it left the game."""
        self._remove(player, square)
        self.publish_gone(player, square)

    def publish_gone(self, player: Player, square: Square) -> None:
        """Publish that a player, which this node does not have any more, is gone from a square."""
        player.seq += 1
        self._batch(square).gone(player.id, player.seq)

    def say(self, player: Player, square: Square, text: str) -> None:
        """Publish a chat message of a player."""
        self._batch(square).say(player, text)

    def emit(self, square: Square, event: Event) -> None:
        """Publish an event of one of the game's kinds."""
        self._batch(square).emit(event)

    def write(
        self,
        square: Square,
        layer: int,
        writes: Sequence[tuple[int, int, int]],
        instead: bool,
    ) -> None:
        """Publish what a game writes on tiles of a layer: see Batch.write."""
        self._wrote.add(square)
        self._batch(square).write(layer, writes, instead)

    def hand_over(self, player: Player, square: Square) -> None:
        """Take a player out of a square without an event: another node publishes about it now."""
        self._remove(player, square)
        if square not in self.players_by_square and square not in self._batches:
            self._resting.pop(square, None)
            self.forget(square)
            self.keepalives.restart(square)

    def _remove(self, player: Player, square: Square) -> None:
        present = self.players_by_square[square]
        del present[player.id]
        if not present:
            del self.players_by_square[square]
        self._slots.release(square, player.slot, self._loop.now())
        player.slot = -1

    def entries(self, square: Square, sent: int) -> list[Entry]:
        """Return an entry for each of this node's players in a square, with ages before `sent`."""
        present = self.players_by_square.get(square)
        if present is None:
            return []
        coordinates = SquareCoordinates(square, self._span, sent)
        return [coordinates.entry(player) for player in present.values()]

    # Batches, and when they are published.

    def _batch(self, square: Square) -> Batch:
        """Return the batch that collects the events of a square now."""
        batch = self._batches.get(square)
        if batch is None:
            now = self._loop.now()
            if not self._batches or (self._resting and self._in_time() < self._planned):
                self._plan(self._in_time(), now)
            batch = self._batches[square] = Batch(SquareCoordinates(square, self._span, now))
        return batch

    def _is_waiting(self, square: Square) -> bool:
        return square in self._batches

    def _in_time(self) -> int:
        """Return the latest time to publish what should be part of the hub's next flush."""
        return self._hub.not_before - max(LEAD, int(self._hub.interval / LEAD_SHARE))

    def _plan(self, due: int, now: int) -> None:
        self._planned = due
        if due <= now:
            self._loop.call_soon(self.publish)
        else:
            self._timer.set(due)

    def publish(self) -> None:
        """Publish the waiting batches, except in squares that still rest."""
        now = self._loop.now()
        batches, self._batches = self._batches, {}
        for square, batch in sorted(batches.items(), key=_enters_first):
            if self._resting.get(square, 0) > now:
                self._batches[square] = batch
            else:
                # If one batch fails, those of the other squares must not be lost with it.
                self._loop.guarded(self._publish, square, batch, now)
        if self._batches:
            soonest = min(self._resting[square] for square in self._batches)
            self._plan(max(soonest, self._in_time()), now)

    def publish_of(self, id: int) -> None:
        """Publish at once what waits to be published about a player, in any square."""
        some = [(at, batch) for at, batch in self._batches.items() if batch.mentions(id)]
        for square, batch in sorted(some, key=_enters_first):
            del self._batches[square]
            self._loop.guarded(self._publish, square, batch, self._loop.now())

    def publish_all(self) -> None:
        """Publish all waiting batches at once, because the server is about to stop."""
        self._resting.clear()
        self.publish()

    def _publish(self, square: Square, batch: Batch, now: int) -> None:
        """Publish a square's batch, in several messages if it has more than BATCH_LIMIT events."""
        stats = self._loop.stats
        count = 0
        for content in batch.parts(BATCH_LIMIT):
            count += content.events
            stats["replaced"] += content.replaced
            self._send(square, batch.coordinates.sent, content)
        stats["events"] += count
        rest = min(count, REST_MOST)
        if rest > 1:
            self._resting[square] = now + rest
        else:
            self._resting.pop(square, None)
        if square not in self.players_by_square:
            self._resting.pop(square, None)
        self.forget(square)

    def forget(self, square: Square) -> None:
        """Forget the last number in a square in which no player is left: the next batch there then
        has 0 as `previous`, and so contains everything that this node has there. Where a game
        wrote, the number is kept for a while, so that a lost write is noticed."""
        if square not in self.players_by_square and square not in self._wrote:
            self.numbers.pop(square, None)

    def _end(self, square: Square) -> None:
        self._wrote.discard(square)
        self.forget(square)

    def _send(self, square: Square, sent: int, content: BatchContent) -> None:
        previous = self.numbers.get(square, 0)
        number = self.next_number(square)
        body = protocol.body(content)
        payload = peer_batches.batch(square, self._bus.node, previous, number, sent, body, content)
        self._loop.stats["batches"] += 1
        if self.batch_counts is not None:
            self.batch_counts[square] = self.batch_counts.get(square, 0) + 1
        taken = self._bus.publish(square, payload)
        subscription = self._subscriptions.get(square)
        if subscription is not None:
            batch = OwnBatch(number, self._loop.now(), sent, content, body, payload)
            subscription.batch_published(batch, taken)

    def take_batch_counts(self, *, keep_counting: bool) -> dict[Square, int]:
        """Return how many batches were published in each square since this was called last, if it
        was to `keep_counting`."""
        batch_counts, self.batch_counts = self.batch_counts or {}, {} if keep_counting else None
        return batch_counts

    def next_number(self, square: Square) -> int:
        """Return the number of the next batch or full state, which is published in `square`."""
        self._number += 1
        self.numbers[square] = self._number
        self.keepalives.note_published(square, self._number)
        return self._number


def _enters_first(waiting: tuple[Square, Batch]) -> bool:
    """Return a key that sorts batches in which somebody enters before those with leaves only.

    If this process is killed in between, the others have learnt where a player went, and not only
    that it left.
    """
    return not waiting[1].enters


def _wait(keepalives: int) -> int:
    """Return the ms until the next keepalive, after this many `keepalives`."""
    wait = KEEPALIVE_WAITS[min(keepalives, len(KEEPALIVE_WAITS) - 1)]
    return wait - int(random.random() * (wait // 4))
