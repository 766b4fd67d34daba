"""Names: people and cairns are found by a few letters, at whichever node they are."""

import pytest

from flatlands.games.flatlands import search
from flatlands.games.flatlands.landmarks.landmarks import Landmarks
from flatlands.games.flatlands.search import KEPT_FOR
from flatlands.server.messages.peer_protocol import SEEK
from flatlands.server.players.names import ANSWER_WITHIN, ASKS, LOOKS, folded, matches
from flatlands.server.players.names import KEPT_FOR as ANSWER_KEPT_FOR
from flatlands.server.players.orders import MUTE
from flatlands.world.track import UNIT
from tests.server.things import KEY, worlds


@pytest.fixture
def world(tmp_path):
    with worlds(f"sqlite:///{tmp_path / 'store.db'}") as start:
        harness = start(nodes=2)
        harness.run(2000)
        yield harness


def come(harness, name, tile=(0, 0), host=0):
    where = tuple(at * UNIT + UNIT // 2 for at in tile)
    client = harness.stand(name, where, (40, 25), harness.hosts[host])
    client.send(10, KEY + name.encode().hex()[-8:])
    return client


def sought(client, words):
    """Return the names of the people, and the cairns, that a player finds."""
    client.send(35, "seek", [words])
    client.harness.run(ANSWER_WITHIN + 100)
    asked, people, cairns, _marks = client.model.told["sought"]
    assert asked == words
    return [name for _id, name, *_ in people], cairns


@pytest.mark.parametrize(
    ("text", "rank"), [("ros", 2), ("red", 2), ("ose", 1), ("ROSÉ", 2), ("x", 0), ("e r", 1)]
)
def test_the_beginning_of_any_word_counts_most_and_neither_case_nor_accents(text, rank):
    assert matches(folded(text), "Rosé Réd") == rank


def test_letters_that_have_other_capitals_are_found_too():
    assert matches(folded("STRAUSS"), "Strauß") == 2


def test_people_of_all_nodes_are_found_the_nearest_first_in_their_squares(world):
    ada = come(world, "Ada")
    far = come(world, "Róse far", (200, 7), host=1)
    come(world, "Rose near", (40, 0), host=1)
    come(world, "Primrose", (3, 0))
    world.run(500)
    assert sought(ada, "ROSE")[0] == ["Rose near", "Róse far", "Primrose"]
    people = ada.model.told["sought"][1]
    assert people[1] == [far.id, "Róse far", 200 // 16, 0]
    assert ada.model.errors == []


def test_who_is_muted_or_has_lost_its_connection_or_left_is_not_found(world):
    ada, away, loud = come(world, "Ada"), come(world, "Rob", host=1), come(world, "Roy", host=1)
    assert sorted(sought(ada, "ro")[0]) == ["Rob", "Roy"]
    away.connection.lose(1006)
    world.hosts[1].node.orders.give(MUTE, str(loud.id), 60)
    world.run(ANSWER_KEPT_FOR + 3000)
    assert sought(ada, "ro")[0] == []


def test_cairns_of_all_nodes_are_found_by_their_builder_and_their_line(world):
    ada, bob = come(world, "Ada"), come(world, "Bob", (60, 40), host=1)
    bob.send(35, "build", ["mind the Ótter"])
    world.run(1000)
    cairn = ["Bob", "mind the Ótter", 60, 40]
    assert sought(ada, "otter")[1] == sought(ada, "bob")[1] == [cairn]
    assert sought(ada, "badger")[1] == []
    # What was read is good for a while.
    bob.go(66 * UNIT, 80 * UNIT)
    world.run(20_000)
    bob.send(35, "build", ["another otter"])
    world.run(1000)
    world.run(KEPT_FOR)
    assert len(sought(ada, "otter")[1]) == 2


def test_landmarks_that_somebody_has_found_are_found_at_any_distance(world, monkeypatch):
    marks, ada = Landmarks(world.node.terrain), come(world, "Ada")
    parts = [(i, j) for i in range(40, 60) for j in (-9, 70) if marks.of(i, j) is not None][:3]
    for part in parts[:2]:
        bob = come(world, "Bob", marks.of(*part), host=1)
        world.run(500)
        bob.send(35, "find", [*part])
        world.run(500)
        assert "finders" in bob.model.told

    def found(words):
        sought(ada, words)
        return ada.model.told["sought"][3]

    # No more are named at a time than it can do without holding others up.
    monkeypatch.setattr(search, "NAMED", 1)
    names = [marks.name(*part) for part in parts]
    assert [found(name) for name in names] == [[[names[0], *marks.of(*parts[0])]], [], []]
    assert found(names[0][1:5].lower()) == found(names[0])
    world.run(KEPT_FOR)
    assert found(names[1]) == [[names[1], *marks.of(*parts[1])]] and found(names[2]) == []


def test_letters_that_are_long_without_accents_are_no_fault_of_the_broker(world):
    ada = come(world, "Ada")
    come(world, "Bob", host=1)
    assert sought(ada, "\ufdfa" * 40) == ([], [])
    assert [host.node.stats["malformed"] for host in world.hosts] == [0, 0]


def test_a_node_that_is_silent_holds_nobody_up(world):
    ada = come(world, "Ada")
    come(world, "Rose", host=1)
    come(world, "Roma", (30, 0))
    world.run(500)
    world.hosts[1].node.names.asked = lambda *_: None
    world.hosts[1].node._news[SEEK] = lambda *_: None
    assert sought(ada, "ro")[0] == ["Roma"]


def test_all_nodes_are_asked_once_for_the_same_and_only_so_often(world):
    come(world, "Rose", host=1)
    names, other, found = world.node.names, world.hosts[1].node, []
    looks = []
    answer = other.names.asked
    other._news[SEEK] = lambda *fields: (looks.append(fields), answer(*fields))
    for _ in range(50):
        names.find("ro", 0, 0, found.append)
    world.run(ANSWER_WITHIN + 100)
    assert len(looks) == 1 and len(found) == 50 and all(len(each) == 1 for each in found)
    names.find("RÓ", 0, 0, found.append)
    assert len(found) == 51 and found[-1] == found[0]
    for i in range(100):
        names.find(f"ro{i}", 0, 0, found.append)
    world.run(ANSWER_WITHIN + 100)
    assert len(found) == 151 and len(looks) <= 1 + ASKS.burst + 3
    # A node that is asked by many looks only so often, too.
    told = []
    other.names._look = lambda question: told.append(question) or []
    for nonce in range(200):
        other.names.asked(world.node.id, nonce, "ro", 0, 0)
    assert len(told) <= LOOKS.burst


def test_who_leaves_before_the_answer_is_told_nothing(world):
    gone, _ = come(world, "Gone"), come(world, "Ros", host=1)
    gone.send(35, "seek", ["ros"])
    gone.connection.lose(1000)
    world.run(ANSWER_WITHIN + 100)
    assert "sought" not in gone.model.told
