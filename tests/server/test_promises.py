"""Promises of docs/nodes.md and docs/protocol.md that are kept between nodes, one by one.

Each test fails when the line of code that keeps its promise is taken away.
"""

from itertools import pairwise, zip_longest

import msgpack
import pytest

from flatlands.brokers.base import Message, Reset
from flatlands.server.messages import peer_protocol
from flatlands.server.squares import peers, subscription
from flatlands.server.squares.outbox import KEEPALIVE_WAITS
from flatlands.server.squares.peers import HEARTBEAT_EVERY, NODE_DEAD_MS, NODE_GONE_MS, NodeLoad
from flatlands.server.squares.subscription import (
    ECHO_WITHIN,
    LOST_AFTER,
    SILENT_AFTER,
    SYNC_ANSWER_MS,
)
from flatlands.server.squares.subscriptions import READY_AFTER
from flatlands.server.squares.sync import (
    FULL_STATE_EVERY_MS,
    REQUEST_AGAIN_MOST_MS,
    REQUEST_AGAIN_MS,
)
from flatlands.world.track import SPEED, UNIT
from tests.server.harness import Harness, node_batch


def kinds(client):
    """Return the kinds of the messages that a client got."""
    return [message[0] for message in client.connection.messages]


def tell_at_once(client, *messages):
    """Let a client send messages without waiting for answers."""
    for message in messages:
        client.connection.on_message(2, msgpack.packb(message))


def hello(token):
    return [1, 3, "B", 40, 25, token, None, None, None]


# What is said before the welcome.


@pytest.fixture(params=["one node", "two nodes", "a node that does not answer"])
def returning(request):
    """A harness, a token of a player in it, and the host at which the player comes back."""
    harness = Harness(nodes=1 if request.param == "one node" else 2, ready=True)
    b = harness.place("B", (0, 0), host=harness.hosts[-1])
    token = b.model.token
    if request.param == "a node that does not answer":
        harness.kill(harness.hosts[1])
    else:
        b.connection.lose()
    return harness, token, harness.hosts[0]


def test_what_is_said_before_the_welcome_is_obeyed_after_it(returning):
    harness, token, host = returning
    client = harness.client(host)
    walk = [2, 1, host.loop.now(), 1, 0]
    tell_at_once(client, hello(token), [5, 80, 40], [6, "here I am"], walk, [7, 5, 0])
    harness.run(1000)
    assert client.connection.closed is None and client.model.errors == []
    assert kinds(client)[0] == 16 and 23 in kinds(client)
    assert client.model.chat == [("B", "here I am")]
    assert client.model.players[client.id].ack == 1
    x = client.model.welcome[4]
    assert 0 < client.at()[0] - x <= SPEED * 1.2
    harness.check()


@pytest.mark.parametrize(
    ("messages", "errors"),
    [
        ([hello(None)], ["hello"]),
        ([[2, 0, 0, 1, 0]], ["fields"]),
        ([[99]], ["kind"]),
        ([[7, 1, 5]], ["flush"]),
        # The rates limit what a flood may say, and what it may be told.
        ([[6, f"line {n}"] for n in range(100)], ["flood"] * 40),
    ],
)
def test_wrong_messages_before_the_welcome_are_refused_as_after_it(returning, messages, errors):
    harness, token, host = returning
    client = harness.client(host)
    tell_at_once(client, hello(token), *messages, [2, 1, host.loop.now(), 1, 0])
    harness.run(500)
    assert client.model.errors[:40] == errors and client.connection.closed[0] == 1008


@pytest.mark.parametrize("silent", [False, True], ids=["answered", "without an answer"])
def test_of_three_that_show_a_token_in_one_moment_one_plays_and_the_others_are_told(silent):
    harness = Harness(nodes=2, ready=True)
    a = harness.place("A", (0, 0))
    b = harness.place("B", (0, 0), host=harness.hosts[1])
    harness.run(300)
    token = b.model.token
    if silent:
        harness.kill(harness.hosts[1])
    rivals = [harness.client(harness.hosts[0]) for _ in range(3)]
    for client in rivals:
        # In one turn of the loop: the first claim is not answered when the next one comes.
        tell_at_once(client, hello(token))
    harness.run(6000)
    playing = [client for client in rivals if client.connection.closed is None]
    assert len(playing) == 1 and playing[0].id == b.id
    for client in rivals:
        if client is not playing[0]:
            code, reason = client.connection.closed
            assert code in (1012, 4001) and len(reason.split()) >= 2
    having = [host for host in harness.hosts if b.id in host.node.residents.by_id]
    assert having == [harness.hosts[0]]
    assert a.sees(playing[0])
    playing[0].walk(1, 0)
    harness.run(500)
    assert a.at(playing[0]) == playing[0].at() and a.model.players[b.id].ack == 1
    assert all(host.loop.stats["errors"] == 0 for host in harness.hosts)
    harness.check()


# Batches of another node: a stranger, 77, for which the tests publish what they like.

SQUARE = (0, 0)
NODE = 77


def entry(id, seq=1, name=None, x=8192):
    return [0, id, seq, 0, name or f"P{id}", False, id, x, 8192, 0, 0, 0, 0, 100, []]


@pytest.fixture
def watched():
    """A harness of one node with a watcher in square 0, 0, long after it began."""
    harness = Harness()
    watcher = harness.place("W", SQUARE)
    harness.run(2000)
    return harness, watcher


def heard(harness, message, channel=None):
    """Let the node hear a message as the broker delivers it, on the square's channel or another."""
    harness.node.receive(Message(channel or harness.node.channels.square(SQUARE), message))
    harness.settle()


def heartbeat(harness, state=0, sent=None, every=HEARTBEAT_EVERY, node=NODE):
    sent = harness.loop.now() if sent is None else sent
    ring, ground = harness.broker.identity, harness.node.channels.rules
    message = peer_protocol.pack(
        peer_protocol.Heartbeat(node, sent, ring, ground, state, every, 0, False, *NodeLoad())
    )
    heard(harness, message, harness.node.channels.nodes)


def keepalive(harness, number, inhabited=True):
    heard(
        harness,
        peer_protocol.pack(
            peer_protocol.Keepalive(*SQUARE, NODE, number, harness.loop.now(), inhabited)
        ),
    )


def batch(harness, events, previous, number, sent=None):
    sent = harness.loop.now() if sent is None else sent
    heard(harness, node_batch(SQUARE, NODE, previous, number, sent, events))


def residents(harness, number, entries, page=0, pages=1, sent=None, square=SQUARE, node=NODE):
    sent = harness.loop.now() if sent is None else sent
    message = peer_protocol.pack(
        peer_protocol.FullState(*square, node, number, sent, page, pages, entries)
    )
    heard(harness, message, harness.node.channels.square(square))


def seen(client):
    """Return the ids of the other players that a client knows."""
    return set(client.model.players) - {client.id}


def published(host):
    """Note from now on what a node publishes, as (moment, message)."""
    said, publish = [], host.broker.publish

    def note(channel, payload):
        said.append((host.loop.time, msgpack.unpackb(payload)))
        return publish(channel, payload)

    host.broker.publish = note
    return said


def times(said, kind):
    return [moment for moment, message in said if message[0] == kind]


def pauses(moments):
    return [b - a for a, b in pairwise(moments)]


def test_an_answer_counts_when_all_its_pages_have_come_in_any_order_or_twice(watched):
    harness, watcher = watched
    for page in (2, 1, 1, 2):
        residents(harness, 8, [entry(page)], page=page, pages=3)
        assert seen(watcher) == set()
    # The first page is lost. Pages of another answer are not mixed with those of this one.
    residents(harness, 9, [entry(10)], page=0, pages=3)
    assert seen(watcher) == set()
    for page in (1, 2):
        residents(harness, 9, [entry(20 + page)], page=page, pages=3)
    assert seen(watcher) == {10, 21, 22}
    residents(harness, 7, [entry(2)])
    assert seen(watcher) == {10, 21, 22}, "it is an older answer"


def test_a_crowd_of_more_than_a_page_is_told_to_another_node():
    harness = Harness(nodes=2, ready=True)
    crowd = harness.hosts[1]
    said = published(crowd)
    for n in range(2 * peer_protocol.ENTRIES + 50):
        crowd.node.residents.join(f"P{n}", (8192 + n, 8192))
    harness.run(1000)
    watcher = harness.place("W", SQUARE)
    harness.run(500)
    assert len(seen(watcher)) == 2 * peer_protocol.ENTRIES + 50
    pages = {m[6]: len(m[8]) for _, m in said if m[0] == peer_protocol.FULL_STATE}
    assert pages == {0: peer_protocol.ENTRIES, 1: peer_protocol.ENTRIES, 2: 50}
    harness.check()


def test_a_repeated_batch_is_delivered_once_and_a_nodes_first_one_tells_of_all_its_players(watched):
    harness, watcher = watched
    batch(harness, [entry(1), entry(2)], 0, 5)
    for _ in range(3):
        batch(harness, [[4, 1, "once"]], 5, 6)
    batch(harness, [[4, 1, "an older one"]], 4, 5)
    assert watcher.model.chat == [("P1", "once")]
    batch(harness, [entry(2, 2), entry(3)], 0, 9)
    assert seen(watcher) == {2, 3}


def test_a_gap_is_asked_about_once_in_a_while_and_an_answer_ends_it(watched):
    harness, watcher = watched
    batch(harness, [entry(1)], 0, 1)
    said = published(harness.hosts[0])
    for number in range(3, 23, 2):
        # Every other batch is lost.
        batch(harness, [entry(1, number)], number - 1, number)
        harness.run(40)
    asked = times(said, peer_protocol.SYNC_REQUEST)
    assert 2 <= len(asked) <= 3
    assert min(pauses(asked)) >= FULL_STATE_EVERY_MS
    residents(harness, 30, [entry(1, 30)])
    harness.run(300)
    said.clear()
    harness.run(600)
    batch(harness, [entry(1, 31)], 30, 31)
    harness.run(600)
    assert times(said, peer_protocol.SYNC_REQUEST) == []


def test_what_a_node_said_before_it_was_heard_is_no_gap_and_a_loss_is_counted_once(watched):
    harness, watcher = watched
    for number in (9, 10, 12, 13):
        batch(harness, [entry(1, number)], 10 if number == 12 else number - 1, number)
        assert not harness.loop.stats["gaps"]
    for number in (15, 16, 17):
        batch(harness, [entry(1, number)], number - 1, number)
    assert harness.loop.stats["gaps"] == 1 and seen(watcher) == {1}


def test_a_sign_shows_that_the_last_message_was_lost(watched):
    harness, watcher = watched
    batch(harness, [entry(1)], 0, 5)
    said = published(harness.hosts[0])
    # A keepalive with the last number, and one with the number before it.
    for number in (5, 4):
        keepalive(harness, number)
        harness.run(300)
    assert times(said, peer_protocol.SYNC_REQUEST) == []
    keepalive(harness, 6)
    harness.run(300)
    assert len(times(said, peer_protocol.SYNC_REQUEST)) == 1
    assert harness.loop.stats["repairs"] == 1
    assert seen(watcher) == {1}
    # The full state that was asked for is lost, too: the next keepalive shows it.
    keepalive(harness, 7)
    harness.run(300)
    assert len(times(said, peer_protocol.SYNC_REQUEST)) == 2
    residents(harness, 8, [entry(1), entry(2)])
    assert seen(watcher) == {1, 2}


def test_the_players_of_a_node_that_has_nobody_in_a_square_are_removed(watched):
    harness, watcher = watched
    batch(harness, [entry(1)], 0, 5)
    # An older keepalive, which was overtaken, changes nothing.
    keepalive(harness, 4, inhabited=False)
    assert seen(watcher) == {1} and not harness.loop.stats["repairs"]
    keepalive(harness, 6, inhabited=False)
    assert seen(watcher) == set() and harness.loop.stats["repairs"] == 1
    assert not harness.node.subscriptions.by_square[SQUARE].cursors
    # As nobody said that the player left, it may enter with the seq that it had.
    batch(harness, [entry(1)], 0, 7)
    assert seen(watcher) == {1}
    batch(harness, [[3, 1, 9]], 7, 8)
    keepalive(harness, 8, inhabited=False)
    assert harness.loop.stats["repairs"] == 1, "what came needs no repair"


def live(harness, ms, every=1000):
    """Let some ms pass in which the other node sends only heartbeats."""
    for _ in range(ms // every):
        heartbeat(harness)
        harness.run(every)


def test_a_node_that_lives_and_is_silent_in_a_square_is_asked_and_loses_its_players(watched):
    harness, watcher = watched
    heartbeat(harness)
    batch(harness, [entry(2**31 + 70_000)], 0, 5)
    said = published(harness.hosts[0])
    live(harness, SILENT_AFTER - 500, 500)
    assert times(said, peer_protocol.SYNC_REQUEST) == []
    live(harness, 1000, 500)
    [asked] = times(said, peer_protocol.SYNC_REQUEST)
    assert seen(watcher) == {2**31 + 70_000}
    harness.run(asked + LOST_AFTER - harness.clock.time - 1)
    assert seen(watcher) == {2**31 + 70_000}
    live(harness, 2 * subscription.CHECK_AGAIN, subscription.CHECK_AGAIN)
    assert seen(watcher) == set() and harness.loop.stats["repairs"] == 1
    assert not harness.node.subscriptions.by_square[SQUARE].cursors
    said.clear()
    live(harness, 10_000)
    assert times(said, peer_protocol.SYNC_REQUEST) == []


def test_a_node_that_dies_loses_its_players_in_time_however_rare_its_heartbeats_are(watched):
    harness, watcher = watched
    heartbeat(harness, every=20_000)
    batch(harness, [entry(1), entry(2**31 + 70_000)], 0, 5)
    harness.run(SILENT_AFTER)
    assert seen(watcher) == {1, 2**31 + 70_000}
    harness.run(5000 - SILENT_AFTER)
    # The computer player stays until another node should have it.
    assert seen(watcher) == {1} and harness.node.peers.is_alive(NODE)
    harness.run(NODE_GONE_MS - 5000 - 100)
    assert seen(watcher) == {1}
    harness.run(500)
    assert seen(watcher) == set() and harness.node.peers.is_alive(NODE)
    harness.run(3 * 20_000)
    assert not harness.node.peers.peers and not harness.node.square_context.squares_by_node


@pytest.mark.parametrize("answer", ["a keepalive", "a full state", "a batch"])
def test_a_node_that_is_asked_and_says_something_keeps_its_players(watched, answer):
    harness, watcher = watched
    heartbeat(harness)
    batch(harness, [entry(1)], 0, 5)
    for number in range(6, 12):
        live(harness, SILENT_AFTER + 500, 500)
        if answer == "a keepalive":
            keepalive(harness, 5)
        elif answer == "a batch":
            batch(harness, [entry(1, number)], number - 1, number)
        else:
            residents(harness, number, [entry(1)])
        assert seen(watcher) == {1}
    assert not harness.loop.stats["repairs"]


def test_nobody_is_removed_because_this_node_stood_still_or_heard_nothing(watched):
    harness, watcher = watched
    [host] = harness.hosts
    heartbeat(harness)
    batch(harness, [entry(1)], 0, 5)
    said = published(harness.hosts[0])
    harness.run(1000)
    # What the other node says meanwhile is read when the loop goes on.
    harness.clock.time += 2 * SILENT_AFTER
    harness.settle()
    live(harness, 1000)
    keepalive(harness, 5)
    live(harness, 2000)
    assert seen(watcher) == {1} and times(said, peer_protocol.SYNC_REQUEST) == []
    host.broker.down = True
    harness.run(2 * SILENT_AFTER)
    host.broker.restore(host.node)
    live(harness, 2000)
    assert seen(watcher) == {1}
    keepalive(harness, 5)
    live(harness, 2000)
    assert seen(watcher) == {1} and not harness.loop.stats["repairs"]


# The node's own keepalives.


def keepalives(said):
    """Return the keepalives among published messages, as (moment, number, inhabited)."""
    return [
        (at, message[4], message[6])
        for at, message in said
        if message[0] == peer_protocol.KEEPALIVE
    ]


def test_a_node_repeats_its_last_number_in_a_quiet_square_ever_more_rarely():
    harness = Harness()
    harness.run(2000)
    said = published(harness.hosts[0])
    harness.place("W", SQUARE)
    began = harness.clock.time
    harness.run(60_000)
    # When its sync request is back, it publishes its full state too.
    last = [message[4] for _, message in said if message[0] == peer_protocol.FULL_STATE][-1]
    moments = [moment for moment, _, _ in keepalives(said)]
    assert {(number, inhabited) for _, number, inhabited in keepalives(said)} == {(last, True)}
    waited = pauses([began, *moments])
    for pause, most in zip_longest(waited, KEEPALIVE_WAITS, fillvalue=KEEPALIVE_WAITS[-1]):
        assert most * 3 // 4 < pause <= most
    assert len(set(waited)) > 5, "keepalives that began together drift apart"


@pytest.mark.parametrize("how", ["leaves", "is handed over"])
def test_a_node_whose_last_player_is_gone_says_so_several_times(watched, how):
    harness, watcher = watched
    harness.node.subscriptions.need([SQUARE])
    said = published(harness.hosts[0])
    if how == "leaves":
        watcher.connection.lose(1000)
        harness.settle()
    else:
        harness.node.takeovers.on_takeover(peer_protocol.Takeover(NODE, watcher.id))
    began = harness.clock.time
    harness.run(1000)
    # A node that asks meanwhile is answered at once.
    heard(harness, peer_protocol.pack(peer_protocol.SyncRequest(*SQUARE, NODE, 5)))
    [(moment, last, inhabited)] = keepalives(said)
    assert moment == harness.clock.time and not inhabited
    assert not times(said, peer_protocol.FULL_STATE)
    said.clear()
    harness.run(60_000)
    if how == "is handed over":
        # No other node has the player: that is published 3 s later, and the keepalives begin again.
        [(gone, last)] = [(at, m[5]) for at, m in said if m[0] == peer_protocol.BATCH]
        assert keepalives(said)[0][0] < gone
        said = [(at, message) for at, message in said if at > gone]
        began = gone
    told = keepalives(said)
    assert [(number, inhabited) for _, number, inhabited in told] == [(last, False)] * len(
        KEEPALIVE_WAITS
    )
    assert told[-1][0] - began <= sum(KEEPALIVE_WAITS)
    assert SQUARE not in harness.node.outbox.keepalives
    said.clear()
    heard(harness, peer_protocol.pack(peer_protocol.SyncRequest(*SQUARE, NODE, 6)))
    assert said == []


# Questions and answers.


def test_a_hail_that_nobody_hears_is_repeated_ever_more_slowly():
    harness = Harness()
    harness.run(1500)
    said = published(harness.hosts[0])
    harness.broker.losing = 1.0
    harness.node.subscriptions.need([(5, 5)])
    harness.run(12_000)
    waited = pauses(times(said, peer_protocol.SYNC_REQUEST))
    assert waited[:7] == [100, 200, 400, 800, 1600, 2000, 2000]
    assert set(waited[5:]) == {REQUEST_AGAIN_MOST_MS}
    harness.broker.losing = 0.0
    harness.run(3000)
    said.clear()
    harness.run(5000)
    assert times(said, peer_protocol.SYNC_REQUEST) == []
    # The next trouble is asked about as quickly as the first.
    harness.broker.losing = 1.0
    harness.node.receive(Reset({harness.node.channels.square((5, 5))}))
    harness.run(1000)
    assert pauses(times(said, peer_protocol.SYNC_REQUEST))[0] == REQUEST_AGAIN_MS


def test_however_many_ask_residents_are_told_once_in_two_tenths_of_a_second(watched):
    harness, watcher = watched
    said = published(harness.hosts[0])
    for nonce in range(100):
        heard(harness, peer_protocol.pack(peer_protocol.SyncRequest(*SQUARE, NODE, nonce)))
        harness.run(10)
    told = times(said, peer_protocol.FULL_STATE)
    assert told[0] == said[0][0], "the first who asks is answered at once"
    assert 4 <= len(told) <= 6
    assert min(pauses(told)) >= FULL_STATE_EVERY_MS
    # The last node that asked is answered too.
    last = harness.clock.time
    harness.run(FULL_STATE_EVERY_MS)
    assert times(said, peer_protocol.FULL_STATE)[-1] >= last - FULL_STATE_EVERY_MS
    said.clear()
    harness.run(2000)
    assert times(said, peer_protocol.FULL_STATE) == []


def test_a_node_whose_link_was_down_tells_its_residents_as_soon_as_it_is_up():
    harness = Harness(nodes=2, ready=True)
    a = harness.place("A", SQUARE, host=harness.hosts[0])
    b = harness.place("B", (1, 0), host=harness.hosts[1])
    harness.run(500)
    link = harness.hosts[1].broker
    link.down = True
    b.walk(0, 1)
    harness.run(900)
    b.walk(0, 0)
    c = harness.place("C", (1, 0), host=harness.hosts[1])
    harness.run(100)
    assert a.at(b) != b.at() and not a.sees(c)
    link.restore(harness.hosts[1].node)
    # Before any heartbeat could tell that something is missing.
    harness.run(30)
    assert a.at(b) == b.at() and a.sees(c)
    harness.check()


def shown(client, square):
    """Return whether a client was sent a snapshot of a square."""
    return any(m[0] == 19 and tuple(m[1:3]) == square for m in client.connection.messages)


@pytest.mark.parametrize("back", [True, False])
def test_a_square_is_shown_soon_after_the_nodes_own_request_is_back_or_after_a_while(watched, back):
    harness, _ = watched
    heartbeat(harness)
    square = (9, 9)
    if not back:
        harness.broker.losing = 1.0
    newcomer = harness.place("N", square, (8, 8))

    waits = SYNC_ANSWER_MS if back else READY_AFTER
    harness.run(waits // 2)
    residents(harness, 1, [entry(1)], square=square)
    harness.run(waits - waits // 2 - 1)
    assert newcomer.model.held is not None and not shown(newcomer, square)
    harness.run(1)
    # Everything is in one snapshot.
    assert shown(newcomer, square) and seen(newcomer) >= {1}
    assert [m[1:3] for m in newcomer.connection.messages if m[0] == 19].count([*square]) == 1
    # The players of a node that answers late are shown late.
    residents(harness, 2, [entry(1), entry(2)], square=square)
    assert seen(newcomer) >= {1, 2}


@pytest.mark.parametrize("delay", [0, 30, 100])
def test_a_newcomer_sees_a_square_complete_within_three_tenths_of_a_second(delay):
    harness = Harness(nodes=3)
    harness.run(3000)
    there = [harness.place("P", (50, 50), host=host) for host in harness.hosts[:2]]
    harness.run(10_000)
    harness.network.delay = delay
    newcomer = harness.place("N", (50, 50), host=harness.hosts[2])
    harness.run(300)
    assert all(newcomer.sees(other) for other in there)
    snapshots = [m for m in newcomer.connection.messages if m[0] == 19 and m[1:3] == [50, 50]]
    if delay < SYNC_ANSWER_MS // 2:
        assert len(snapshots) == 1, "it is not shown twice"


def test_a_handover_to_another_node_answers_no_question_of_this_one():
    harness = Harness(nodes=2, ready=True)
    b = harness.place("B", SQUARE, host=harness.hosts[1])
    token, place = b.model.token, b.at()
    harness.kill(harness.hosts[1])
    again = harness.client(harness.hosts[0]).hello("B", token=token)
    player = "Somebody else", 2**40, 99 * UNIT, 99 * UNIT, 100, 0, [], [], 0, []
    channel = harness.node.channels.node(harness.node.id)
    heard(harness, peer_protocol.pack(peer_protocol.Handover(NODE, b.id, 5, *player)), channel)
    assert again.model.welcome == []
    harness.run(1000)
    assert again.at() == place and again.model.players[b.id].name == "B"


# Life and death.


@pytest.fixture
def apart():
    """Two nodes that began 400 ms apart, so that their heartbeats are never in one moment."""
    harness = Harness()
    harness.run(400)
    harness.host()
    harness.run(1600)
    a = harness.place("A", SQUARE, host=harness.hosts[0])
    b = harness.place("B", (1, 0), host=harness.hosts[1])
    harness.run(500)
    assert a.sees(b) and b.sees(a)
    return harness, a, b


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("later", [0, 700, 2400])
def test_after_an_outage_a_node_whose_link_is_mended_soon_after_is_not_dead(apart, first, later):
    harness, a, b = apart
    for host in harness.hosts:
        host.broker.down = True
    harness.run(6000)
    hosts = [harness.hosts[first], harness.hosts[1 - first]]
    hosts[0].broker.restore(hosts[0].node)
    for _ in range(later // 100):
        harness.run(100)
        assert a.sees(b) and b.sees(a)
    hosts[1].broker.restore(hosts[1].node)
    for _ in range(40):
        harness.run(100)
        assert a.sees(b) and b.sees(a)
    assert all(host.loop.stats["nodes_lost"] == 0 for host in harness.hosts)
    harness.check()


@pytest.mark.parametrize("stall", [800, 1200, 2500, 8000])
@pytest.mark.parametrize("phase", range(0, 1000, 250))
def test_a_node_that_stood_still_buries_nobody(apart, stall, phase):
    harness, a, b = apart
    host = harness.hosts[0]
    harness.run(phase)
    host.freeze()
    harness.run(stall)
    host.thaw()
    for _ in range(40):
        harness.run(100)
        assert a.sees(b)
    assert host.loop.stats["nodes_lost"] == 0
    harness.check()


def test_a_node_that_hears_itself_before_it_has_read_the_others_buries_nobody(apart):
    harness, a, b = apart
    host = harness.hosts[0]
    known = harness.hosts[1].node.peers.peers[host.node.id]
    before = known.last_heard
    while known.last_heard == before:
        harness.run(1)
    harness.run(HEARTBEAT_EVERY - 2)
    harness.hosts.remove(host)
    harness.clients.remove(a)
    harness.clock.time += 3
    # The node publishes a heartbeat, and stands still before the heartbeat comes back.
    host.loop.turn()
    harness.run(NODE_DEAD_MS + 2000)
    heard_itself = False
    while not heard_itself:
        item = host.broker.receive(0)
        host.node.receive(item)
        heard_itself = msgpack.unpackb(item.payload)[1] == host.node.id
    # The other node's heartbeats are still to be read when the next one of its own is due.
    host.loop.turn()
    assert host.node.peers.broker_up and host.loop.stats["nodes_lost"] == 0
    harness.hosts.insert(0, host)
    harness.clients.append(a)
    harness.run(2000)
    assert a.sees(b) and host.loop.stats["nodes_lost"] == 0
    harness.check()


def test_a_node_that_falls_silent_is_dead_after_three_seconds_however_the_others_began(apart):
    harness, a, b = apart
    harness.kill(harness.hosts[1])
    harness.run(NODE_DEAD_MS - HEARTBEAT_EVERY)
    assert a.sees(b)
    harness.run(2 * HEARTBEAT_EVERY + 10)
    assert not a.sees(b)
    harness.check()


def test_the_more_nodes_there_are_the_rarer_are_their_heartbeats(watched):
    harness, _ = watched
    [host] = harness.hosts
    said = published(harness.hosts[0])
    for nodes, every in ((49, 1000), (50, 2000), (120, 3000)):
        while len(host.node.peers.peers) < nodes:
            # These nodes may be silent for a long time, and still count.
            number = 10**6 + len(host.node.peers.peers)
            heartbeat(harness, every=peer_protocol.HEARTBEAT_INTERVAL_MOST_MS, node=number)
        harness.run(every)
        said.clear()
        harness.run(4 * every)
        beats = times(said, peer_protocol.HEARTBEAT)
        assert all(every * 3 // 4 <= pause <= every for pause in pauses(beats))
        assert {m[6] for _, m in said if m[0] == peer_protocol.HEARTBEAT} == {every}
        # It is known each second that the link is up.
        assert len(beats) + len(times(said, peer_protocol.ECHO)) == 4 * every // HEARTBEAT_EVERY
        assert host.node.peers.broker_up and host.node.peers.why_not_ready() == []
    host.broker.down = True
    harness.run(3000)
    assert not host.node.peers.broker_up
    host.broker.restore(host.node)
    harness.run(1000)
    assert host.node.peers.broker_up


@pytest.mark.interpreted
def test_nobody_is_dead_while_the_nodes_own_rare_heartbeat_does_not_come_back(watched):
    harness, _ = watched
    [host] = harness.hosts
    host.node.peers.count = lambda: 5 * peers.HEARTBEATS_HEARD
    for _ in range(8):
        heartbeat(harness, every=5000)
        harness.run(5000)
    # The broker of the channel of all nodes fails; the one of this node's own channel does not.
    host.broker.lose_subscriptions({host.node.channels.nodes})
    harness.run(40_000)
    assert host.node.peers.broker_up and NODE in host.node.peers.peers
    host.broker.restore_subscriptions(host.node)
    harness.run(14_000)
    assert NODE in host.node.peers.peers, "it has as long again"
    harness.run(9000)
    assert NODE not in host.node.peers.peers


def test_a_node_that_says_it_stops_is_kept_for_ten_seconds_and_no_longer(watched):
    harness, watcher = watched
    heartbeat(harness)
    batch(harness, [entry(1)], 0, 5)
    heartbeat(harness, state=peer_protocol.DRAINING)
    harness.run(NODE_GONE_MS - 100)
    assert seen(watcher) == {1}
    harness.run(HEARTBEAT_EVERY + 200)
    assert seen(watcher) == set() and not harness.node.peers.peers


# The node's own batches.


def losing_one(broker):
    """Lose the next publication; return all that is published from now on."""
    said, publish = [], broker.publish

    def all_but_one(channel, payload):
        said.append((channel, payload))
        return len(said) == 1 or publish(channel, payload)

    broker.publish = all_but_one
    return said


def test_a_nodes_own_batch_that_a_later_one_overtakes_counts_before_it_and_once(watched):
    harness, watcher = watched
    neighbour = harness.place("N", SQUARE)
    harness.run(900)
    losing_one(harness.broker)
    neighbour.send(6, "lost on its way")
    assert watcher.model.chat == []
    neighbour.send(6, "and this is not")
    # Both count at once, and in order: on one channel no batch arrives after a later one.
    assert [text for _, text in watcher.model.chat] == ["lost on its way", "and this is not"]
    assert harness.loop.stats["overdue_batches"] == 0
    harness.run(2 * ECHO_WITHIN)
    assert len(watcher.model.chat) == 2
    harness.check()


def test_a_nodes_own_batch_that_is_lost_counts_after_a_while_and_then_never_again(watched):
    harness, watcher = watched
    neighbour = harness.place("N", SQUARE)
    harness.run(900)
    said = losing_one(harness.broker)
    neighbour.send(6, "lost on its way")
    harness.run(ECHO_WITHIN - 1)
    assert watcher.model.chat == []
    harness.run(1)
    assert watcher.model.chat == [("N", "lost on its way")]
    # If it arrives in the end, even twice, that is no news.
    for _ in range(2):
        harness.node.receive(Message(*said[0]))
    harness.run(ECHO_WITHIN)
    assert len(watcher.model.chat) == 1
    harness.check()


# Clocks, and players that are shown later.


@pytest.mark.parametrize("ahead", [-3_600_000, 0, 3_600_000])
@pytest.mark.parametrize("by", ["batch", "residents"])
def test_a_walk_told_by_another_clock_is_shown_by_the_nodes_own(watched, ahead, by):
    harness, watcher = watched
    there = harness.loop.now() + ahead
    heartbeat(harness, sent=there)
    # The walk began 300 ms ago, at 5120 units a second.
    event = [0, 1, 1, 0, "P1", False, 5, 1024, 1024, 10240, 0, 300, 0, 100, []]
    if by == "batch":
        batch(harness, [event], 0, 1, there)
    else:
        residents(harness, 1, [event], sent=there)
    harness.run(700)
    for client in (watcher, harness.place("N", SQUARE)):
        assert client.model.players[1].at(client.now()) == (1024 + 5120, 1024)


def clocks(harness, watcher, differences):
    """Let a node's heartbeats, one a second, be heard `differences` ms after they were sent; return
    what was added to the times of what the node published a second after each."""
    added = []
    for number, difference in enumerate(differences, 1):
        heartbeat(harness, sent=harness.loop.now() - difference)
        harness.run(HEARTBEAT_EVERY)
        batch(harness, [entry(1, number)], number - 1, number, 10**12)
        added.append(watcher.model.players[1].track[4] - 10**12)
    return added


def test_the_quickest_heartbeat_of_a_minute_tells_how_a_clock_differs(watched):
    harness, watcher = watched
    seconds = peers.CLOCK_WINDOW_MS // HEARTBEAT_EVERY
    # A network that is slow for a moment changes no clock.
    slow = [40 + 2 * peers.CLOCK_SET_BACK_MS] * (peers.RECENT_BEATS - 1)
    added = clocks(harness, watcher, [100, 40, *slow] + [90] * (seconds - 2))
    assert added == [100] + [40] * (seconds + 1) + [90] * 2


def test_two_players_that_have_changed_squares_are_both_shown_where_they_are_told_of_now(watched):
    harness, watcher = watched
    beside = SQUARE[0] + 1, SQUARE[1]
    new, old = 2**26, 5
    residents(harness, 1, [entry(1, seq=new), entry(2, seq=old)])
    residents(harness, 1, [entry(1, seq=old), entry(2, seq=new)], square=beside, node=NODE + 1)
    harness.run(50)
    assert [watcher.model.players[id].square for id in (1, 2)] == [SQUARE, beside]
    residents(harness, 2, [entry(2, seq=old)])
    residents(harness, 2, [entry(1, seq=old)], square=beside, node=NODE + 1)
    harness.run(50)
    assert [watcher.model.players[id].square for id in (1, 2)] == [beside, SQUARE]
