"""What players show of themselves: looks, new names, and the events of a game."""

import msgpack
import pytest

from tests.server.harness import Harness


@pytest.fixture
def pair():
    """Two players who see each other, on two nodes."""
    harness = Harness(nodes=2, ready=True)
    a, b = (harness.place(name, (0, 0), host=harness.hosts[n]) for n, name in enumerate("AB"))
    harness.run(500)
    assert a.sees(b) and b.sees(a)
    yield harness, a, b
    harness.check()


def test_a_look_and_a_new_name_are_seen_at_all_nodes_and_in_every_square(pair):
    harness, a, b = pair
    a.send(33, "  Ada  Lark ", 1027)
    harness.run(500)
    assert (b.model.players[a.id].name, b.model.players[a.id].look) == ("Ada Lark", 1027)
    assert b.model.players[b.id].look == 0
    seq = b.model.players[a.id].seq
    a.send(33, "Ada Lark", 1027)
    harness.run(500)
    assert b.model.players[a.id].seq == seq, "what changes nothing is not told"
    late = harness.client(harness.hosts[1]).hello("Late")
    harness.run(500)
    assert late.model.players[a.id].look == 1027
    a.walk(1, 0)
    harness.run(6000)
    assert b.model.players[a.id].look == 1027


def test_a_newcomer_with_a_look_enters_once_and_with_it(pair):
    harness, a, b = pair
    before = len(b.connection.messages)
    c = harness.client(harness.hosts[0])
    c.connection.on_message(2, msgpack.packb([1, 3, "C", 40, 25, None, None, None, None]))
    c.connection.on_message(2, msgpack.packb([33, "C", 1030]))
    harness.run(500)
    news = [m for m in b.connection.messages[before:] if m[0] == 21]
    enters = [e for m in news for batch in m[3] for e in batch[5:6] for e in e if e[1] == c.id]
    assert [(event[0], event[12]) for event in enters] == [(0, 1030)]


def test_a_player_that_comes_back_may_change_its_name_but_not_to_a_bad_one(pair):
    harness, a, b = pair
    a.send(33, "Typpo", 5)
    a.send(33, "a\u202eb", 9)
    token = a.model.token
    harness.run(500)
    assert a.model.errors == ["name"] and a.connection.closed is None
    assert (b.model.players[a.id].name, b.model.players[a.id].look) == ("Typpo", 5)
    a.connection.lose()
    harness.run(1000)
    back = harness.client(harness.hosts[1]).hello("Fixed", token=token)
    harness.run(500)
    assert back.id == a.id
    back.send(33, "Fixed", 5)
    harness.run(500)
    assert b.model.players[a.id].name == "Fixed" and b.model.players[a.id].look == 5


def test_an_event_is_seen_by_all_who_hold_the_square_and_keeps_a_lost_player(pair):
    harness, a, b = pair
    far = harness.place("Far", (9, 9))
    hands = [1, 2, 6, 99, 255]
    for hand in (*hands, 1):
        a.send(35, "wave", [hand])
    harness.run(500)
    assert b.model.game_events == a.model.game_events == [("A", hand) for hand in hands]
    assert a.model.errors == ["flood"] and a.connection.closed is None
    assert far.model.game_events == []
    a.connection.lose()
    harness.run(3000)
    assert b.sees(a) and b.model.players[a.id].dimmed
