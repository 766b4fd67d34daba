"""What a process of the swarm does with a bot's socket."""

import multiprocessing
import select
import socket
from contextlib import ExitStack
from dataclasses import replace

import msgpack
import numpy as np
import pytest

from flatlands import wire
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.swarm.connection import CLOSED, PLAYING
from flatlands.loadtest.swarm.generator import Generator
from flatlands.loadtest.swarm.intent_log import IntentLog
from flatlands.loadtest.swarm.intent_times import room
from flatlands.loadtest.swarm.process_options import ProcessOptions
from flatlands.loadtest.swarm.reader import Flush
from flatlands.model import KnownPlayer
from flatlands.server.net.frames import frame
from tests.loadtest.test_reader import enter, flush, record, snapshot

PLAN = ProcessOptions(
    address=("127.0.0.1", 1),
    name="",
    tls="",
    path="/ws",
    login="",
    scenario="slow",
    game="",
    rate=1.0,
    viewports=((24, 24),),
    indices=range(2),
    sample=100,
    joins=1.0,
    epoch=0,
    cpus=(),
    returns=True,
    bots=2,
    seed=1,
    dues=room(2),
    elsewhere=False,
)


@pytest.fixture
def pipe():
    """Both ends of a pipe: the test's and the generator's."""
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def generator(pipe):
    made = Generator(pipe[1], PLAN)
    yield made
    made.sockets.epoll.close()


def playing(generator, index, **what):
    """Return a bot that plays over a socket, and the other end."""
    bot = generator.play.bots[index]
    near, far = socket.socketpair()
    bot.socket, bot.fd, bot.state, bot.id = near, near.fileno(), PLAYING, 7
    bot.observer, bot._unsent = None, b""
    bot.offset = bot.held_changes = bot.ready_at = bot._welcomed = 0
    for name, value in what.items():
        setattr(bot, name, value)
    return bot, far


def test_a_bot_that_finds_no_seat_where_it_was_asked_to_go_comes_back_without_fault(generator):
    bot, far = playing(generator, 0, _rest=b"")
    generator.sockets.register(bot, select.EPOLLIN)
    with far, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        server = f"127.0.0.1:{elsewhere.getsockname()[1]}"
        bot.received(frame(msgpack.packb([wire.MOVED, f"http://{server}"])), 0)
        assert bot.state != PLAYING and generator.play.counters.counted["moved"] == 1
        bot.writable()
        bot.received(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 1)
        bot.received(frame(msgpack.packb([wire.ERROR, "full", "this world is full"])), 2)
        bot.received(b"", 3)
        for _ in range(2):
            generator.sockets.close_parted()
    counters = generator.play.counters
    assert bot in generator.play.away and bot._door is generator.play.door
    assert counters.counted["no_seat"] == 1
    assert not counters.complaints and not counters.counted["lost"]


def test_a_bot_that_was_cut_off_before_the_others_came_has_joined(pipe, generator):
    bot, far = playing(generator, 0, rude=True)
    generator.sockets.register(bot, select.EPOLLIN)
    with far:
        generator.play.ready(bot, 0)
        bot.lose("it sends garbage")
        generator._keep_house()
        kind, progress = pipe[0].recv()
        assert (kind, progress["playing"], progress["joined"]) == ("progress", 0, 1)
        for _ in range(2):
            generator.sockets.close_parted()


def test_a_bot_that_stands_from_a_later_moment_on_is_there_already():
    intent_log = IntentLog()
    intent_log.position = 7, 8, 0, 0, 5000, 0
    assert intent_log.at(4999) == intent_log.at(5001) == (7, 8)
    intent_log.position = 7, 8, 100, 0, 5000, 10
    assert intent_log.at(4999) == (7, 8) and intent_log.at(5005) == (57, 8)


def test_events_before_a_border_are_noted_in_their_place_if_they_are_read_afterwards():
    intent_log = IntentLog()
    for due in (100, 200):
        intent_log.intend(due, due)
    tracks = [(place, 0, 0, 0, 0, 0) for place in range(5)]
    for at, (seq, ack) in enumerate([(1, 0), (4, 2), (2, 1), (5, 2), (2, 1), (0, 0)]):
        intent_log.moved((0, 0), seq, ack, tracks[at % 5], at)
    assert [row[:2] for row in intent_log.timeline] == [(1, 0), (2, 100), (4, 200), (5, 200)]
    assert intent_log.told_at.tolist() == [0, 1, 1, 3] and intent_log.position == tracks[3]


def welcome(id):
    """Return a server's welcome to the player `id`, which stands at 50, 60."""
    world = 0, 50, 60, 16, 5120, 3620, 8192, 8192, 24, 24, "", []
    return frame(msgpack.packb([wire.WELCOME, wire.VERSION, id, 1000, *world]))


def test_a_new_life_does_not_begin_with_what_other_bots_are_told_late_of_the_last_one(generator):
    play = generator.play
    bot, far = playing(generator, 0, _rest=b"")
    play.welcomed(bot)
    generator.sockets.register(bot, select.EPOLLIN)
    there = (0, 0, 0, 0, 0, 0)
    with far, socket.create_server(("127.0.0.1", 0)) as server:
        play.door = replace(play.door, address=server.getsockname())
        for seq in (1, 2, 3):
            bot.moved((9, 9), seq, 0, there, 1)
        # The bot does not get in at once.
        for now in (3, 4):
            bot.lose("it was sent away")
            bot.connect(now)
            bot.moved((9, 9), 2, 0, there, now)
        bot.writable()
        bot.received(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 5)
        bot.received(welcome(7), 6)
        bot.moved((9, 9), 1, 0, there, 7)
        bot.moved((0, 0), 2**24 + 1, 0, there, 8)
        log = bot.intent_log
        bot.lose("the test is over")
    assert [(row[0], *row[2:4]) for row in log.timeline] == [(3, 0, 0), (2**24 + 1, 0, 0)]
    assert log.former == 3


def test_bots_with_one_seed_choose_alike_whoever_else_is_in_their_process(pipe):
    def choices(seed, indices):
        plan = replace(PLAN, seed=seed, indices=indices, bots=9, dues=room(9))
        return {bot.index: bot.random.random() for bot in Generator(pipe[1], plan).play.bots}

    found = choices(1, range(9))
    assert choices(1, range(2, 9, 3)) == {index: found[index] for index in (2, 5, 8)}
    assert len({*found.values(), *choices(2, range(9)).values()}) == 18


def test_in_lockstep_nobody_waits_for_players_that_are_not_bots(pipe):
    play = Generator(pipe[1], replace(PLAN, scenario="life")).play
    bot, span = play.bots[0], 16 * 1024
    bot.side = 16
    bot.home = (0, 0)
    for index, id in enumerate((70_000, 70_001)):
        play.intent_times.name(index, id)
    # A clockwork walker and a stranger's player stand beside the bots.
    for id in (70_000, 70_001, 5, 90_000):
        bot.observer.players[id] = KnownPlayer(
            id, 1, 0, "", False, (span, 0, 0, 0, 0, 0), (0, 0), 0, 1
        )
    play.lockstep._meet(bot)
    assert play.lockstep._neighbours[0].keys() == {70_000, 70_001}


def test_a_bot_that_never_reads_and_is_hung_up_on_keeps_nobody_awake(generator):
    bot, far = playing(generator, 1, deaf=True, reads=False)
    generator.sockets.register(bot, 0)
    far.close()
    # epoll would report this at once, again and again, for as long as the socket is registered.
    [(fd, mask)] = generator.sockets.epoll.poll(1)
    assert fd == bot.fd and mask & select.EPOLLHUP
    generator.serve(bot, mask)
    assert bot.state == CLOSED and generator.counters.counted["deaf_closed"] == 1
    assert generator.sockets.epoll.poll(0) == []


def test_a_bot_that_gets_no_pong_and_is_hung_up_on_is_lost_once(generator):
    bot, far = playing(generator, 0, reads=True, held=None, pinged=0, awaited=1, flush=0)
    generator.sockets.register(bot, select.EPOLLIN)
    # A ping can no longer be written, and no pong has come for years.
    far.close()
    generator._keep_house()
    assert bot.state == CLOSED and generator.counters.counted["lost"] == 1


def test_a_swarm_that_is_never_idle_tells_what_it_receives(pipe, generator):
    for number in range(3):
        flush = Flush(number, [], 0, generator.play.bots[0].view, b"")
        flush.dues, flush.arrivals = [1, 2], [1000] * 5000
        generator.counters.reader.flushes[bytes([number])] = flush
    told = []
    for _ in range(4):
        generator._keep_house()
        told.append(pipe[0].recv()[1]["deliveries"])
    # A flush is complete two rounds after it came, and counted until the next one.
    assert told == [0, 0, 30_000, 30_000]


def took(counters, *values):
    """Return whether these, in us, are all latencies that were counted."""
    found = Histogram()
    found.add(np.array(values))
    return bool((Histogram.of(*counters.progress()["latency"]).counts == found.counts).all())


def test_a_replaced_move_is_no_delivery_but_has_a_latency(generator):
    counters, flush = generator.counters, Flush(1, [], 0, None, b"")
    flush.dues, flush.replaced, flush.arrivals = [9000], [1000, 2000], [10_000, 20_000]
    counters._ready = [flush]
    counters.count()
    assert counters.progress()["deliveries"] == 2
    assert took(counters, 1000, 11_000, 9000, 19_000, 8000, 18_000)


def test_moves_that_are_due_in_the_measured_time_count_whenever_they_come(pipe, generator):
    counters, clock = generator.counters, iter((5000, 8000))
    generator.now = lambda: next(clock)
    generator._obey("measure")
    generator._obey("stop")
    flush = Flush(1, [], 0, None, b"")
    flush.dues, flush.arrivals = [4999, 5000, 7999, 8000], [50_000]
    counters._ready = [flush]
    counters.count()
    counters.wait([4999, 5001, 8000], 60_000, bots=2)
    counters.turn()
    assert counters.progress()["deliveries"] == 4
    assert took(counters, 45_000, 42_001, 54_999, 54_999)


@pytest.fixture
def follower(generator):
    """Return a function that makes the bot with an index follow the player 50."""
    with ExitStack() as stack:
        yield lambda index: _following(generator, index, stack)


def _following(generator, index, stack):
    """Return a bot that plays, and holds a square where it was told of the first move of 50. The
    second one was due at 2000."""
    times = generator.play.intent_times
    times.name(0, 50)
    times.put(0, 1, 1000)
    times.put(0, 2, 2000)
    bot, far = playing(generator, index, _rest=b"", missing=None, _anew=set(), reads=True)
    stack.enter_context(far)
    stack.enter_context(bot.socket)
    generator.sockets.register(bot, select.EPOLLIN)
    bot.ack_due, bot.flush, bot._unread, bot.pinged, bot.awaited = False, 0, 0, 0, 0
    bot.intent_log.intents.append(1)
    bot.view.bots.add(bot)
    bot.received(frame(msgpack.packb([wire.HELD, 0, 0, 0, 0])), 0)
    bot.received(frame(snapshot((0, 0), enter(50, 1, 3))), 0)
    bot.received(flush(1, [0, 0, 0, 0, record(3, 2, 1)]), 1500)
    return bot


def test_a_move_that_never_arrives_counts_with_the_rest_of_the_run(pipe, generator, follower):
    for index in range(2):
        follower(index)
    generator.now = lambda: 10_000
    generator._obey("report")
    # Each of the two was told of the first move, and neither of the second.
    assert pipe[0].recv()[1]["deliveries"] == 2
    assert took(generator.counters, 500, 500, 8000, 8000)


def test_a_move_counts_for_a_bot_until_its_connection_is_lost(generator, follower):
    bot = follower(0)
    generator.play.now = lambda: 7000
    bot.lose("the server is silent")
    generator.counters.turn()
    generator._count_outstanding()
    assert took(generator.counters, 5000)


def test_a_bot_that_lags_has_missed_moves_until_a_snapshot_comes(generator, follower):
    bot, counters = follower(0), generator.counters
    bot.received(frame(msgpack.packb([wire.RESYNC])), 3000)
    bot.received(frame(snapshot((0, 0), enter(50, 3, 3, ack=2))), 6000)
    counters.turn()
    assert took(counters, 4000)
    # The snapshot of a square that it comes to hold tells of nothing that it has missed.
    bot.received(frame(snapshot((0, 0), enter(50, 3, 3, ack=2))), 7000)
    counters.turn()
    assert took(counters, 4000)
