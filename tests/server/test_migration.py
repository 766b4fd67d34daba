"""Players passed from one worker of a machine to another: nobody is lost or doubled, and
neighbours notice nothing."""

import msgpack
import pytest

from flatlands.server.clients.admission import Hello, Spawn
from flatlands.server.clients.session import STORE_ANSWER_MS, Session
from flatlands.server.clients.session_transfer import PendingHello, SessionState, pack, unpack
from flatlands.server.cluster import placement
from flatlands.server.cluster.districts import COLUMNS, ROWS
from flatlands.server.players.invitations import Inviter
from flatlands.server.players.moderation import BY_OWNER, KICK, OWNER_PREFIX_CHARS
from flatlands.server.players.resident import Resident, State
from flatlands.server.players.takeovers import ANNOUNCE_EVERY_MS, RELEASED_FOR_MS
from flatlands.server.squares.outbox import REST_MOST
from flatlands.server.workers.migration import (
    HEARD_WITHIN_MS,
    NOT_TAKEN,
    PASSED_WITHIN_MS,
    TOO_OLD_MS,
)
from flatlands.world.grid import Viewport
from flatlands.world.track import Goal, Heading, Track
from tests.server.harness import batches, events
from tests.server.machine import Machine

#: The western half belongs to the first worker, and the eastern half to the second one.
HALVES = (COLUMNS, 0, 0, 1)

#: A place in the eastern half.
EAST = (2 * 16 * 1024 + 500, 500)


@pytest.fixture
def machine():
    machine = Machine(nodes=2)
    machine.run(2000)
    machine.tell(HALVES)
    return machine


def kinds(client):
    return [message[0] for message in client.connection.messages]


def begin_in_the_east(machine):
    """Let newcomers begin in the eastern half, whichever worker accepts them."""
    for host in machine.hosts:
        host.node.residents.choose_spot = lambda near=None: EAST


def place(machine, name, square, host):
    """Return a client whose connection came to a host, and whose player begins in a square."""
    client = machine.place(name, square, host=host)
    machine.arrive()
    machine.run(500)
    return client


def settled(machine, *squares):
    """Return clients whose players have been in squares long enough to be passed on: those in the
    western half at the first worker, and the others at the second one."""
    clients = [
        place(machine, name, square, machine.hosts[square[0] >= 0])
        for name, square in zip("ABCDE", squares, strict=False)
    ]
    machine.run(4000)
    return clients


def pair(machine, square=(-1, 0)):
    """Return two clients whose players are at the first worker; the second player stays there for
    some seconds, since it has asked for something that the store answers."""
    client, other = settled(machine, square, square)
    other.send(35, "scores", [])
    return client, other


def whose(machine, client):
    """Return the only worker that has the player of a client."""
    [host] = [h for h in machine.hosts if client.id in h.node.residents.by_id]
    return host


# At hello.


def test_a_newcomer_is_welcomed_by_the_worker_whose_district_it_begins_in(machine):
    west, east = machine.hosts
    near = place(machine, "Near", (2, 0), west)
    far = place(machine, "Far", (2, 0), east)
    assert whose(machine, near) is whose(machine, far) is east
    # One welcome, followed by everything as usual.
    assert kinds(near)[:3] == [16, 17, 18] and kinds(near).count(16) == 1
    assert 22 not in kinds(near) and near.connection.closed is None
    assert west.loop.stats["passed_on"] == east.loop.stats["taken_in"] == 1
    assert near.sees(far) and far.sees(near)
    assert not west.node.residents.by_id and not west.sessions
    assert west.loop.stats["joins"] == 0 and east.loop.stats["joins"] == 2
    machine.check()


def test_what_is_said_between_hello_and_welcome_is_obeyed_by_the_other_worker(machine):
    west, east = machine.hosts
    begin_in_the_east(machine)
    client = machine.client(west)
    for message in (
        [10, "ada" * 6],
        [1, 3, "Quick", 40, 25, None, None, None, None],
        [2, 1, client.now(), 1, 0],
        [6, "here I am"],
        [7, 5, 0],
    ):
        client.connection.on_message(2, msgpack.packb(message))
    machine.settle()
    machine.arrive()
    machine.run(500)
    assert whose(machine, client) is east
    assert client.model.chat == [("Quick", "here I am")] and 23 in kinds(client)
    assert client.model.players[client.id].ack == 1
    assert client.model.errors == []
    assert east.node.residents.by_id[client.id].owner != ""


@pytest.mark.parametrize(
    "why", ["half a message has come", "it looks at the map", "nobody is there", "it takes nobody"]
)
def test_a_newcomer_that_cannot_be_passed_on_plays_where_it_is(machine, why):
    west, east = machine.hosts
    if why == "nobody is there":
        machine.passages.popitem()
    elif why == "it takes nobody":
        machine.workers[east].close()
        machine.tell(HALVES)
    client = machine.client(west)
    client.connection.half = why == "half a message has come"
    if why == "it looks at the map":
        client.send(15, 16, -1, -1, 1, 1)
    begin_in_the_east(machine)
    client.hello("Here")
    machine.arrive()
    assert whose(machine, client) is west and client.connection.closed is None


def test_a_client_that_comes_back_is_passed_to_where_its_player_was(machine):
    west, east = machine.hosts
    client = place(machine, "Wren", (2, 0), west)
    machine.run(5000)
    id, seq = client.id, client.model.players[client.id].seq
    client.connection.lose()
    machine.run(500)
    again = machine.back(client, west)
    machine.arrive()
    machine.run(1000)
    assert whose(machine, again) is east and again.id == id
    assert again.model.players[id].seq > seq and not again.model.players[id].dimmed
    machine.check()


def test_a_newcomer_that_finds_the_worker_of_its_district_full_plays_at_another_one(machine):
    west, east = machine.hosts
    east.admission.capacity = 1
    first = place(machine, "First", (2, 0), west)
    late = place(machine, "Late", (2, 0), west)
    machine.arrive()
    machine.run(500)
    assert whose(machine, first) is east and whose(machine, late) is west
    assert late.model.errors == [] and late.connection.closed is None
    assert first.sees(late) and late.sees(first)
    assert east.loop.stats["passed_over"] == 1 and west.loop.stats["taken_in"] == 1
    # The same holds for a newcomer that this worker itself has accepted.
    other = place(machine, "Other", (2, 0), east)
    assert whose(machine, other) is west and other.model.errors == []
    machine.check()


def test_a_newcomer_that_finds_all_workers_full_is_refused(machine):
    west, east = machine.hosts
    client = machine.client(west)
    begin_in_the_east(machine)
    client.send(1, 3, "Late", 40, 25, None, None, None, None)
    east.admission.capacity = west.admission.capacity = 0
    for _ in range(3):
        machine.settle()
        machine.arrive()
        machine.run(500)
    assert client.model.errors == ["full"] and client.connection.closed[0] == 1013
    assert not machine.under_way


def test_a_newcomer_stays_where_it_came_in_while_the_worker_of_its_district_is_full(machine):
    west, east = machine.hosts
    machine.tell(HALVES, full=[1])
    late = place(machine, "Late", (2, 0), west)
    machine.tell(HALVES)
    later = place(machine, "Later", (2, 0), west)
    assert whose(machine, late) is west and whose(machine, later) is east


def test_a_full_worker_refuses_handshakes_while_the_others_are_full_too(machine):
    west, east = machine.hosts
    machine.tell(0)
    assert not west.admission.full_for_newcomers
    west.admission.capacity = 0
    assert not west.admission.full_for_newcomers
    machine.tell(0, full=[1])
    assert west.admission.full_for_newcomers and not east.admission.full_for_newcomers
    machine.tell(0)
    assert not west.admission.full_for_newcomers


# While it plays.


#: The fields of a session that go on to another worker, as `SessionState` has them, and those that
#: do not: they belong to the connection or the worker, or prevent passing on while they are set.
TRAVELS = {"resident", "last_intent_number", "sent", "earlier", "rates", "_link_sent"}
STAYS = {
    *"connection node tokens limits player ticket key opened_at heard_at_ping_s error".split(),
    *"watches_map lags_since _kinds admission request _arriving _known_as".split(),
    *"_has_seat _token_of _last_request_at".split(),
    *"_pending _mark _marked _marked_bytes _later_bytes".split(),
}


@pytest.mark.interpreted
def test_nothing_of_a_player_is_forgotten_when_it_is_passed_on():
    """Whoever adds a field must say here whether it travels."""
    stays = {
        *"node dimmed slot session view held due awaits_unread_input".split(),
        *"liveness_checked heard_at_ping".split(),
    }
    track, intent, way = Track(1, 2, 3, 4, 5, 6), Goal(3, 4), ((1, 2, 3),)
    state = State(
        *(7, 8, "W", track, (-1, 2), 5, 9, 77, 150, 99, ("red", 2)),
        *(intent, True, "who", (5, 6), way),
    )
    assert len({repr(value) for value in state}) == len(state)
    assert all(getattr(state, name) != it for name, it in State._field_defaults.items())
    resident = Resident(1, state)
    assert resident.state() == state
    some = {name for name in dir(resident) if not callable(getattr(resident, name))}
    assert {name for name in some if name[0] != "_"} == {*State._fields} | stays
    fields = {field for each in Session.__mro__ for field in getattr(each, "__slots__", ())}
    assert fields == TRAVELS | STAYS
    for intent in (state.intent, Heading(0, -1), None):
        goes = SessionState(
            state._replace(intent=intent), Viewport(30, 20), 4, 6, False, [[], 3], True
        )
        assert repr(unpack(pack(goes))) == repr(goes._replace(rates=((), 3)))
    greeting = PendingHello(
        Hello("W", Viewport(30, 20), "token", "near", (1, 2), "ticket", "owner"),
        Spawn(5, (3, 4), Inviter("host", (5, 6), None), 1),
        [(6, ["hello"])],
    )
    assert repr(unpack(pack(greeting))) == repr(greeting._replace(early=((6, ("hello",)),)))


def test_a_player_is_passed_on_in_the_middle_of_a_walk_and_neighbours_see_nothing(machine):
    west, east = machine.hosts
    walker, there = settled(machine, (-1, 0), (0, 0))
    walker.send(6, "before")
    machine.run(4000)
    walker.walk(1, 0)
    machine.run(300)
    id, before = walker.id, there.model.players[walker.id]
    there.connection.messages.clear()
    walker.connection.messages.clear()
    west.node.residents.by_id[id].look = 77
    # The walker is not in the other half yet, so a new plan gives its place to the other worker.
    machine.tell((COLUMNS, -1, 0, 1))
    assert len(machine.under_way) == 1
    machine.arrive()
    machine.run(100)
    assert whose(machine, walker) is east and walker.connection.closed is None
    # First a token, in case the other worker dies at once, and then everything together.
    assert kinds(walker)[:3] == [17, 22, 18] and walker.model.resyncs == 1
    after = there.model.players[id]
    assert after.track == before.track and after.square == before.square
    # Neighbours are told one enter of the same player, unchanged and at the same place.
    told = [event for event in events(there.connection.messages) if event[1] == id]
    assert [event[0] for event in told] == [0]
    assert east.node.residents.by_id[id].look == 77
    machine.check()
    # It walks on by itself, across borders, and the numbers of its intents continue.
    x = walker.at()[0]
    machine.run(3000)
    assert walker.at()[0] - x == pytest.approx(5120 * 3, abs=200)
    walker.walk(0, 0)
    walker.send(6, "after")
    machine.run(500)
    assert walker.model.players[id].ack == 2 and walker.model.errors == []
    assert there.model.chat[-1] == ("A", "after")
    machine.run(RELEASED_FOR_MS + 1000)
    assert whose(machine, walker) is east and west.loop.stats["vanished"] == 0
    assert west.loop.stats["leaves"] == east.loop.stats["leaves"] == 0
    machine.check()


def test_a_player_is_passed_on_well_within_another_district_and_not_on_its_line(machine):
    west, east = machine.hosts
    [walker] = settled(machine, (-1, 0))
    walker.walk(1, 0)
    for square in (-1, 0, 1):
        while walker.model.players[walker.id].square[0] < square:
            machine.run(100)
        # Workers are told the plan once a second: only a new plan moves players on a line.
        machine.tell(HALVES)
        machine.look_after()
        machine.arrive()
        assert whose(machine, walker) is (east if square == 1 else west)
    machine.run(500)
    assert walker.model.resyncs == 1
    machine.check()


def test_a_player_that_came_back_meanwhile_and_left_again_is_seen_when_it_is_passed_on():
    machine = Machine(nodes=2)
    west, east = machine.hosts
    client, sees = place(machine, "C", (0, 0), west), place(machine, "S", (0, 0), east)
    machine.run(4000)
    # The workers do not hear each other, so that both have the player.
    for host in machine.hosts:
        host.broker.fail()
    again = machine.client(east)
    again.say_hello("Again", (40, 25), client.model.token)
    machine.run(500)
    assert client.id in east.node.residents.by_id and client.id in west.node.residents.by_id
    again.connection.lose()
    machine.run(1500)
    assert client.id not in east.node.residents.by_id
    machine.tell(HALVES)
    machine.arrive()
    assert whose(machine, client) is east
    for host in machine.hosts:
        host.broker.restore(host.node)
    machine.clients.remove(again)
    machine.run(5000)
    assert sees.sees(client)
    machine.check()


@pytest.mark.parametrize("by_key", [False, True])
def test_a_player_passed_to_a_worker_that_has_an_order_against_it_is_sent_away(machine, by_key):
    [walker] = settled(machine, (-1, 0))
    walker.send(10, "a-key-of-tests-and-nobody")
    machine.run(4000)
    mark = machine.hosts[0].node.residents.by_id[walker.id].owner[:OWNER_PREFIX_CHARS]
    order = (BY_OWNER[KICK], mark) if by_key else (KICK, str(walker.id))
    # The worker that it comes from has not read the order yet.
    machine.hosts[1].node.moderation.apply(*order, 600)
    walker.walk(1, 0)
    while walker.at()[0] < 400:
        machine.run(20)
    machine.tell((COLUMNS, -1, 0, 1))
    machine.run(200)
    assert len(machine.under_way) == 1
    machine.arrive()
    machine.run(1000)
    assert walker.connection.closed[0] == 1008 and walker.model.errors == ["kicked"]
    assert not any(walker.id in host.node.residents.by_id for host in machine.hosts)


def seqs(client, square, id):
    """Return the seqs of a player's events in a square, as a client was told them, except tracks
    and the one with which it is gone from the worker that has passed it on."""
    return [
        event[2]
        for column, row, *_, others, _replaced, _wide in batches(client.connection.messages)
        if (column, row) == square
        for event in others
        if event[1] == id and event[0] != 3
    ]


def test_a_player_that_crosses_a_border_under_way_is_told_of_in_order(machine):
    east = machine.hosts[1]
    walker, there = settled(machine, (-1, 0), (0, 0))
    walker.walk(1, 0)
    while walker.at()[0] < -400:
        machine.run(20)
    there.connection.messages.clear()
    machine.tell((COLUMNS, -1, 0, 1))
    machine.run(200)
    assert len(machine.under_way) == 1 and walker.at()[0] > 0
    # A busy worker publishes nothing before its next flush: both squares are in it.
    east.node.hub.not_before = east.loop.now() + 100
    machine.arrive()
    machine.run(5000)
    assert whose(machine, walker) is east and there.sees(walker)
    told = seqs(there, (-1, 0), walker.id)
    assert told and told == sorted(told)
    machine.check()


def test_a_player_that_turns_back_over_the_border_is_told_of_in_order_by_both_workers(machine):
    west, east = machine.hosts
    walker, there = settled(machine, (-1, 0), (-2, 0))
    walker.walk(1, 0)
    while walker.at()[0] < -100:
        machine.run(10)
    # So much is said in its square that nothing else is published there for a while.
    for _ in range(REST_MOST):
        west.node.outbox.say(west.node.residents.by_id[there.id], (-1, 0), "!")
    machine.run(20)
    there.connection.messages.clear()
    machine.tell((COLUMNS, -1, 0, 1))
    machine.arrive()
    assert whose(machine, walker) is east
    walker.walk(-1, 0)
    machine.run(1000)
    told = seqs(there, (-1, 0), walker.id)
    assert len(told) > 1 and told == sorted(told)
    machine.check()


def test_acknowledgements_that_were_under_way_do_no_harm(machine):
    west, east = machine.hosts
    client, other = place(machine, "C", (-1, 0), west), place(machine, "O", (-2, 0), west)
    for step in range(30):
        other.walk(1 - step % 2 * 2, 0)
        machine.run(200)
    machine.run(4000)
    flush = client.model.flush
    assert flush > east.node.hub.number
    machine.tell(1)
    machine.arrive()
    client.send(14, flush)
    client.send(7, 1, flush)
    machine.run(100)
    assert client.connection.closed is None and client.model.errors == []
    other.walk(0, 1)
    machine.run(5000)
    assert client.session.lags_since is None and client.model.resyncs == 1
    # Nor do they if the player is passed on once more.
    machine.tell(0)
    machine.arrive()
    client.send(14, flush)
    machine.run(500)
    assert whose(machine, client) is west and client.model.errors == []
    # But an acknowledgement of a flush that was never sent is refused as usual.
    client.send(14, 10**6)
    assert client.model.errors == ["flush"]


def test_no_player_is_passed_on_while_something_of_it_is_under_way(machine):
    west, _ = machine.hosts
    some = lags, asks, half, looks, free = settled(machine, *[(-1, 0)] * 5)
    looks.send(15, 16, -1, -1, 1, 1)
    assert west.node.views.shows(looks.session)
    lags.session.lags_since = lags.now()
    asks.send(35, "scores", [])
    half.connection.half = True
    machine.tell(1)
    machine.run(300)
    assert [sock.client for _, _, sock in machine.under_way] == [free]
    machine.arrive()
    lags.session.lags_since = None
    half.connection.half = False
    looks.send(15, None, 0, 0, 0, 0)
    for _ in range(2):
        machine.run(4000)
        machine.arrive()
    machine.run(500)
    assert {whose(machine, client) for client in some} == {machine.hosts[1]}
    machine.check()


def test_a_new_plan_is_followed_in_turns_within_three_seconds(machine, monkeypatch):
    monkeypatch.setattr(placement, "PLACE_TURNS", 3)
    clients = settled(machine, *[(-1, 0)] * 5)
    passed = []
    machine.tell(1)
    for _ in range(3):
        passed.append([clients.index(sock.client) for _, _, sock in machine.under_way])
        machine.arrive()
        machine.run(PASSED_WITHIN_MS // 3)
    assert passed == [[0, 1], [2, 3], [4]]
    assert {whose(machine, client) for client in clients} == {machine.hosts[1]}


def test_a_plan_that_changes_each_second_is_followed_as_soon(machine, monkeypatch):
    monkeypatch.setattr(placement, "PLACE_TURNS", 3)
    *_, last = settled(machine, (-3, 0), (-3, 0), (-1, 0))
    for row in range(3):
        machine.tell((COLUMNS, -2, 0, (ROWS, 50 + row, 1, 0)))
        machine.run(PASSED_WITHIN_MS // 3)
    machine.arrive()
    assert whose(machine, last) is machine.hosts[1]


def test_a_player_that_cannot_be_passed_on_yet_moves_nobody_on_the_line(machine):
    west, east = machine.hosts
    late, walker = settled(machine, (-3, 0), (-1, 0))
    late.connection.half = True
    machine.tell((COLUMNS, -2, 1, (COLUMNS, 0, 0, 1)))
    walker.walk(1, 0)
    while walker.model.players[walker.id].square[0] < 0:
        machine.run(100)
    walker.walk(0, 0)
    machine.run(2 * PASSED_WITHIN_MS)
    assert not machine.under_way and whose(machine, walker) is west
    late.connection.half = False
    machine.run(PASSED_WITHIN_MS + HEARD_WITHIN_MS)
    machine.arrive()
    assert whose(machine, late) is east and whose(machine, walker) is west
    machine.run(500)
    machine.check()


def test_a_player_takes_its_rates_along(machine):
    client, _other = pair(machine)
    for _ in range(5):
        client.send(6, "again")
    machine.run(STORE_ANSWER_MS + 1)
    machine.tell(1)
    machine.arrive()
    assert whose(machine, client) is machine.hosts[1] and client.model.errors == []
    for _ in range(5):
        client.send(6, "once more")
    assert "flood" in client.model.errors


def test_a_player_takes_its_key_along(machine):
    client, _other = pair(machine)
    client.send(10, "ada" * 6)
    mine = whose(machine, client).node.residents.by_id[client.id].owner
    machine.run(STORE_ANSWER_MS + 1)
    machine.tell(1)
    machine.arrive()
    host = whose(machine, client)
    assert host is machine.hosts[1] and host.node.residents.by_id[client.id].owner == mine != ""
    client.send(10, "bob" * 6)
    assert client.model.errors == ["key"] and client.connection.closed[0] == 1008


def test_a_player_is_shown_its_squares_once_they_are_known_and_not_before(machine):
    west, east = machine.hosts
    client, other = pair(machine, square=(-5, 0))
    machine.network.delay = 60
    machine.tell(1)
    machine.arrive()
    assert whose(machine, client) is east and whose(machine, other) is west
    while not client.model.resyncs:
        machine.run(10)
    # All squares come together, with everybody in them.
    assert {client.id, other.id} <= client.model.players.keys()
    machine.network.heal()
    machine.run(1000)
    machine.check()


# Failures.


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_player_that_is_lost_on_the_way_is_back_or_gone_and_never_doubled(machine, comes_back):
    client, other = pair(machine)
    machine.tell(1)
    machine.arrive(lose=1)
    assert other.sees(client)
    machine.clients.remove(client)
    if comes_back:
        again = machine.back(client, machine.hosts[0])
        machine.arrive()
        machine.run(500)
        assert again.id == client.id and other.sees(again)
    machine.run(RELEASED_FOR_MS + 500)
    assert other.sees(client) == comes_back
    # Meanwhile the other player is no longer kept at the first worker.
    machine.arrive()
    machine.run(500)
    machine.check()


def test_a_player_that_was_sent_is_gone_even_if_its_connection_cannot_be_released(machine):
    west, east = machine.hosts
    client, _other = pair(machine)
    connection, session = client.connection, client.session

    def fail():
        connection.on_message = connection.on_close = lambda *_: None
        raise OSError("as a test")

    connection.release, west.loop.forgiving = fail, True
    machine.tell(1)
    machine.arrive()
    machine.run(1000)
    assert whose(machine, client) is east and session.resident is None
    assert session not in west.sessions
    assert west.loop.stats["errors"] == 1 and west.loop.stats["passed_on"] == 1
    machine.check()


def test_the_sender_may_die_as_soon_as_it_has_sent(machine):
    west, east = machine.hosts
    client, _other = pair(machine)
    machine.tell(1)
    machine.kill(west)
    machine.clients.append(client)
    machine.arrive()
    machine.run(6000)
    assert client.connection.closed is None and whose(machine, client) is east
    machine.check()


def test_a_client_whose_new_worker_dies_at_once_comes_back_with_a_newer_incarnation(machine):
    west, east = machine.hosts
    client, _other = pair(machine)
    machine.tell(1)
    machine.arrive()
    # Nobody hears of the player there, not even its client.
    seq = east.node.residents.by_id[client.id].seq
    machine.kill(east)
    again = machine.back(client, west)
    machine.run(1000)
    assert again.id == client.id and west.node.residents.by_id[client.id].seq > seq
    machine.run(6000)
    machine.check()


@pytest.mark.parametrize("late", [-500, 1])
def test_a_worker_that_stood_still_takes_in_players_sent_to_it_unless_too_long_ago(machine, late):
    client, _other = pair(machine)
    machine.tell(1)
    machine.run(TOO_OLD_MS + late)
    machine.clients.remove(client)
    machine.arrive()
    taken = late < 0
    assert client.connection.closed == (None if taken else (1012, NOT_TAKEN))
    east = machine.hosts[1]
    assert (client.id in east.node.residents.by_id) == taken
    assert east.loop.stats["not_taken"] == (not taken)
    machine.run(6000)
    machine.check()


def test_a_client_that_came_back_meanwhile_on_another_connection_keeps_its_player(machine):
    east = machine.hosts[1]
    [client] = settled(machine, (-1, 0))
    id, here = client.id, client.at()
    client.walk(1, 0)
    machine.run(400)
    machine.tell(1)
    # Its token leads to the same worker, which asks for the player that is still under way.
    again = machine.client(east)
    again.say_hello("C", (40, 25), client.model.token, None)
    machine.settle()
    machine.arrive()
    machine.run(1000)
    assert client.connection.closed is not None and again.id == id
    assert again.at()[0] > here[0], "it comes back where its player was"
    assert whose(machine, again) is east
    machine.clients.remove(client)
    machine.check()


def test_a_player_that_came_back_is_named_by_the_worker_to_which_it_was_passed_on():
    """Its first worker, which is cut off, still has it far away, where neither hears the other."""
    machine = Machine(nodes=3)
    machine.run(2000)
    first, second, third = machine.hosts
    machine.tell(0)
    client = place(machine, "Wren", (0, 0), first)
    token = client.model.token
    first.broker.fail()
    client.connection.stuck = True
    client.walk(-1, 0)
    machine.run(15_000)
    machine.tell(1)
    again = machine.client(second).hello("Wren", token=token)
    machine.run(5000)
    machine.tell(2)
    machine.arrive()
    machine.run(5000)
    both = [host for host in machine.hosts if client.id in host.node.residents.by_id]
    assert both == [first, third]
    first.broker.restore(first.node)
    machine.run(ANNOUNCE_EVERY_MS + 1000)
    assert whose(machine, again) is third and again.connection.closed is None
