"""Messages that no node of ours would send: each is counted and changes nothing."""

from collections import Counter

import gevent
import msgpack
import pytest

from flatlands import Thing, number, text
from flatlands.brokers.base import Message
from flatlands.brokers.registry import open_broker
from flatlands.server.messages import peer_batches, peer_protocol
from flatlands.server.messages.channels import DEFAULT_WORLD, Channels
from flatlands.server.node import Node
from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.kinds import declare
from flatlands.world.grid import Grid
from flatlands.world.terrain import Terrain
from tests.bare import Wave
from tests.server.harness import Harness, node_batch
from tests.server.servers import until

CHANNELS = Channels(DEFAULT_WORLD, 2013, 16)

ENTER = [0, 5, 1, 0, "Eve", False, 3, 8192, 8192, 0, 0, 0, 0, 100, []]
LEAVE = [2, 5, 2, 0, 1]


def batch(*events, square=(0, 0), number=1):
    return node_batch(square, 77, 0, number, 1_700_000_000_000, events)


def spelt(*body):
    """Return a batch with anything as its body."""
    return msgpack.packb([20, 0, 0, 77, 0, 1, 1_700_000_000_000, *body])


def residents(*entries, page=0):
    return peer_protocol.pack(
        peer_protocol.FullState(0, 0, 77, 1, 1_700_000_000_000, page, 1, list(entries))
    )


def heartbeat(machine=()):
    load = 10**8, 5, 20, machine
    return msgpack.packb([34, 77, 1_700_000_000_000, "ring", "world", 0, 1000, 0, *load])


def changed(event, at, value):
    return [*event[:at], value, *event[at + 1 :]]


def handover(name="x", x=0, y=0, pace=100, way=(), walk=()):
    return peer_protocol.pack(
        peer_protocol.Handover(77, 5, 77, name, 1, x, y, pace, 0, [], way, 0, walk)
    )


#: A plan with more nested lines than there can be.
DEEP = ["http://a"]
for _ in range(300):
    DEEP = [0, 0, DEEP if len(DEEP) > 1 else "http://a", "http://b"]

IN_A_SQUARE = {
    "nothing": b"",
    "bytes": b"\xc1 hello",
    "more than nodes publish": batch(*[[4, 5, "a" * 120]] * 600),
    "deep": b"\x91" * 65536,
    "another kind": msgpack.packb([99, 0, 0, 1]),
    "a kind that is a list": msgpack.packb([[33], 0, 0, 1]),
    "a field too many": msgpack.packb([33, 0, 0, 77, 1, "of another version"]),
    "a heartbeat in a square": heartbeat(),
    "a watch in a square": peer_protocol.pack(peer_protocol.Watch(77, True, [0, 0, 0, 1])),
    "another square": batch(ENTER, square=(5, 5)),
    "no event": batch([]),
    "a bad event behind a good one": batch(ENTER, [2, 5, 2]),
    "a seq that is a text": batch(changed(ENTER, 2, "1")),
    "a seq that nobody could outlive": batch([3, 5, 2**53 - 1]),
    "an age that adds up to more than clients read": batch(changed(ENTER, 11, 2**53 - 1)),
    "a number that clients cannot read": batch(changed(ENTER, 3, 2**53)),
    "a huge position": batch(changed(ENTER, 7, 2**64 - 1)),
    "a number that falls": batch(ENTER, number=0),
    "residents that leave": residents(ENTER, LEAVE),
    "a page beyond the last": residents(ENTER, page=1),
    "a name of more than names have": batch(changed(ENTER, 4, "x" * 21)),
    "a saying of more than may be said": batch([4, 5, "x" * 121]),
    "a leg beyond all reach": batch(changed(ENTER, 9, 32 * 1024)),
    "a track as an event": spelt(b"", [[1, 5, 2, 0, 8192, 8192, 0, 0, 0, 0, 100, []]]),
    "half a record": spelt(bytes(14)),
    "a wide record of 13 bytes": spelt(b"", [], 0, bytes(13)),
    "records that are a text": spelt("x" * 13),
    "a batch without records": spelt(),
    "numbers in more bytes than they need": b"\x98\x14\xcc\x00"
    + msgpack.packb([0, 77, 0, 1, 1, b""])[1:],
}

AMONG_NEWS = {
    "a keepalive among news": msgpack.packb([44, 0, 0, 77, 1, 1_700_000_000_000, True]),
    "a sync request among news": peer_protocol.pack(peer_protocol.SyncRequest(0, 0, 77, 1)),
    "counts among news": peer_protocol.pack(peer_protocol.Counts(77, 0, 0, [])),
    "a half of a part": peer_protocol.pack(peer_protocol.Watch(77, True, [0, 0])),
    "a part wider than the world": peer_protocol.pack(peer_protocol.Watch(77, True, [33, 0, 0, 1])),
    "a part of no dots": peer_protocol.pack(peer_protocol.Watch(77, True, [0, 0, 0, 0])),
    **{
        f"a machine that is {machine}": heartbeat(machine)
        for machine in (
            ["http://a.example.org"],
            ["http://a.example.org; script-src *", 5],
            ["ftp://a.example.org", 5],
            ["http://a.example.org", "5"],
            ["http://a.example.org", 5, 0],
        )
    },
    **{
        f"a plan {what}": peer_protocol.pack(peer_protocol.Plan(77, 1, plan))
        for what, plan in {
            "of a number": [1],
            "of no address": ["a"],
            "with half a line": [[0, 5]],
            "with another axis": [3, 5, "http://a", "http://b"],
            "with a bit below all": [2, -1, "http://a", "http://b"],
            "of very many": DEEP,
        }.items()
    },
}

OF_A_PLAYER = {
    "a player that left with such a seq": peer_protocol.pack(peer_protocol.Left(77, 5, 2**53 - 1)),
    "players in pairs": msgpack.packb([38, 77, [5, 1]]),
}

TO_A_NODE = {
    "a handover far away": handover(x=2**43),
    "one who departed far away": handover(name="", y=-(2**43)),
    "a handover of a long name": handover(name="x" * 21),
    "one who is too fast": handover(pace=401),
    **{
        f"a way that is recorded as {way}": handover(way=way)
        for way in ([9, 0], [9, 0, 0], [0, 0, "0"], [3, 0, 0, 4, 0, 0, 0, 0, 0], [0, 2**43, 0])
    },
    **{
        f"a walk that is {walk}": handover(walk=walk)
        for walk in (
            [0] * 9,
            [0, 0, 0, 2**15, 0, 0, 9, 1, 1, 0],
            [0, 0, 0, 9, 0, 0, -9, 1, 1, 0],
            [0, 0, 0, 9, 0, 0, 9, 1, 2, 0],
            [0, 0, 0, 9, 0, 0, 9, 3, 1, 0],
            [0, 2**43, 0, 9, 0, 0, 9, 0, 0, 0],
            ["0", 0, 0, 9, 0, 0, 9, 0, 0, 0],
        )
    },
}

MALFORMED = [
    pytest.param(channel, message, id=what)
    for channel, some in {
        CHANNELS.square((0, 0)): IN_A_SQUARE,
        CHANNELS.nodes: AMONG_NEWS,
        CHANNELS.player(5): OF_A_PLAYER,
        CHANNELS.node(78): TO_A_NODE,
    }.items()
    for what, message in some.items()
]


@pytest.mark.parametrize(("channel", "message"), MALFORMED)
def test_a_malformed_message_is_counted_and_changes_nothing(channel, message, caplog):
    harness = Harness()
    client = harness.place("A", (0, 0))
    harness.run(3000)
    before = len(client.connection.messages)
    for _ in range(3):
        harness.node.receive(Message(channel, message))
    harness.settle()
    assert harness.loop.stats["malformed"] == 3
    assert len([r for r in caplog.records if "dropped a malformed message" in r.message]) == 1
    assert len(client.connection.messages) == before
    assert not harness.node.peers.peers
    harness.place("B", (0, 0))
    harness.check()


def test_a_failure_on_one_message_does_not_stop_the_rest(monkeypatch, caplog):
    broker = open_broker("memory://a fault")
    node = Node(grid=Grid(), terrain=Terrain(1), broker=broker, loop=Loop(Counter()))
    broker.subscribe("a")
    taken = []

    def take(item):
        taken.append(item.payload)
        if item.payload != b"good":
            raise RuntimeError("a test")

    monkeypatch.setattr(node, "receive", take)
    listener = gevent.spawn(node.listen)
    for payload in (b"bad", b"worse", b"good"):
        broker.publish("a", payload)
    until(lambda: len(taken) == 3)
    assert taken == [b"bad", b"worse", b"good"]
    assert node.stats["errors"] == 2 and "a test" in caplog.text
    node.loop.end()
    broker.close()
    listener.join(1)


class Board(Thing):
    """A board, with what somebody has written on it."""

    said, readers = text(1, 80), number(0, 9)


ROWS = [
    *peer_protocol.MESSAGE_ROWS.values(),
    *[kind.row for kind in peer_batches.EVENTS.values()],
    declare(Board).row,
    declare(Wave).row,
]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_wrong_field_is_named(row):
    right = {str: "1", bool: True, list: [], bytes: b""}
    values = [right.get(field.type, max(1, field.low)) for field in row.fields]
    for at, field in enumerate(row.fields):
        for wrong in (None, 1.5, {}, 2**60 if field.type is int else 1):
            fault = row.fault([*values[:at], wrong, *values[at + 1 :]])
            assert fault.startswith(f"{row.name}: {field.name} must be "), fault
