"""When the events of a square are published: at once, with the next flush, or after a rest."""

import pytest

from flatlands.brokers.base import Counters
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import DEFAULT_WORLD, Bus, Channels
from flatlands.server.squares.outbox import BATCH_LIMIT, LEAD, REST_MOST, Outbox
from flatlands.testkit.clock import Clock, ManualLoop
from flatlands.world.batches import RECORD, WIDE
from flatlands.world.events import ENTER, LEAVE, Player
from flatlands.world.track import stand

CHANNELS = Channels(DEFAULT_WORLD, 2013, 16)


class RecordingBroker:
    """A broker and a hub: keeps what is published, and says when the next flush may be."""

    not_before, interval, counters = 0, 0.0, Counters()

    def __init__(self):
        self.published = []

    def publish(self, channel, payload):
        self.published.append(peer_protocol.read(payload))
        return True


def run(loop, ms=0):
    """Let time pass on a loop, ms by ms."""
    for _ in range(ms + 1):
        while loop.turn():
            pass
        loop.clock.time += 1
    loop.clock.time -= 1


class Bench:
    def __init__(self):
        self.clock = Clock()
        self.loop = ManualLoop(self.clock)
        self.broker = RecordingBroker()
        self.outbox = Outbox(Bus(7, CHANNELS, self.broker, self.loop), 16384, self.broker, {})
        self.outbox.players_by_square.update({(0, 0): {}, (5, 5): {}})

    def move(self, id, seq=1, square=(0, 0)):
        track = stand(id, seq, self.loop.now())
        player = Player(7, id, seq - 1, 0, "x", False, track)
        player.slot = id
        self.outbox.track(player, square)

    def run(self, ms):
        run(self.loop, ms)

    @property
    def batches(self):
        """What was published: (square, replaced, ids). The slot of each mover is its id."""
        return [
            (
                (column, row),
                replaced,
                [record[0] for record in (*RECORD.iter_unpack(tracks), *WIDE.iter_unpack(wide))]
                + [event[1] for event in others],
            )
            for column, row, *_, tracks, others, replaced, wide, _wrote in self.broker.published
        ]


@pytest.fixture
def bench():
    return Bench()


def test_on_a_quiet_node_a_batch_goes_out_at_the_end_of_the_turn(bench):
    bench.move(1)
    bench.move(2)
    assert bench.batches == []
    bench.run(0)
    assert bench.batches == [((0, 0), 0, [1, 2])]


def test_nothing_need_go_out_before_the_next_flush(bench):
    bench.broker.not_before = bench.loop.now() + 40 + LEAD
    bench.move(1)
    bench.run(30)
    bench.move(2)
    bench.move(3, square=(5, 5))
    assert bench.batches == []
    bench.run(10)
    assert bench.batches == [((0, 0), 0, [1, 2]), ((5, 5), 0, [3])]


def test_an_enter_of_the_new_square_is_published_before_the_leave_of_the_old_one(bench):
    player = Player(7, 1, 0, 0, "x", False, stand(0, 0, bench.loop.now()))
    bench.outbox.enter(player, (0, 0))
    bench.run(0)
    bench.outbox.leave(player, (0, 0), (1, 0))
    bench.outbox.enter(player, (1, 0))
    bench.run(0)
    assert bench.batches[1:] == [((1, 0), 0, [1]), ((0, 0), 0, [1])]
    assert [fields[7][0][0] for fields in bench.broker.published[1:]] == [ENTER, LEAVE]
    # It leaves with the smaller seq: a node that hears the leave after the enter ignores it.
    entered, left = (fields[7][0][2] for fields in bench.broker.published[1:])
    assert entered > left


def test_a_crowd_rests_as_many_ms_as_its_batch_had_events(bench):
    for id in range(100):
        bench.move(id)
    bench.run(0)
    bench.move(1, 2)
    bench.run(5)
    bench.move(3, square=(5, 5))
    bench.run(0)
    # Another square does not wait for it.
    assert bench.batches[1:] == [((5, 5), 0, [3])]
    bench.run(45)
    bench.move(1, 3)
    bench.run(49)
    assert len(bench.batches) == 2
    bench.run(1)
    # The newer track has replaced the older one, and the batch says so.
    assert bench.batches[2:] == [((0, 0), 1, [1])]
    [record] = RECORD.iter_unpack(bench.broker.published[2][6])
    assert record[1] == 3


def test_no_rest_exceeds_its_maximum(bench):
    for id in range(1000):
        bench.move(id)
    bench.run(0)
    pages = -(-1000 // BATCH_LIMIT)
    assert len(bench.batches) == pages
    bench.move(1, 2)
    bench.run(REST_MOST - 1)
    assert len(bench.batches) == pages
    bench.run(1)
    assert len(bench.batches) == pages + 1


def test_each_part_of_a_large_batch_tells_what_its_own_events_replaced(bench):
    count = 2 * BATCH_LIMIT
    for seq in (1, 2, 3):
        for id in range(count):
            if id % seq == 0:
                bench.move(id, seq)
    bench.run(0)
    for _, replaced, ids in bench.batches:
        assert replaced == sum((id % 2 == 0) + (id % 3 == 0) for id in ids) > 0
    assert len(bench.batches) == 2


def test_what_a_node_publishes_last_does_not_wait_for_a_rest(bench):
    for id in range(100):
        bench.move(id)
    bench.run(0)
    bench.move(1, 2)
    bench.outbox.publish_all()
    assert bench.batches[-1] == ((0, 0), 0, [1])
    assert isinstance(bench.broker.published[-1], list)


def test_a_square_is_forgotten_when_its_last_player_is_handed_over_unless_something_waits(bench):
    stays, goes = (Player(7, id, 0, 0, "x", False, stand(id, 0, 0)) for id in (1, 2))
    outbox, square = bench.outbox, (3, 3)
    outbox.enter(stays, square)
    outbox.enter(goes, square)
    bench.run(REST_MOST)
    outbox.hand_over(goes, square)
    assert outbox.numbers == {square: 1}, "somebody is there"
    outbox.track(stays, square)
    outbox.hand_over(stays, square)
    assert outbox.numbers == {square: 1}, "something of it is still to be told"
    bench.run(REST_MOST)
    assert bench.broker.published[-1][3:5] == [1, 2]
    assert outbox.numbers == {}
    outbox.enter(stays, square)
    bench.run(REST_MOST)
    outbox.hand_over(stays, square)
    assert outbox.numbers == {} and square not in outbox.players_by_square
    # What a game wrote last is not forgotten yet: nodes that missed it must notice.
    outbox.enter(stays, square)
    outbox.write(square, 0, [(5, 1, 2**62)], instead=True)
    bench.run(0)
    outbox.hand_over(stays, square)
    assert square in outbox.numbers and not outbox._resting
