"""The hub alone: who gets which bytes, how often they are joined, and when."""

import msgpack
import pytest

from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import BatchBody
from flatlands.server.squares.hub import (
    FLUSHES_A_SAMPLE,
    PUT_OFF_FLUSH_MS,
    TIMELY_MS,
    Hub,
    flush_interval,
)
from flatlands.testkit.clock import Clock, ManualLoop
from flatlands.testkit.connection import frame_payloads
from flatlands.world.grid import Rect
from tests.server.test_outbox import run

WEST = Rect(0, 0, 0, 0)
EAST = Rect(1, 0, 1, 0)
BOTH = Rect(0, 0, 1, 0)


class Session:
    """A session as the hub sees it; keeps what is flushed to it."""

    def __init__(self):
        self.flushes = []

    def flush(self, data, number, now):
        self.flushes.append((data, number, now))

    @property
    def read(self):
        """The flushes, as lists of what batches say and of the messages before them."""
        got = []
        for data, number, now in self.flushes:
            *messages, flush = map(msgpack.unpackb, frame_payloads(data))
            kind, told, written, batches = flush
            assert (kind, told, written) == (protocol.FLUSH, number, now)
            got.append(messages + [batch[4] for batch in batches])
        return got


@pytest.fixture
def loop():
    return ManualLoop(Clock())


@pytest.fixture
def hub(loop):
    return Hub(loop)


def holders(hub, *rects, kind=Session):
    """Return screens that hold these squares."""
    sessions = [kind() for _ in rects]
    for session, rect in zip(sessions, rects, strict=True):
        hub.change_held(session, None, rect)
    return sessions


def deliver(hub, square, text, source=0, sent=0):
    """Deliver a batch whose body is a text."""
    hub.deliver(square, source, sent, BatchBody(1, msgpack.packb(text)))


def tell(hub, square, message):
    hub.send(square, 0, lambda: msgpack.packb(message))


def test_screens_that_hold_the_same_squares_get_the_same_bytes_made_once(hub, loop):
    a, b, west, east = holders(hub, BOTH, BOTH, WEST, EAST)
    for square, text in (((0, 0), "one"), ((1, 0), "two"), ((0, 0), "three")):
        deliver(hub, square, text)
    run(loop)
    assert a.read == [["one", "three", "two"]]
    assert a.flushes[0][0] is b.flushes[0][0]
    assert (west.read, east.read) == ([["one", "three"]], [["two"]])
    assert loop.stats["flushes"] == 1 and loop.stats["writes"] == 4


def test_a_batch_for_a_square_is_not_for_a_client_that_holds_it_later(hub, loop):
    [early] = holders(hub, WEST)
    deliver(hub, (0, 0), "old")
    hub.change_held(early, WEST, None)
    [late] = holders(hub, WEST)
    deliver(hub, (0, 0), "new")
    run(loop)
    assert late.read == [["new"]] and early.flushes == []


def test_a_screen_that_leaves_while_it_is_written_to_harms_nobody(hub, loop):
    class Dying(Session):
        def flush(self, data, number, now):
            super().flush(data, number, now)
            hub.change_held(self, WEST, None)

    sessions = [holders(hub, WEST, kind=kind)[0] for kind in (Dying, Session, Dying, Session)]
    for text in ("one", "two"):
        deliver(hub, (0, 0), text)
        run(loop, 25)
    assert [len(session.flushes) for session in sessions] == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("sessions", "ms"),
    [(1, 25), (400, 25), (1200, 50), (2000, 75), (3500, 87.5), (5000, 100), (9000, 100)],
)
def test_the_more_screens_there_are_the_fewer_flushes(sessions, ms):
    assert flush_interval(sessions) == ms


@pytest.mark.parametrize(("least", "interval"), [(0, 25), (250, 250)])
def test_the_first_flush_comes_at_once_and_others_at_a_pace(hub, loop, least, interval):
    hub.min_interval_ms = least
    [session] = holders(hub, WEST)
    deliver(hub, (0, 0), "one")
    run(loop)
    begun = loop.now()
    assert hub.interval == interval and hub.not_before == begun + interval
    deliver(hub, (0, 0), "two")
    deliver(hub, (0, 0), "three")
    run(loop, interval - 1)
    assert len(session.flushes) == 1
    run(loop, 1)
    assert session.read == [["one"], ["two", "three"]]
    assert session.flushes[1][2] == begun + interval


def test_a_flush_that_comes_late_puts_off_the_next_one_only(hub, loop):
    [session] = holders(hub, WEST)
    intervals = []
    for late in (TIMELY_MS, 45, 0, 2000, 0):
        deliver(hub, (0, 0), "text")
        loop.clock.time = max(loop.clock.time, hub.not_before) + late
        run(loop)
        intervals.append(hub.interval)
    assert intervals == [25, 65, 25, 25 + PUT_OFF_FLUSH_MS, 25] and len(session.flushes) == 5


def test_a_batch_is_told_with_its_age_and_after_other_messages(hub, loop):
    session, east = holders(hub, BOTH, EAST)
    now = loop.now()
    deliver(hub, (0, 0), "own", sent=now - 3)
    tell(hub, (0, 0), ["old things"])
    deliver(hub, (0, 0), "foreign", source=7, sent=now + 2)
    tell(hub, (0, 0), ["things"])
    run(loop)
    [(data, number, at)] = session.flushes
    things, flush = map(msgpack.unpackb, frame_payloads(data))
    assert things == ["things"]
    told = [[0, 0, 0, at - now + 3, "own"], [0, 0, 7, at - now - 2, "foreign"]]
    assert flush == [protocol.FLUSH, number, at, told]
    assert east.flushes == []


def test_the_hub_measures_how_old_batches_are_and_how_long_flushes_take(hub, loop):
    holders(hub, BOTH)
    loop.cost = 0.003
    for _ in range(FLUSHES_A_SAMPLE):
        begun = loop.now()
        loop.clock.time += 40
        for square in ((0, 0), (1, 0)):
            deliver(hub, square, "text", sent=begun)
        run(loop)
        loop.clock.time += 1000
    assert loop.durations["intent_to_write"] == [40_000] * 2
    assert len(loop.durations["flush"]) == FLUSHES_A_SAMPLE
    assert set(loop.durations["flush"]) <= {2999, 3000, 3001}
    assert (
        loop.stats["batches_sent"] == 2 * FLUSHES_A_SAMPLE
        and loop.stats["flushed_bytes"] > 20 * FLUSHES_A_SAMPLE
    )


def test_a_message_about_a_square_is_flushed_even_without_batches(hub, loop):
    loop.forgiving = True
    west, early = holders(hub, WEST, EAST)
    tell(hub, (1, 0), "let go")
    hub.change_held(early, EAST, None)
    # A message that cannot be made ends no flush.
    hub.send((0, 0), 1, lambda: 1 // 0)
    tell(hub, (0, 0), "things")
    tell(hub, (7, 7), "nobody holds this")
    run(loop)
    assert west.read == [["things"]] and early.flushes == [] and hub.number == 1
    assert loop.stats["errors"] == 1


def test_a_square_is_shown_again_together_with_what_has_arrived(hub, loop):
    """Otherwise a player that went on to another square would be gone until the next flush."""

    class Shown(Session):
        def show(self, squares):
            self.flushes.append((b"", squares, loop.now()))

    hub.min_interval_ms = 40
    [session] = holders(hub, WEST, kind=Shown)
    deliver(hub, (0, 0), "news")
    run(loop)
    begun = loop.now()
    deliver(hub, (0, 0), "gone east")
    hub.invalidate((0, 0))
    run(loop, 1000)
    _, (_, shown, at), (data, _, now) = session.flushes
    assert shown == [(0, 0)] and at == now > begun and b"gone east" in data
    # This needs no batch.
    hub.invalidate((0, 0))
    run(loop, 1000)
    assert len(session.flushes) == 4 and session.flushes[-1][1] == [(0, 0)]


def test_a_failure_before_a_flush_ends_no_flush(hub, loop):
    class Failing(Session):
        def show(self, squares):
            raise RuntimeError("a square cannot be shown")

    loop.forgiving = True
    [session] = holders(hub, WEST, kind=Failing)
    for _ in range(2):
        hub.invalidate((0, 0))
        deliver(hub, (0, 0), "news")
        run(loop, 1000)
    assert len(session.flushes) == 2 and loop.stats["errors"] == 2
