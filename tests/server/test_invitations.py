"""Invitations: a guest begins beside the player that invited it, at whichever nodes they are."""

import math

import pytest

from flatlands.server.players.invitations import INVITATION_ANSWER_MS
from flatlands.server.players.moderation import BAR
from flatlands.server.players.spots import GUEST_FARTHEST_TILES, GUEST_NEAREST_TILES
from flatlands.world.track import UNIT
from tests.server.harness import Harness


@pytest.fixture
def two():
    """Two nodes, and a player on the first, far from the plaza."""
    harness = Harness(nodes=2, ready=True)
    host = harness.place("Host", (20, 3), host=harness.hosts[0])
    harness.run(500)
    return harness, host


def invitation(client):
    client.send(8)
    assert client.model.invitation is not None
    return client.model.invitation


def is_beside(guest, place):
    """Return whether a guest is as near to a place as guests begin."""
    x, y = guest.at()
    return (
        GUEST_NEAREST_TILES - 0.01
        <= math.hypot(x - place[0], y - place[1]) / UNIT
        <= GUEST_FARTHEST_TILES + 0.01
    )


def come(harness, near, node, token=None):
    guest = harness.client(harness.hosts[node]).hello("Guest", near=near, token=token)
    harness.run(INVITATION_ANSWER_MS + 100)
    assert guest.connection.closed is None
    return guest


@pytest.mark.parametrize("node", [0, 1])
def test_a_guest_begins_beside_its_host_wherever_that_is_by_now(two, node):
    harness, host = two
    text = invitation(host)
    host.go(host.at()[0] + 9 * UNIT, host.at()[1])
    harness.run(4000)
    guest = come(harness, text, node)
    assert is_beside(guest, host.at())
    harness.run(500)
    assert guest.sees(host) and host.sees(guest)
    harness.check()


@pytest.mark.parametrize(("end", "node"), [("left", 0), ("left", 1), ("killed", 0), ("killed", 1)])
def test_a_guest_of_a_host_who_is_gone_begins_where_it_was_invited(two, node, end):
    harness, host = two
    if end == "killed" and node:
        harness.host()
    text, place = invitation(host), host.at()
    host.walk(1, 0)
    harness.run(2000)
    if end == "left":
        host.connection.lose(1000)
    else:
        harness.kill(harness.hosts[0])
    harness.run(100)
    assert is_beside(come(harness, text, node), place)


@pytest.mark.parametrize("forged", ["", "7", "not.an.invitation", "x" * 512])
def test_a_forged_invitation_leads_to_the_plaza(two, forged):
    harness, _ = two
    assert math.hypot(*come(harness, forged, 1).at()) < 8 * UNIT


@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.parametrize("end", [None, 1006, 1000], ids=["plays", "lost", "left"])
def test_a_player_that_comes_back_with_an_invitation_begins_beside_its_host(two, node, end):
    harness, host = two
    traveller = harness.place("T", (-7, -7), host=harness.hosts[1])
    token = traveller.model.token
    traveller.walk(0, 1)
    harness.run(700)
    if end is not None:
        traveller.connection.lose(end)
        harness.run(1000)
    back = come(harness, invitation(host), node, token=token)
    assert back.id == traveller.id and is_beside(back, host.at())
    harness.run(1500)
    assert host.sees(back) and back.sees(host)
    harness.check()


@pytest.mark.parametrize("node", [0, 1])
def test_guest_and_host_look_at_each_other_and_the_guest_is_told_who_its_host_is(two, node):
    harness, host = two
    before = host.at()
    guest = come(harness, invitation(host), node)
    harness.run(500)
    x, y = (there - here for there, here in zip(host.at(), guest.at(), strict=True))
    for client, (dx, dy) in ((guest, (x, y)), (host, (-x, -y))):
        for screen in (guest, host):
            _, _, leads_x, leads_y, *_ = screen.model.players[client.id].track
            # It looks that way, to an eighth of the compass.
            assert (leads_x, leads_y) != (0, 0)
            turn = math.atan2(dy, dx) - math.atan2(leads_y, leads_x)
            assert math.cos(turn) > math.cos(math.radians(30))
    assert math.dist(host.at(), before) < 2
    assert guest.model.host == ("Host", True)
    # The host walks on as it likes.
    host.walk(1, 0)
    harness.run(1000)
    assert host.at()[0] > before[0] + 3 * UNIT
    harness.check()


def test_a_host_who_walks_is_not_stopped_by_its_guest(two):
    harness, host = two
    text = invitation(host)
    host.walk(1, 0)
    harness.run(500)
    come(harness, text, 1)
    before = host.at()
    harness.run(1000)
    assert host.at()[0] - before[0] > 4 * UNIT


@pytest.mark.parametrize("node", [0, 1])
def test_a_guest_never_begins_within_anybody(two, node):
    harness, host = two
    x, y = host.at()
    # A ring of others, with one gap in the east.
    for n in range(7):
        angle = math.tau * (n + 1) / 8
        at = x + round(1.85 * UNIT * math.cos(angle)), y + round(1.85 * UNIT * math.sin(angle))
        harness.stand(f"N{n}", at, (40, 25), harness.hosts[n % 2])
    harness.run(1500)
    text = invitation(host)
    for _ in range(10):
        guest = come(harness, text, node)
        others = [other for other in guest.model.players.values() if other.id != guest.id]
        assert min(math.dist(guest.at(), one.at(guest.now())) for one in others) > 0.6 * UNIT
        guest.connection.lose(1000)
        # The place of the last guest is kept free for a moment.
        harness.run(2500)


@pytest.mark.parametrize("name", ["Host", "Hostess"])
def test_a_guest_is_told_that_its_host_is_gone(two, name):
    harness, host = two
    host.send(33, name, 0)
    text = invitation(host)
    host.connection.lose(1000)
    harness.run(500)
    assert come(harness, text, 1).model.host == (name, False)


def test_a_guest_that_hangs_up_before_its_host_is_found_never_joins(two):
    harness, host = two
    other = harness.hosts[1]
    residents = len(other.node.residents.by_id)
    guest, text = harness.client(other), invitation(host)
    guest.say_hello("Hasty", near=text)
    guest.connection.lose()
    harness.run(INVITATION_ANSWER_MS + 100)
    assert len(other.node.residents.by_id) == residents


@pytest.mark.parametrize("node", [0, 1])
def test_a_guest_that_is_not_let_in_makes_nobody_turn(two, node):
    harness, host = two
    text, stats = invitation(host), harness.hosts[0].loop.stats
    harness.hosts[node].node.moderation.apply(BAR, "192.0.2.7", 600)
    harness.run(1500)
    before = stats["events"]
    for _ in range(30):
        guest = harness.client(harness.hosts[node])
        guest.connection.address = "192.0.2.7"
        guest.hello("Guest", near=text)
        harness.run(INVITATION_ANSWER_MS + 100)
        assert guest.model.errors == ["kicked"]
    assert stats["events"] == before


def test_invitations_have_a_rate_and_no_fields(two):
    harness, host = two
    for _ in range(6):
        host.send(8)
    assert host.model.errors == ["flood"] and host.connection.closed is None
    host.send(8, 1)
    assert host.connection.closed[0] == 1008 and host.model.errors[1:] == ["fields"]
