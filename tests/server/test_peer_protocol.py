"""What no node of ours would say: it is counted and changes nothing, whatever it is."""

from collections import Counter

import gevent
import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatlands.brokers.base import Message
from flatlands.brokers.registry import open_broker
from flatlands.server.loop import Loop
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import WORLD, Channels
from flatlands.server.node import Node
from flatlands.world.grid import Grid
from flatlands.world.terrain import Terrain
from tests.server.harness import Harness, node_batch

CHANNELS = Channels(WORLD, 2013, 16)
SQUARE, NODES = CHANNELS.square((0, 0)), CHANNELS.nodes
NODE, PLAYER = CHANNELS.node(78), CHANNELS.player(5)
HUGE = 2**64 - 1

ENTER = [0, 5, 1, 0, "Eve", False, 3, 8192, 8192, 0, 0, 0, 0]
LEAVE = [2, 5, 2, 0, 1]


def batch(*events, square=(0, 0), number=1, sent=1_700_000_000_000):
    return node_batch(square, 77, 0, number, sent, events)


def spelt(*tail, head=(20, 0, 0, 77, 0, 1, 1_700_000_000_000)):
    """Return a batch with anything as its tail."""
    return msgpack.packb([*head, *tail])


def residents(*entries, page=0, pages=1):
    return peer_protocol.full_state((0, 0), 77, 1, 1_700_000_000_000, page, pages, list(entries))


def heartbeat(sent=1_700_000_000_000, load=(10**8, 5, 20), state=0, every=1000, more=()):
    return msgpack.packb([34, 77, sent, "ring", "world", state, every, *load, *more])


def sign(number=1, sent=1_700_000_000_000, inhabited=True):
    return msgpack.packb([44, 0, 0, 77, number, sent, inhabited])


def changed(event, at, value):
    return [*event[:at], value, *event[at + 1 :]]


MALFORMED = {
    "nothing": (SQUARE, b""),
    "bytes": (SQUARE, b"\xc1 hello"),
    "more than nodes publish": (SQUARE, batch(*[[4, 5, "a" * 120]] * 600)),
    "zeros": (SQUARE, b"\0" * 65536),
    "deep": (SQUARE, b"\x91" * 65536),
    "no array": (SQUARE, b"\x01"),
    "an empty array": (SQUARE, b"\x90"),
    "a map": (SQUARE, msgpack.packb({0: 33})),
    "another kind": (SQUARE, msgpack.packb([99, 0, 0, 1])),
    "a kind that is a list": (SQUARE, msgpack.packb([[33], 0, 0, 1])),
    "a field too many": (SQUARE, msgpack.packb([33, 0, 0, 77, 1, "of another version"])),
    "a heartbeat in a square": (SQUARE, heartbeat()),
    "a watch in a square": (SQUARE, peer_protocol.watch(77, True, [0, 0, 0, 1])),
    "another square": (SQUARE, batch(ENTER, square=(5, 5))),
    "no event": (SQUARE, batch([])),
    "an event of another kind": (SQUARE, batch([9, 5, 1])),
    "a bad event behind a good one": (SQUARE, batch(ENTER, [2, 5, 2])),
    "a seq that is a text": (SQUARE, batch(changed(ENTER, 2, "1"))),
    "a seq that is a fraction": (SQUARE, batch(changed(ENTER, 2, 1.5))),
    "a seq below 0": (SQUARE, batch(changed(ENTER, 2, -2))),
    "a seq that nobody could outlive": (SQUARE, batch([3, 5, 2**53 - 1])),
    "an age that adds up to more than clients read": (SQUARE, batch(changed(ENTER, 11, 2**53 - 1))),
    "a position that does": (SQUARE, batch(changed(ENTER, 7, 2**53 - 1))),
    "a time that does": (SQUARE, batch(ENTER, sent=-(2**53) + 1)),
    "a resident of such a time": (SQUARE, msgpack.packb([32, 0, 0, 77, 1, 2**53 - 1, 0, 1, []])),
    "a number that clients cannot read": (SQUARE, batch(changed(ENTER, 3, 2**53))),
    "a heartbeat that does": (NODES, heartbeat(sent=2**53 - 1)),
    "a player that left with such a seq": (PLAYER, peer_protocol.left(77, 5, 2**53 - 1)),
    "a player hosted with such a seq": (PLAYER, peer_protocol.hosted(77, 5, 2**53 - 1)),
    "players in pairs": (PLAYER, msgpack.packb([38, 77, [5, 1]])),
    "a sign of such a time": (SQUARE, sign(sent=2**53 - 1)),
    "a sign of a huge number": (SQUARE, sign(number=HUGE)),
    "a sign that counts": (SQUARE, sign(inhabited=1)),
    "a sign among news": (NODES, sign()),
    "a handover of such a seq": (NODE, peer_protocol.handover(77, 5, 77, "x", 2**53 - 1, 0, 0)),
    "a huge position": (SQUARE, batch(changed(ENTER, 7, HUGE))),
    "a huge age": (SQUARE, batch(changed(ENTER, 11, HUGE))),
    "a huge time": (SQUARE, batch(ENTER, sent=HUGE)),
    "a huge number": (SQUARE, batch(ENTER, number=HUGE)),
    "a number that falls": (SQUARE, batch(ENTER, number=0)),
    "residents that leave": (SQUARE, residents(ENTER, LEAVE)),
    "a page beyond the last": (SQUARE, residents(ENTER, page=1)),
    "a million pages": (SQUARE, residents(ENTER, pages=1_000_000)),
    "a sync request among news": (NODES, peer_protocol.sync_request((0, 0), 77, 1)),
    "a heartbeat of another version": (NODES, heartbeat(more=[1])),
    "less than no memory": (NODES, heartbeat(load=(-1, 5, 20))),
    "heartbeats without end": (NODES, heartbeat(every=0)),
    "hardly any heartbeats": (NODES, heartbeat(every=60_001)),
    "a half of a part": (NODES, peer_protocol.watch(77, True, [0, 0])),
    "a part that is texts": (NODES, peer_protocol.watch(77, True, ["0"] * 4)),
    "a part beyond all numbers": (NODES, peer_protocol.watch(77, True, [0, 0, 2**53, 1])),
    "a part wider than the world": (NODES, peer_protocol.watch(77, True, [33, 0, 0, 1])),
    "a part of no dots": (NODES, peer_protocol.watch(77, True, [0, 0, 0, 0])),
    "counts among news": (NODES, peer_protocol.counts(77, 0, 0, [])),
    "a clock beyond all numbers": (NODES, heartbeat(sent=HUGE)),
    "a claim by a text": (PLAYER, msgpack.packb([35, 77, "me", 1])),
    "a name of more than names have": (SQUARE, batch(changed(ENTER, 4, "x" * 21))),
    "no name at all": (SQUARE, batch(changed(ENTER, 4, ""))),
    "a resident of such a name": (SQUARE, residents(changed(ENTER, 4, "x" * 21))),
    "a saying of more than may be said": (SQUARE, batch([4, 5, "x" * 121])),
    "nothing said": (SQUARE, batch([4, 5, ""])),
    "an emote of 256": (SQUARE, batch([5, 5, 256])),
    "an emote of nothing": (SQUARE, batch([5, 5])),
    "a look below 0": (SQUARE, batch(changed(ENTER, 12, -1))),
    "a player without a look": (SQUARE, batch(ENTER[:-1])),
    "a leg beyond all reach": (SQUARE, batch(changed(ENTER, 9, 32 * 1024))),
    "a slot below 0": (SQUARE, batch(changed(ENTER, 6, -1))),
    "a track as an event": (SQUARE, spelt(b"", [[1, 5, 2, 0, 8192, 8192, 0, 0, 0, 0]])),
    "a batch of another version": (SQUARE, msgpack.packb([20, 0, 0, 77, 0, 1, 1, 0, [ENTER]])),
    "half a record": (SQUARE, spelt(bytes(14))),
    "a wide record of 13 bytes": (SQUARE, spelt(b"", [], 0, bytes(13))),
    "records that are a text": (SQUARE, spelt("x" * 13)),
    "a batch without records": (SQUARE, spelt()),
    "an item behind the last": (SQUARE, spelt(b"", [], 0, b"", 0)),
    "less than nothing replaced": (SQUARE, spelt(b"", [], -1)),
    "numbers in more bytes than they need": (
        SQUARE,
        b"\x98\x14\xcc\x00" + msgpack.packb([0, 77, 0, 1, 1, b""])[1:],
    ),
    "a state that nodes are not in": (NODES, heartbeat(state=9)),
    "a handover far away": (NODE, peer_protocol.handover(77, 5, 77, "x", 1, 2**43, 0)),
    "one who departed far away": (NODE, peer_protocol.handover(77, 5, 77, "", 1, 0, -(2**43))),
    "one who departed with no such seq": (NODE, peer_protocol.handover(77, 5, 77, "", -1, 0, 0)),
    "a handover of a long name": (NODE, peer_protocol.handover(77, 5, 77, "x" * 21, 1, 0, 0)),
    "a handover of nothing": (NODE, msgpack.packb([36, 77, 5, 77])),
    "an answer from beyond the ground": (NODE, msgpack.packb([40, 77, 78, 1, 2**43, 0])),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_malformed_is_counted_and_changes_nothing(what, caplog):
    harness = Harness()
    client = harness.place("A", (0, 0))
    harness.run(3000)
    before = len(client.connection.messages)
    for _ in range(3):
        harness.node.receive(Message(*MALFORMED[what]))
    harness.settle()
    assert harness.loop.stats["malformed"] == 3
    assert len([r for r in caplog.records if "somebody else uses this broker" in r.message]) == 1
    assert len(client.connection.messages) == before
    assert not harness.node.peers.peers
    harness.place("B", (0, 0))
    harness.check()


def spoken():
    """Return what nodes say to each other, as (channel, message)."""
    harness = Harness(nodes=2)
    said = []
    for host in harness.hosts:
        publish = host.broker.publish
        host.broker.publish = lambda channel, payload, publish=publish: (
            said.append((channel, msgpack.unpackb(payload))) or publish(channel, payload)
        )
    harness.run(1500)
    harness.place("A", (0, 0), host=harness.hosts[0])
    b = harness.place("B", (0, 0), host=harness.hosts[1])
    b.walk(1, 1)
    b.send(6, "hello")
    harness.run(5000)
    harness.client(harness.hosts[0]).hello("B", token=b.model.token)
    harness.run(1500)
    # And who is hosted where, if its turn came.
    assert {message[0] for _, message in said} >= {20, 32, 33, 34, 35, 36}
    return said


def mutated(draw, message):
    """Return a message with one thing in it that may be anything."""
    at = draw(st.integers(0, len(message) - 1))
    if isinstance(message[at], list) and message[at] and draw(st.booleans()):
        return changed(message, at, mutated(draw, message[at]))
    anything = st.one_of(
        st.integers(-(2**63), HUGE),
        st.integers(-3, 3),
        st.none(),
        st.booleans(),
        st.text(),
        st.binary(),
        st.floats(),
        st.lists(st.integers(-3, 3)),
        st.just([[]]),
        st.just({}),
    )
    return changed(message, at, draw(anything))


SPOKEN = spoken()


@settings(max_examples=200)
@given(st.data())
def test_whatever_is_heard_newcomers_are_welcome(data):
    harness = Harness()
    for name in "ABC":
        harness.place(name, (0, 0))
    for channel, message in data.draw(st.lists(st.sampled_from(SPOKEN), min_size=1, max_size=20)):
        if data.draw(st.booleans()):
            message = mutated(data.draw, message)
        harness.node.receive(Message(channel, msgpack.packb(message)))
        harness.run(data.draw(st.sampled_from([0, 0, 300, 2000])))
    d = harness.place("D", (0, 0))
    harness.run(5000)
    assert d.sees(d) and harness.loop.stats["errors"] == 0


def test_a_fault_in_taking_something_does_not_stop_the_rest(monkeypatch, caplog):
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
    gevent.sleep(0.05)
    assert taken == [b"bad", b"worse", b"good"]
    assert node.stats["errors"] == 2 and "a test" in caplog.text
    broker.close()
    listener.join(1)


ROWS = [
    *peer_protocol.MESSAGES.values(),
    *peer_protocol._EVENTS.values(),
    *peer_protocol._THINGS.values(),
]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_field_that_is_wrong_is_named(row):
    right = {int: 1, str: "1", bool: True, list: [], bytes: b""}
    values = [right[field.type] for field in row.fields]
    for at, field in enumerate(row.fields):
        for wrong in (None, 1.5, {}, 2**60 if field.type is int else 1):
            fault = row.fault([*values[:at], wrong, *values[at + 1 :]])
            assert fault.startswith(f"{row.name}: {field.name} must be "), fault
