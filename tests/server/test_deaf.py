"""Deaf squares: a broker delivers nothing of them, though it delivers everything else."""

import pytest

from flatlands.server.messages import protocol
from flatlands.server.squares.sync import RESUBSCRIPTIONS, SQUARE_DEAF_MS
from tests.server.harness import Harness

HERE = (0, 0)

#: ms after which a deaf square has been noticed, by the next repetition of the request.
NOTICED = SQUARE_DEAF_MS + 3500


class Halves(Harness):
    """Two nodes. The first one's broker delivers nothing of the square HERE, or soon stops."""

    def __init__(self) -> None:
        super().__init__(nodes=2)
        self.run(3000)
        self.deaf, self.well = self.hosts
        self.link = self.deaf.broker
        self.channel = self.deaf.node.channels.square(HERE)

    def noticed(self) -> tuple[int, int]:
        """Return how often the first node has renewed its subscription, and its link."""
        return self.deaf.loop.stats["resubscriptions"], self.link.renewals

    def both(self):
        """Return the clients of two players in the square, the first one at the deaf node."""
        return [self.place(name, HERE, host=at) for name, at in zip("AB", self.hosts, strict=True)]


@pytest.fixture
def halves():
    return Halves()


def said(host):
    return [reason for reason in host.node.peers.warnings() if "flatlands/" in reason]


def test_a_subscription_without_effect_is_made_again(halves):
    halves.link.lost.add(halves.channel)
    a, b = halves.both()
    halves.run(1000)
    assert not a.sees(b) and a.sees(a)
    halves.run(NOTICED)
    assert a.sees(b) and b.sees(a) and halves.noticed() == (1, 0)
    halves.check()


def test_a_link_is_made_again_if_a_new_subscription_does_not_help(halves):
    halves.link.dead.add(halves.channel)
    a, b = halves.both()
    halves.run(SQUARE_DEAF_MS * RESUBSCRIPTIONS)
    assert not a.sees(b)
    halves.run((NOTICED - SQUARE_DEAF_MS) * RESUBSCRIPTIONS + NOTICED)
    assert a.sees(b) and b.sees(a)
    assert halves.noticed() == (RESUBSCRIPTIONS + 1, 1)
    assert not said(halves.deaf) and a.model.linked
    halves.check()


def test_a_node_that_nothing_helps_says_so_until_the_square_is_heard_or_no_longer_needed(halves):
    halves.link.dead.add(halves.channel)
    halves.link.forbidden = True
    a = halves.place("A", HERE, host=halves.deaf)
    elsewhere = halves.place("C", (9, 9), host=halves.deaf)
    halves.run(NOTICED * (RESUBSCRIPTIONS + 2))
    [reason] = said(halves.deaf)
    assert halves.channel in reason and halves.deaf.node.peers.deaf == {halves.channel}
    assert not a.model.linked and not elsewhere.model.linked
    late = halves.place("D", (9, 9), host=halves.deaf)
    told = len(elsewhere.connection.messages)
    halves.run(60_000)
    assert not [m for m in elsewhere.connection.messages[told:] if m[0] == protocol.LINK]
    # It keeps trying, and disturbs no other square again.
    assert halves.link.renewals == 1 and not late.model.linked and late.sees(elsewhere)
    a.connection.lose(1000)
    halves.run(5000)
    assert not said(halves.deaf) and not halves.deaf.node.peers.deaf
    # Nor does it renew its link whenever somebody comes there again.
    a = halves.place("A", HERE, host=halves.deaf)
    halves.run(NOTICED * (RESUBSCRIPTIONS + 2))
    assert said(halves.deaf) and halves.link.renewals == 1 and not said(halves.well)
    halves.link.dead.clear()
    halves.run(NOTICED)
    assert not said(halves.deaf)
    assert a.model.linked and elsewhere.model.linked and late.model.linked
    halves.check()


@pytest.mark.parametrize("walks", [True, False])
def test_a_square_that_was_heard_once_may_grow_deaf(halves, walks):
    a = halves.place("A", HERE, host=halves.deaf)
    halves.run(5000)
    halves.link.lost.add(halves.channel)
    halves.run(100)
    b = halves.place("B", HERE, host=halves.well)
    for n in range(2 * NOTICED // 400):
        # Busy squares have batches, and quiet ones keepalives.
        if walks:
            a.walk(n % 2 * 2 - 1, 0)
        halves.run(400)
    a.walk(0, 0)
    halves.run(500)
    assert a.sees(b) and b.sees(a) and halves.noticed() == (1, 0)
    halves.check()


def test_a_lost_batch_is_not_taken_for_a_deaf_square(halves):
    a, _ = halves.both()
    for n in range(30):
        halves.link.losing = 1.0
        for way in (1, 0):
            a.walk(way, 0)
            halves.run(300)
        halves.link.losing = 0.0
        if n % 2:
            a.walk(-1, 0)
            halves.run(600)
            a.walk(0, 0)
        halves.run(1000)
    assert halves.deaf.loop.stats["overdue_batches"] > 0
    halves.run(2 * NOTICED)
    assert halves.noticed() == (0, 0)
    halves.check()


def test_a_node_that_is_busy_or_stood_still_blames_nobody(halves):
    for square in ((n, 0) for n in range(0, 300, 5)):
        halves.deaf.freeze()
        halves.deaf.node.subscriptions.need([square])
        halves.run(1 + square[0] * 37)
        halves.deaf.thaw()
        halves.run(300)
    halves.run(2 * NOTICED)
    assert halves.noticed() == (0, 0)


@pytest.mark.parametrize("delay", [0, 4000, 9000])
def test_a_slow_broker_and_one_that_was_away_are_not_taken_for_a_deaf_one(halves, delay):
    halves.network.delay = delay
    halves.deaf.node.subscriptions.need([(c, r) for c in range(40) for r in range(50)])
    a = halves.place("A", HERE, host=halves.deaf)
    for n in range(20):
        a.walk(n % 3 - 1, n % 2)
        halves.run(1500)
    for pause in (3000, 8000, 30_000):
        halves.link.fail()
        a.walk(1, 0)
        halves.run(pause)
        a.walk(-1, 0)
        halves.link.restore(halves.deaf.node)
        halves.run(1000)
    halves.run(2 * NOTICED)
    assert halves.noticed() == (0, 0)
