"""Slots: which player gets which, and that no record is ever taken for another player's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatlands.brokers.base import Message
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.peer_protocol import HEARTBEAT_INTERVAL_MOST_MS, Heartbeat
from flatlands.server.squares.outbox import Slots
from flatlands.server.squares.peers import HEARTBEAT_EVERY, NodeLoad
from flatlands.testkit.comparison import true_records
from flatlands.world.batches import NARROW, SLOT_RESTS
from tests.server.harness import Harness, node_batch, two_nodes

SQUARE = (0, 0)


# Which player gets which slot.


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5000), st.integers(0, 99)), max_size=200))
def test_a_slot_is_given_again_only_after_a_rest_and_all_are_forgotten_in_the_end(steps):
    some, now = Slots(), 0
    used: dict[tuple, list[int]] = {(0, 0): [], (1, 0): []}
    left: dict[tuple, int] = {}
    for come, wait, which in steps:
        now += wait
        square = (which % 2, 0)
        if come or not used[square]:
            slot = some.take(square, now)
            assert slot not in used[square]
            assert now - left.get((square, slot), -SLOT_RESTS) >= SLOT_RESTS
            # A new slot is made only if all others are in use or rest.
            if slot not in used[square] and (square, slot) not in left:
                rest = [s for (at, s), t in left.items() if at == square and now - t < SLOT_RESTS]
                assert slot == len({*used[square], *rest})
            used[square].append(slot)
        else:
            slot = used[square].pop(which % len(used[square]))
            left[square, slot] = now
            some.release(square, slot, now)
    for square, all_used in used.items():
        for slot in all_used:
            some.release(square, slot, now)
    some.release((9, 9), some.take((9, 9), now), now)
    some.take((8, 8), now + SLOT_RESTS)
    assert some._by_square.keys() == {(8, 8)} and not some._resting


def test_slots_of_one_byte_are_given_first_and_those_that_rested_longest():
    some = Slots()
    assert [some.take(SQUARE, 0) for _ in range(NARROW + 3)] == list(range(NARROW + 3))
    for slot in (NARROW + 1, NARROW, 9, 4):
        some.release(SQUARE, slot, 0)
    # All of them rest: the next one is new.
    assert some.take(SQUARE, SLOT_RESTS - 1) == NARROW + 3
    later = [some.take(SQUARE, SLOT_RESTS) for _ in range(5)]
    assert later == [9, 4, NARROW + 1, NARROW, NARROW + 4]


def test_players_with_slots_above_255_walk_and_are_seen_walking():
    harness = Harness()
    watcher = harness.place("W", SQUARE)
    for n in range(NARROW + 20):
        harness.node.residents.join(f"P{n}", (8192, n))
    walker = harness.place("Late", SQUARE)
    assert walker.session.resident.slot > NARROW
    walker.walk(1, 0)
    harness.run(1000)
    assert watcher.model.players[walker.id].place[2] == walker.session.resident.slot
    assert watcher.at(walker) == walker.at() != (8192, 8192)
    harness.check()


def test_an_intent_whose_number_leaps_is_acknowledged_in_full(monkeypatch):
    harness = Harness()
    client, watcher = harness.place("A", SQUARE), harness.place("W", SQUARE)
    for number in (1000, 1001, 70_000, 2**53 - 1):
        client.number = number - 1
        client.walk(number % 2, 1)
        harness.run(300)
        assert client.model.players[client.id].ack == number
        harness.check()
    client.connection.lose()
    again = harness.client().hello("A", token=client.model.token)
    harness.run(100)
    assert watcher.model.players[again.id].ack == 0
    again.number = 5
    again.home()
    assert watcher.model.players[again.id].ack == 6
    harness.check()


def test_a_client_that_numbers_by_one_gets_a_record_for_each_walk():
    harness = Harness()
    client = harness.place("A", SQUARE)
    client.connection.messages.clear()
    for n in range(300):
        client.walk((1, 0, -1, 0)[n % 4], 0)
        harness.run(50)
    said = [batch for m in client.connection.messages if m[0] == 21 for batch in m[3]]
    assert sum(len(batch[4]) for batch in said) == 300 * 13
    assert all(len(batch) == 5 for batch in said)
    assert client.model.players[client.id].ack == 300
    harness.check()


def entry(id, seq=1):
    return [0, id, seq, 0, "P", False, 3, 8192, 8192, 0, 0, 0, 0, 100, []]


def record(seq, x):
    return [1, 3, seq, 0, x, 0, 0, 0, 0]


@pytest.fixture
def story():
    """A watcher, and a function that lets its node hear a batch of another node, some ms after the
    beginning, and returns the x at which each player of that node is believed to be."""
    harness = Harness()
    watcher = harness.place("W", SQUARE)
    begun = harness.loop.now()

    def tell(previous, number, age, *said):
        message = node_batch(SQUARE, 77, previous, number, begun + age, said)
        harness.node.receive(Message(harness.node.channels.square(SQUARE), message))
        harness.settle()
        known = watcher.model.players
        return {id: known[id].track[0] for id in known if id < 100}

    return harness, watcher, tell


def test_records_are_neither_read_nor_passed_on_long_after_something_was_missed(story):
    harness, watcher, tell = story
    sent = harness.loop.now() + SLOT_RESTS
    tell(0, 1, 0, entry(5))
    assert tell(2, 3, SLOT_RESTS - 1, record(2, 100)) == {5: 8292}
    before = len(watcher.connection.messages)
    assert tell(3, 4, SLOT_RESTS, record(3, 200), [4, 5, "hello"]) == {5: 8292}
    assert watcher.model.chat == [("P", "hello")]
    [flush] = watcher.connection.messages[before:]
    [[_, _, source, _, tracks, others]] = flush[3]
    assert (source, tracks, others) == (1, b"", [[4, 5, "hello"]])
    # A full state makes the slots known again.
    message = peer_protocol.pack(peer_protocol.FullState(*SQUARE, 77, 5, sent, 0, 1, [entry(5, 3)]))
    harness.node.receive(Message(harness.node.channels.square(SQUARE), message))
    assert tell(5, 6, 3 * SLOT_RESTS, record(4, 300)) == {5: 8492}
    # Batches older than the last one are ignored, as are batches that come twice.
    for number in (5, 6):
        assert tell(5, number, 3 * SLOT_RESTS, record(5, 400)) == {5: 8492}


def test_a_player_whose_slot_another_one_has_now_is_gone_and_an_old_record_moves_nobody(story):
    harness, _watcher, tell = story
    assert tell(0, 1, 0, entry(5)) == {5: 8192}
    assert tell(1, 2, 0, record(2, 100)) == {5: 8292}
    assert tell(2, 3, 0, record(1, 900)) == {5: 8292}
    assert harness.place("N", SQUARE).model.players[5].track[0] == 8292
    # Its leave must be lost, or else its node would not have given its slot to another player.
    assert tell(4, 5, 0, entry(6)) == {6: 8192}


def test_a_node_that_was_silent_keeps_its_source_and_one_that_is_forgotten_gets_another():
    harness = Harness()
    harness.run(1500)
    peers, now = harness.node.peers, harness.loop.now()
    ring, ground = harness.broker.identity, harness.node.channels.rules
    for node in (77, 78):
        peers.on_heartbeat(
            Heartbeat(node, now, ring, ground, 0, HEARTBEAT_EVERY, 0, False, *NodeLoad())
        )
    assert [peers.source(node) for node in (harness.node.id, 77, 78)] == [0, 1, 2]
    harness.run(5000)
    assert not peers.peers and peers.source(77) == 1
    peers.note_message(77, harness.loop.now())
    assert peers.source(77) == 1 and 77 in peers.peers
    # The node was only heard in a square: its next heartbeat may be a minute away.
    harness.run(3 * HEARTBEAT_INTERVAL_MOST_MS + 2 * HEARTBEAT_EVERY)
    assert not peers.peers
    peers.note_message(77, harness.loop.now())
    assert peers.source(77) == 3


def test_a_record_that_a_node_reads_late_does_not_move_the_player_that_has_the_slot_now():
    harness, a, b = two_nodes()
    first = harness.place("first", (0, 0), host=harness.hosts[0])
    harness.run(500)
    slot = harness.hosts[0].node.residents.by_id[first.id].slot
    b.host.freeze()
    for n in range(20):
        first.walk(n % 2, 1 - n % 2)
        harness.run(60)
    first.connection.lose(1000)
    harness.run(SLOT_RESTS + 500)
    # The enter of the second one is lost: a full state tells of it, when a third one asks.
    harness.network.cuts.add((a.host.broker, b.host.broker))
    second = harness.place("second", (0, 0), host=a.host)
    assert harness.hosts[0].node.residents.by_id[second.id].slot == slot
    harness.run(100)
    harness.network.heal()
    harness.place("third", (0, 0), host=harness.host())
    harness.run(1000)
    b.host.thaw()
    harness.run(2000)
    known, real = b.model.players[second.id], true_records(b, harness.hosts)[second.id]
    assert (known.seq, known.ack, known.track[:4]) == (real[0], real[1], real[4][:4])
