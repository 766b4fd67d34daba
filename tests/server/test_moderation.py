"""Moderation of an operator, on one node and on several."""

import pytest

from flatlands.server.players.moderation import (
    ACTIONS_EVERY_MS,
    ACTIONS_QUEUE,
    BAR,
    BY_OWNER,
    DOOR,
    KICK,
    MUTE,
    NOTICE,
    NOTICE_FOR_S,
    OWNER_LINK,
    OWNER_PREFIX_CHARS,
    network,
)
from flatlands.server.storage.boards import owner_of
from tests.server.harness import Broken, two_nodes

#: ms within which all nodes know an action.
KNOWN = ACTIONS_EVERY_MS + 100


#: A secret of a browser, and how actions name it.
SECRET = "a-key-of-tests-and-nobody"
OWNER = owner_of(SECRET)[:OWNER_PREFIX_CHARS]


@pytest.fixture
def two():
    """Two nodes that share a store, with a player on each, side by side."""
    return two_nodes(stored=True)


def moderation(harness, host=0):
    return harness.hosts[host].node.moderation


def give(harness, *action, host=0):
    """Give an action at a node, and let all nodes know it."""
    moderation(harness, host).apply(*action)
    harness.run(KNOWN)


@pytest.mark.parametrize("host", [0, 1])
def test_a_kicked_player_goes_at_once_and_its_token_is_no_use_until_the_time_is_over(two, host):
    harness, a, b = two
    give(harness, KICK, str(b.id), 120)
    assert b.connection.closed == (1008, "an operator removed you for 2 minutes")
    assert b.model.errors == ["kicked"] and b.session.error == "kicked"
    assert not a.sees(b) and b.id not in harness.hosts[1].node.residents.by_id
    assert a.connection.closed is None
    back = harness.client(harness.hosts[host]).hello("B", token=b.model.token)
    harness.run(500)
    assert back.connection.closed == (1008, "an operator removed you for 2 minutes")
    harness.run(120_000)
    again = harness.client(harness.hosts[host]).hello("B", token=b.model.token)
    harness.run(1000)
    assert again.connection.closed is None and again.id == b.id


def came_back(harness, host, secret=SECRET):
    """Return a newcomer at a node, which has shown a key."""
    client = harness.client(harness.hosts[host]).hello("C")
    client.send(10, secret)
    harness.run(100)
    return client


def says(client):
    """Return the errors with which a player is answered that says something."""
    before = len(client.model.errors)
    client.send(6, "hello")
    client.harness.run(100)
    return client.model.errors[before:]


@pytest.mark.parametrize("host", [0, 1])
def test_a_kicked_player_that_comes_back_as_a_newcomer_with_its_key_is_sent_away(two, host):
    harness, _, b = two
    b.send(10, SECRET)
    give(harness, KICK, str(b.id), 120)
    # The action was given at one node, and the player's own node has told its key.
    harness.run(KNOWN)
    again = came_back(harness, host)
    assert again.connection.closed == (1008, "an operator removed you for 2 minutes")
    assert again.model.errors == ["kicked"]
    assert again.id not in harness.hosts[host].node.residents.by_id
    assert came_back(harness, host, secret="another-key-of-another").connection.closed is None
    # A node that comes when all others have ended has it from the store.
    for one in list(harness.hosts):
        harness.kill(one)
    harness.host()
    harness.run(10_000)
    assert came_back(harness, 0).model.errors == ["kicked"]
    give(harness, KICK, str(b.id), 0)
    assert came_back(harness, 0).connection.closed is None


@pytest.mark.parametrize("host", [0, 1])
def test_a_muted_player_that_comes_back_as_a_newcomer_with_its_key_stays_mute(two, host):
    harness, _, b = two
    b.send(10, SECRET)
    give(harness, MUTE, str(b.id), 600)
    b.connection.lose(1000)
    harness.run(KNOWN)
    again = came_back(harness, host)
    assert again.id != b.id and says(again) == ["muted"] and again.connection.closed is None
    again.send(33, "say it anyway", 0)
    assert again.model.errors == ["muted"] * 2
    assert says(came_back(harness, host, secret="another-key-of-another")) == []
    give(harness, MUTE, str(b.id), 0)
    assert says(again) == []


@pytest.mark.parametrize("action", [KICK, MUTE])
def test_a_key_that_comes_after_the_order_is_known_from_then_on(two, action):
    harness, _, b = two
    give(harness, MUTE, str(b.id), 600)
    b.send(10, SECRET)
    # Only its first key counts: others would fill the list of moderation.
    for n in range(20):
        harness.run(2000)
        b.send(10, f"one-of-many-other-keys-{n}")
    if action == KICK:
        give(harness, KICK, str(b.id), 600, host=1)
    harness.run(KNOWN)
    assert len(harness.node.store_client.store.group(ACTIONS_QUEUE, ACTIONS_QUEUE)) == 2 + (
        action == KICK
    )
    again = came_back(harness, 0)
    assert (again.model.errors or says(again)) == ["kicked" if action == KICK else "muted"]


def test_an_order_that_is_given_again_for_longer_holds_for_the_key_as_long(two):
    harness, _, b = two
    b.send(10, SECRET)
    give(harness, KICK, str(b.id), 60)
    harness.run(KNOWN)
    give(harness, KICK, str(b.id), 600)
    harness.run(100_000)
    assert [came_back(harness, host).model.errors for host in (0, 1)] == [["kicked"]] * 2
    harness.run(500_000)
    assert came_back(harness, 0).connection.closed is None


@pytest.mark.parametrize("host", [0, 1])
def test_an_order_for_a_key_applies_to_all_players_that_have_it_and_no_others(two, host):
    harness, a, b = two
    twin = came_back(harness, 0)
    b.send(10, SECRET)
    give(harness, BY_OWNER[MUTE], OWNER, 600, host=host)
    assert [says(one) for one in (a, b, twin)] == [[], ["muted"], ["muted"]]
    give(harness, BY_OWNER[KICK], OWNER, 600, host=host)
    assert [one.connection.open for one in (a, b, twin)] == [True, False, False]
    assert b.model.errors[-1] == twin.model.errors[-1] == "kicked"
    assert came_back(harness, 0).model.errors == came_back(harness, 1).model.errors == ["kicked"]
    assert len(moderation(harness)) == len(moderation(harness, 1)) == 2
    for action in BY_OWNER.values():
        give(harness, action, OWNER, 0)
    assert says(came_back(harness, 1)) == []


def test_an_order_that_is_lifted_for_a_key_is_lifted_for_the_id_too(two):
    harness, _, b = two
    b.send(10, SECRET)
    give(harness, KICK, str(b.id), 600)
    harness.run(KNOWN)
    give(harness, BY_OWNER[KICK], OWNER, 0)
    assert came_back(harness, 1).connection.closed is None
    back = harness.client(harness.hosts[1]).hello("B", token=b.model.token)
    harness.run(1000)
    assert back.connection.closed is None and back.id == b.id


def test_a_player_without_a_key_is_named_by_its_id_as_undo_names_it(two):
    harness, a, b = two
    give(harness, BY_OWNER[KICK], f"{b.id:016x}", 600)
    assert a.connection.open and b.model.errors == ["kicked"]
    back = harness.client(harness.hosts[0]).hello("B", token=b.model.token)
    harness.run(1000)
    assert back.model.errors == ["kicked"]
    # Without a key there is nothing by which a newcomer is known.
    assert harness.client(harness.hosts[0]).hello("B").connection.closed is None
    assert not any(action == OWNER_LINK for action, _ in moderation(harness)._known)
    # One that was named by its id is let in by that name too.
    give(harness, BY_OWNER[KICK], f"{b.id:016x}", 0)
    give(harness, KICK, str(b.id), 600)
    give(harness, BY_OWNER[KICK], f"{b.id:016x}", 0)
    assert harness.client(harness.hosts[0]).hello("B", token=b.model.token).connection.open


def test_all_windows_of_a_key_go_with_the_one_that_is_kicked(two):
    harness, _, b = two
    b.send(10, SECRET)
    others = [came_back(harness, host) for host in (0, 1)]
    give(harness, KICK, str(b.id), 600)
    harness.run(KNOWN)
    assert [one.model.errors for one in others] == [["kicked"]] * 2


def test_a_player_that_is_kicked_while_its_connection_is_lost_is_gone(two):
    harness, a, b = two
    # A lost player that has walked stays for long.
    b.walk(1, 0)
    harness.run(100)
    b.connection.lose()
    harness.run(100)
    assert a.sees(b)
    give(harness, KICK, str(b.id), 60)
    assert not a.sees(b) and b.id not in harness.hosts[1].node.residents.by_id


def test_a_player_that_is_kicked_while_a_node_asks_for_it_does_not_come_in(two):
    harness, a, b = two
    b.connection.lose()
    harness.run(100)
    back = harness.client(harness.hosts[0])
    # The claim goes out and its answer is still to come when the action is given.
    harness.broker.losing = 1.0
    back.hello("B", token=b.model.token)
    moderation(harness).apply(KICK, str(b.id), 60)
    harness.broker.losing = 0.0
    harness.run(1000)
    assert back.model.errors == ["kicked"] and b.id not in harness.node.residents.by_id


def test_a_walker_cannot_be_kicked_and_an_unknown_player_is_no_error(two):
    harness, _a, _b = two
    walker = harness.node.residents.join("Walker", harness.node.residents.choose_spot())
    for id in (walker.id, 17):
        moderation(harness).apply(KICK, str(id), 60)
    harness.run(KNOWN)
    assert walker.id in harness.node.residents.by_id
    assert not any(host.loop.stats["errors"] for host in harness.hosts)


def test_an_address_is_sent_away_with_all_its_players(two):
    harness, a, b = two
    a.connection.address, b.connection.address = "192.0.2.7", "192.0.2.8"
    give(harness, BAR, "192.0.2.8", 600)
    assert a.connection.closed is None and b.connection.closed[0] == 1008
    for host in (0, 1):
        for address, closed in (("192.0.2.8", 1008), ("192.0.2.7", None)):
            newcomer = harness.client(harness.hosts[host])
            newcomer.connection.address = address
            newcomer.hello("C")
            assert (newcomer.connection.closed or (None,))[0] == closed
    give(harness, BAR, "192.0.2.8", 0)
    assert not moderation(harness, 1).seconds(BAR, "192.0.2.8")


def test_an_ipv6_address_stands_for_its_network():
    assert network("2001:db8:1:2:3::4") == network("2001:db8:1:2::9") == "2001:db8:1:2::/64"
    assert network("::ffff:192.0.2.1") == network("192.0.2.1") == "192.0.2.1"
    assert network("2001:db8:1:2::/64") == "2001:db8:1:2::/64"


def test_a_muted_player_is_told_so_and_heard_by_nobody_until_the_time_is_over(two):
    harness, a, b = two

    def known(*messages):
        """Let B send messages; return what A then knows of it: what it said, its name and look."""
        for message in messages:
            b.send(*message)
        harness.run(100)
        player = a.model.players[b.id]
        return [text for _, text in a.model.chat], player.name, player.look

    give(harness, MUTE, str(b.id), 60)
    # Nor can it talk by its name; its look it may change.
    assert known([6, "hello"], [33, "say it anyway", 1027]) == ([], "B", 0)
    assert b.model.errors == ["muted"] * 2 and b.connection.closed is None
    assert known([33, "B", 1027]) == ([], "B", 1027)
    harness.run(60_000)
    assert known([6, "again"], [33, "Free", 1027]) == (["again"], "Free", 1027)
    moderation(harness).apply(MUTE, str(b.id), 600)
    give(harness, MUTE, str(b.id), 0)
    assert known([6, "free"])[0] == ["again", "free"] and len(b.model.errors) == 2


def test_a_closed_door_lets_in_only_players_that_were_here(two):
    harness, a, b = two
    give(harness, DOOR, "", 600)
    for host in harness.hosts:
        newcomer = harness.client(host).hello("C")
        assert newcomer.connection.closed[0] == 1013 and newcomer.model.errors == ["door"]
        forged = harness.client(host).hello("C", token="no such token")
        assert forged.connection.closed[0] == 1013
    b.connection.lose(1000)
    harness.run(100)
    back = harness.client(harness.hosts[0]).hello("B", token=b.model.token)
    harness.run(1000)
    assert back.connection.closed is None and back.id == b.id
    give(harness, DOOR, "", 0, host=1)
    assert harness.client(harness.hosts[0]).hello("C").connection.closed is None


def test_a_node_that_comes_later_learns_what_is_in_force(two):
    harness, a, b = two
    moderation(harness).apply(DOOR, "", 600)
    moderation(harness).apply(KICK, str(b.id), 60)
    harness.run(61_000)
    late = harness.host()
    assert late.node.moderation.seconds(DOOR) in range(530, 540)
    assert len(late.node.moderation) == late.loop.stats["moderation_actions"] == 1
    # The same holds if all other nodes have ended.
    for host in harness.hosts[:2]:
        harness.kill(host)
    harness.run(10_000)
    assert harness.host().node.moderation.seconds(DOOR) > 500


@pytest.mark.parametrize("host", [0, 1])
def test_a_node_whose_store_was_away_learns_and_tells_orders_when_it_is_back(two, host):
    harness, a, b = two
    store_client = harness.hosts[host].node.store_client
    store, store_client.store = store_client.store, Broken()
    moderation(harness).apply(DOOR, "", 600)
    moderation(harness).apply(KICK, str(a.id), 600)
    moderation(harness).apply(KICK, str(a.id), 0)
    harness.run(8000)
    # The node that was asked obeys all the same.
    assert moderation(harness).seconds(DOOR) and not moderation(harness, 1).seconds(DOOR)
    store_client.store = store
    harness.run(KNOWN)
    assert moderation(harness, 1).seconds(DOOR)
    assert not any(moderation(harness, at).seconds(KICK, str(a.id)) for at in (0, 1))


@pytest.mark.parametrize(("first", "then"), [(600, 0), (0, 600), (600, 300)])
def test_the_later_of_two_orders_is_obeyed_though_the_store_hears_of_it_first(two, first, then):
    harness, a, _ = two
    store_client, who = harness.node.store_client, str(a.id)
    give(harness, MUTE, who, 900)
    store, store_client.store = store_client.store, Broken()
    give(harness, MUTE, who, first)
    give(harness, MUTE, who, then, host=1)
    store_client.store = store
    harness.run(10_000)
    assert {
        moderation(harness, at).seconds(MUTE, who) in range(then - 20, then + 1) for at in (0, 1)
    } == {True}


def test_without_a_store_a_node_obeys_alone():
    harness, a, b = two_nodes()
    moderation(harness).apply(KICK, str(a.id), 60)
    give(harness, DOOR, "", 60)
    assert a.connection.closed[0] == 1008 and not len(moderation(harness, 1))
    assert moderation(harness).seconds(DOOR) and not harness.loop.stats["store_crowded"]
    harness.run(60_000)
    assert not len(moderation(harness))


def test_a_notice_is_told_once_by_every_node_and_kept_by_none(two):
    harness, a, b = two

    def told():
        return [m[2] for one in (a, b) for m in one.connection.messages if m[1] == "notice"]

    for times in (1, 2):
        moderation(harness).apply(NOTICE, "a restart in 5 minutes", 0)
        harness.run(3 * ACTIONS_EVERY_MS)
        assert told() == ["a restart in 5 minutes"] * 2 * times
    assert not any(len(host.node.moderation) for host in harness.hosts)
    harness.run(1000 * NOTICE_FOR_S + ACTIONS_EVERY_MS)
    assert harness.node.store_client.store.count(ACTIONS_QUEUE) == 0


@pytest.mark.parametrize("stored", [True, False])
def test_a_limited_number_of_orders_is_remembered(stored, monkeypatch):
    most = 100
    monkeypatch.setattr("flatlands.server.players.moderation.ACTIONS_MOST", most)
    harness = two_nodes(stored=stored)[0]
    for id in range(most + 10):
        moderation(harness).apply(KICK, str(id), 60 + id)
    harness.run(KNOWN)
    assert len(moderation(harness)) == most and len(moderation(harness, 1)) == most * stored
    assert not moderation(harness).seconds(KICK, "9") and moderation(harness).seconds(KICK, "10")
    harness.run(100_000)
    moderation(harness).apply(MUTE, "1", 60)
    assert len(moderation(harness)) <= most - 30
    if stored:
        assert harness.node.store_client.store.count(ACTIONS_QUEUE) <= most - 30
