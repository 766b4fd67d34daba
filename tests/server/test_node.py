"""A node with its sessions: who is told what, in real bytes, in a time that the test moves."""

import msgpack
import pytest

from flatlands.server.messages import protocol
from flatlands.server.players.movement import AWAITED_FOR_MS, INTENT_AGE_MS, RENEW_BEFORE_MS
from flatlands.server.players.residents import DIMMED_FOR_MS, LEFT_FOR_MS
from flatlands.server.runtime.loop import BEAT_MS, FORGIVE_FOR_MS
from flatlands.server.squares.outbox import KEEPALIVE_WAITS
from flatlands.server.squares.subscriptions import LINGER
from flatlands.world.grid import Rect
from flatlands.world.track import REACH, SPEED, UNIT, duration
from tests import picture
from tests.server.harness import Harness, batches, two_nodes


@pytest.fixture
def harness():
    """A harness of one node; after each story all clients must believe the truth."""
    harness = Harness()
    yield harness
    harness.run(1000)
    if any(client.session.resident for client in harness.clients):
        harness.check()


def walked(ms):
    """Return how many units a player that walks straight east advances in `ms`: it loses a part of
    a unit with each leg, since the duration of a leg is rounded up."""
    lasts = duration(REACH, 0)
    legs, rest = divmod(ms, lasts - RENEW_BEFORE_MS)
    forward = legs * (REACH * (lasts - RENEW_BEFORE_MS) // lasts) + REACH * rest // lasts
    assert 0 <= SPEED * ms // 1000 - forward <= legs + 1
    return forward


def resident(client):
    """Return a client's player at its node."""
    return client.host.node.residents.by_id[client.id]


def test_in_the_picture_nobody_hears_anybody_until_green_walks_onto_the_screen_of_blue(harness):
    # In the article players that hold the same squares hear each other (red and green, blue and
    # green): they publish in all. Here a player is heard where it stands: docs/two-queues.md.
    drawn = picture.screens()
    players = {name: harness.stand(name, screen.at, screen.size) for name, screen in drawn.items()}
    green = players["green"]

    def held():
        return {name: Rect(*client.model.held) for name, client in players.items()}

    def sharing():
        squares = {name: set(rect.squares()) for name, rect in held().items()}
        return {
            name: {other for other in squares if other != name and squares[other] & squares[name]}
            for name in squares
        }

    def heard():
        found = {}
        for name, speaker in players.items():
            speaker.send(6, "hello")
            harness.run(1200)
            hearers = {other for other, client in players.items() if client.model.chat}
            found[name] = hearers - {name}
            for client in players.values():
                client.model.chat.clear()
        return found

    def seen():
        return {
            name: {other for other in players if other != name and client.sees(players[other])}
            for name, client in players.items()
        }

    assert held() == {name: screen.squares for name, screen in drawn.items()}
    assert sharing() == {"red": {"green"}, "blue": {"green"}, "green": {"red", "blue"}}
    assert heard() == seen() == {"red": set(), "blue": set(), "green": set()}
    green.go(*picture.later())
    harness.run(6000)
    assert green.at() == picture.later()
    assert sharing() == {"red": {"green"}, "blue": {"green"}, "green": {"red", "blue"}}
    assert heard() == {"red": {"green"}, "blue": {"green"}, "green": {"blue"}}
    assert seen() == {"red": set(), "blue": {"green"}, "green": {"red", "blue"}}
    assert all(client.model.foreign == 0 for client in players.values())


def test_a_minute_of_straight_walking_is_50_events_where_600_positions_are_right(harness):
    walker = harness.place("Wren", (0, 0))
    harness.run(1000)
    stats = harness.loop.stats
    before = stats.copy()
    walker.walk(1, 0)
    for _ in range(600):
        harness.run(100)
        harness.check()
    # A leave and an enter for each border, and a track for each leg.
    assert walker.at()[0] - UNIT * 8 == walked(60_000)
    assert stats["crossings"] - before["crossings"] == 19
    assert stats["events"] - before["events"] == 2 * 19 + 12


def test_a_diagonal_through_a_corner_crosses_the_column_first(harness):
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    a.connection.messages.clear()
    b.walk(1, 1)
    harness.run(4000)
    left = sorted(
        (e[2], tuple(batch[:2]), tuple(e[3:]))
        for batch in batches(a.connection.messages)
        for e in batch[5]
        if e[0] == 2
    )
    assert [leave[1:] for leave in left[:2]] == [((0, 0), (1, 0)), ((1, 0), (1, 1))]


def test_an_intent_begins_when_it_was_meant_but_not_long_ago_nor_in_the_future(harness):
    client = harness.place("A", (0, 0))
    x = client.at()[0]
    harness.run(1000)
    client.walk(1, 0, age=INTENT_AGE_MS // 2)
    assert client.at()[0] == x + walked(INTENT_AGE_MS // 2)
    client.walk(0, 0, age=10_000)
    assert client.at()[0] == x
    client.walk(1, 0, age=-5000)
    harness.run(100)
    assert client.at()[0] == x + walked(100)


@pytest.mark.parametrize("intent", ["walk", "go"])
def test_a_player_that_stood_for_long_gains_no_more_than_the_age_of_an_intent(harness, intent):
    client = harness.place("A", (0, 0))
    x, y = client.at()
    harness.run(5000)
    t = client.now() - 5000
    # Its track began long ago: only the limit of an intent's age prevents a jump.
    client.send(*([2, 1, t, 1, 0] if intent == "walk" else [3, 1, t, x + 50 * UNIT, y]))
    assert client.at() == (x + walked(INTENT_AGE_MS), y)
    harness.run(1000)
    assert client.at() == (x + walked(INTENT_AGE_MS + 1000), y)


def test_a_late_intent_takes_back_a_crossing(harness):
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    b.go(16 * UNIT - 100, 8 * UNIT)
    harness.run(5000)
    b.walk(1, 0)
    harness.run(60)
    assert b.at()[0] >= 16 * UNIT
    b.walk(0, 0, age=60)
    harness.run(10)
    assert b.at()[0] < 16 * UNIT
    assert resident(b).square == (0, 0)
    harness.check()
    assert a.sees(b)


def test_a_world_in_which_nobody_moves_tells_only_that_it_lives():
    harness = Harness()
    clients = [harness.place(f"P{n}", (n, 0)) for n in range(10)]
    harness.run(LINGER + 1100)
    before, keepalives = dict(harness.loop.stats), harness.loop.stats["keepalives"]
    published = harness.broker.counters.published
    told = [len(client.connection.messages) for client in clients]
    harness.run(60_000)
    # A heartbeat each second, and a keepalive in each square every three or four.
    keepalives = harness.loop.stats["keepalives"] - keepalives
    assert (
        10 * 60_000 // KEEPALIVE_WAITS[-1]
        <= keepalives
        <= 10 * 60_000 // (KEEPALIVE_WAITS[-1] * 3 // 4)
    )
    assert dict(harness.loop.stats) == {**before, "keepalives": before["keepalives"] + keepalives}
    assert harness.broker.counters.published - published == 60 + keepalives
    assert [len(client.connection.messages) for client in clients] == told


@pytest.mark.parametrize("code", [1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 4001])
def test_whatever_code_a_client_closes_with_it_is_dimmed_stands_and_leaves_after_a_while(
    harness, code
):
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    b.walk(1, 0)
    harness.run(300)
    b.connection.lose(code)
    harness.run(10)
    at = a.at(b)
    assert a.model.players[b.id].dimmed
    harness.run(DIMMED_FOR_MS - 100)
    assert a.at(b) == at
    harness.run(200)
    assert not a.sees(b) and b.id not in harness.node.residents.by_id


@pytest.mark.parametrize("after", [5000, DIMMED_FOR_MS + 1000])
def test_a_player_that_comes_back_in_time_or_late_goes_on_as_itself_where_it_was(harness, after):
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    b.walk(1, 0)
    harness.run(2000)
    place, token = b.at(), b.model.token
    b.connection.lose()
    harness.run(after)
    again = harness.client().hello("B", token=token)
    assert again.id == b.id and again.at() == place
    assert not a.model.players[b.id].dimmed
    harness.run(2 * DIMMED_FOR_MS)
    assert a.sees(again)
    again.walk(0, 1)
    harness.run(100)
    assert again.at() == (place[0], place[1] + walked(100))


def test_a_player_that_comes_back_where_there_is_water_now_begins_as_a_newcomer(harness):
    b = harness.place("B", (3, 0))
    token = b.model.token
    b.connection.lose(1000)
    harness.run(300)
    harness.node.residents.departed.clear()
    x, y = (place // UNIT for place in b.at())
    harness.node.terrain.blocked = lambda column, row: (column, row) == (x, y)
    again = harness.client().hello("B", token=token)
    assert again.id == b.id
    assert abs(again.at()[0]) < 7 * UNIT and abs(again.at()[1]) < 7 * UNIT


@pytest.mark.parametrize("lost", [True, False])
def test_a_token_takes_over_and_acknowledgements_belong_to_the_present_connection(harness, lost):
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    for _ in range(5):
        b.walk(0, 1)
        b.walk(0, 0)
    assert a.model.players[b.id].ack == 10
    if lost:
        b.connection.lose()
        harness.run(100)
    again = harness.client().hello("B", token=b.model.token)
    assert lost or b.connection.closed[0] == 4001
    assert again.model.players[b.id].ack == a.model.players[b.id].ack == 0
    again.walk(1, 0)
    assert a.model.players[b.id].ack == 1


def test_a_hundred_players_that_talk_at_once_are_all_heard_and_cost_nobody_anything(harness):
    crowd = [harness.place(f"P{n}", (0, 0), (8, 8)) for n in range(50)]
    far, watcher = harness.place("F", (9, 9)), harness.place("W", (9, 9))
    text = "\U0001f98a" * 120
    for client in crowd:
        for _ in range(4):
            # All speak in one turn of the loop: nothing is published before the last has spoken.
            client.connection.on_message(2, msgpack.packb([6, text]))
    far.connection.on_message(2, msgpack.packb([2, 1, far.now(), 1, 0]))
    harness.run(1000)
    assert len(crowd[0].model.chat) == 200
    assert watcher.at(far) == far.at()


def test_losing_the_connection_just_at_a_border_forgets_no_crossing(harness):
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    b.go(16 * UNIT, 8 * UNIT)
    track = resident(b).track
    # The timer is late: the walk has ended beyond the border when the connection is lost.
    harness.clients.remove(b)
    harness.clock.time = track.end + 5
    harness.node.residents.connection_lost(resident(b))
    assert resident(b).square == (1, 0)
    harness.run(100)
    assert a.model.players[b.id].square == (1, 0)


def test_a_guest_begins_beside_a_friend(harness):
    friend = harness.place("A", (30, -20))
    guest = harness.client().hello("B", near=friend.id)
    (x, y), (fx, fy) = guest.at(), friend.at()
    assert abs(x - fx) <= 3 * UNIT and abs(y - fy) <= 3 * UNIT
    assert friend.sees(guest)
    stranger = harness.client().hello("C", near=12345)
    assert abs(stranger.at()[0]) < 7 * UNIT


def near_home(client):
    return max(map(abs, client.at())) < 7 * UNIT


def go_home(harness, client, times=1):
    for _ in range(times):
        client.home()
    harness.run(100)


def test_home_leads_to_the_plaza_and_home_again_leads_back_but_only_once(harness):
    a, b = harness.place("A", (50, 50)), harness.place("B", (50, 50))
    before = b.at()
    go_home(harness, b)
    assert not a.sees(b) and near_home(b)
    b.walk(1, 0)
    harness.run(1000)
    go_home(harness, b)
    assert b.at() == before and a.at(b) == before and b.model.players[b.id].ack == 3
    # It is far from the plaza again, so going home remembers its place again.
    b.go(before[0] + 2 * UNIT, before[1])
    harness.run(2000)
    then = b.at()
    go_home(harness, b, 2)
    assert b.at() == then != before
    harness.run(10_000)
    go_home(harness, b, 3)
    assert near_home(b)


def test_home_far_from_the_plaza_forgets_the_place_before(harness):
    client = harness.place("A", (50, 50))
    go_home(harness, client)
    client.go(60 * UNIT, 0)
    harness.run(30_000)
    there = client.at()
    assert max(map(abs, there)) > 40 * UNIT
    go_home(harness, client, 2)
    assert client.at() == there
    go_home(harness, client)
    harness.run(9900)
    # No place is remembered for a player that has walked from home and asks for it close by.
    go_home(harness, client, 2)
    assert near_home(client)


def test_a_wider_screen_holds_more_squares_and_is_shown_only_the_new_ones(harness):
    far = harness.place("B", (2, 0))
    client = harness.place("A", (0, 0), (8, 8))
    for width, sees in (8, False), (80, True), (8, False):
        before = set(Rect(*client.model.held).squares())
        client.connection.messages.clear()
        client.send(5, width, 8)
        assert client.sees(far) == sees
        harness.run(1000)
        shown = {(*m[1:3],) for m in client.connection.messages if m[0] == protocol.SNAPSHOT}
        assert shown == set(Rect(*client.model.held).squares()) - before


def test_turning_to_and_fro_where_a_new_square_came_into_view_changes_nothing(harness):
    client = harness.place("A", (0, 0))
    c0, _, c1, _ = client.model.held
    client.walk(1, 0)
    while client.model.held[2] == c1:
        harness.run(10)
    held = client.model.held
    assert (held[0], held[2]) == (c0, c1 + 1)
    client.connection.messages.clear()
    for n in range(20):
        client.walk(n % 2 * 2 - 1, 0)
        harness.run(66)
    assert protocol.HELD not in [message[0] for message in client.connection.messages]


def test_a_square_is_heard_a_little_longer_than_it_is_held(harness):
    client = harness.place("A", (0, 0), (8, 8))
    name = harness.node.channels.square((0, 0))
    client.connection.lose(1000)
    harness.run(LINGER - 100)
    assert name in harness.broker.channels
    harness.run(200)
    channels, id = harness.node.channels, harness.node.id
    assert harness.broker.channels == {
        channels.nodes,
        channels.node(id),
        channels.player(client.id),
    }
    subscriptions = harness.node.subscriptions
    assert subscriptions.by_square == {} and not len(harness.node.square_context.due)
    assert harness.node.outbox.numbers == harness.node.outbox.players_by_square == {}
    # A player that left is remembered for a minute: another node may ask where it was.
    harness.run(LEFT_FOR_MS)
    assert harness.broker.channels == {channels.nodes, channels.node(id)}


@pytest.mark.parametrize("intent", ["walk", "go"])
def test_a_walk_that_nobody_holds_ends_three_seconds_after_the_last_sign(harness, intent):
    lost, other = harness.place("A", (0, 0)), harness.place("B", (0, 0), (96, 64))
    harness.run(1234)
    start = lost.at()[0]
    if intent == "walk":
        lost.walk(1, 0)
    else:
        lost.go(10**6, lost.at()[1])
    lost.connection.dead = True
    harness.run(2900)
    assert other.at(lost)[0] - start == walked(2900)
    harness.run(300)
    stands = other.at(lost)
    assert walked(3000) <= stands[0] - start <= walked(3100)
    harness.run(10_000)
    # Only its walk is over: nobody knows yet that it is lost.
    assert other.at(lost) == stands == resident(lost).track.at(harness.loop.now())
    assert not resident(lost).dimmed and lost.connection.open
    assert harness.loop.stats["walks_ended"] == 1


def test_a_client_that_has_nothing_to_say_walks_on_by_the_pongs_of_its_websocket(harness):
    client = harness.place("A", (0, 0))
    start = client.at()[0]
    client.walk(1, 0)
    harness.run(60_000)
    assert client.at()[0] - start == walked(60_000)
    assert client.connection.pings > 0
    assert harness.loop.stats["walks_ended"] == 0
    client.walk(0, 0)
    harness.run(10_000)
    pings = client.connection.pings
    harness.run(20_000)
    # No client is pinged while its player stands.
    assert client.connection.pings == pings


def test_a_node_that_stood_still_ends_no_walk_before_it_has_read_what_came(harness):
    client = harness.place("A", (0, 0))
    for stall in (1000, 2000, 2500, 3000, 5000, 20_000):
        client.walk(1, 0)
        harness.run(1300)
        client.connection.dead = True
        harness.clock.time += stall
        # What is overdue is done before the sockets are read.
        harness.settle()
        client.connection.dead = False
        client.ping()
        harness.run(5000)
        assert resident(client).walks(harness.loop.now())
    assert harness.loop.stats["walks_ended"] == 0


@pytest.mark.parametrize("slept", [2000, 5000, 20_000, 60_000])
@pytest.mark.parametrize("lets_go", [True, False])
def test_after_a_node_stood_still_players_that_walk_in_a_direction_do_not_jump(slept, lets_go):
    harness, walker, other = two_nodes()
    home = walker.host
    other.send(5, 99, 70)
    start = walker.at()[0]
    walker.walk(1, 0)
    harness.run(3000)
    home.freeze()
    harness.run(1000)
    if lets_go:
        walker.walk(0, 0)
    harness.run(slept - 1000)
    home.thaw()
    harness.run(100)
    if lets_go:
        harness.run(1000)
        assert walker.at()[0] - start == walked(4000)
        assert not resident(walker).walks(harness.loop.now())
    else:
        harness.run(900)
        # The page halted its player when no answer came, and now continues as the node does.
        most = min(slept, AWAITED_FOR_MS)
        assert walked(3000 + most) <= walker.at()[0] - start <= walked(4000 + most)
        assert resident(walker).walks(harness.loop.now())
    harness.run(1000)
    assert other.at(walker) == walker.at()


@pytest.mark.parametrize("slept", [1600, 2500, AWAITED_FOR_MS - BEAT_MS])
def test_walks_that_go_on_after_a_node_stood_still_are_not_cut_later(slept):
    harness, walker, other = two_nodes()
    other.send(5, 99, 70)
    start = walker.at()[0]
    walker.walk(1, 0)
    harness.run(1000)
    walker.host.freeze()
    harness.run(slept)
    walker.host.thaw()
    for walked_for in range(100, FORGIVE_FOR_MS + 1000, 100):
        harness.run(100)
        assert walker.at()[0] - start == walked(1000 + slept + walked_for)
    harness.run(1000)
    assert other.at(walker) == walker.at()


def test_a_node_that_stood_still_lets_players_with_a_goal_go_on(harness):
    client = harness.place("A", (0, 0))
    x, y = client.at()
    client.go(x + 100 * UNIT, y)
    harness.run(1000)
    harness.hosts[0].freeze()
    harness.run(15_000)
    harness.hosts[0].thaw()
    harness.run(1000)
    assert client.at() == (x + walked(17_000), y)


def test_what_is_asked_while_a_node_stands_still_begins_when_it_was_asked(harness):
    client = harness.place("A", (0, 0))
    x, y = client.at()
    harness.run(3000)
    harness.hosts[0].freeze()
    harness.run(1000)
    client.walk(1, 0)
    harness.run(20_000)
    harness.hosts[0].thaw()
    harness.run(1000)
    assert client.at() == (x + walked(AWAITED_FOR_MS - 1000) + walked(1000), y)
    # Its connection is lost in the next pause; it stays where it was when no answer came.
    harness.hosts[0].freeze()
    harness.run(1000)
    client.connection.lose()
    harness.run(20_000)
    harness.hosts[0].thaw()
    harness.run(1000)
    assert resident(client).dimmed and resident(client).track.at(harness.clock.time) == (
        x + walked(AWAITED_FOR_MS - 1000) + walked(1000 + AWAITED_FOR_MS),
        y,
    )


def test_on_one_node_nobody_hears_of_a_square_before_it_was_shown(harness):
    talker, walker = (harness.place(name, (9, 9), (8, 8)) for name in "AB")
    harness.node.residents.say(talker.session.resident, "wait")
    harness.node.outbox.publish()
    # The words are still under way when the client asks for the squares of the plaza.
    walker.connection.messages.clear()
    walker.home()
    shown, told = set(), 0
    for message in walker.connection.messages:
        if message[0] == protocol.SNAPSHOT:
            shown.add(tuple(message[1:3]))
        for column, row, *_ in batches([message]):
            if (column, row) != (9, 9):
                told += 1
                assert (column, row) in shown
    assert told
