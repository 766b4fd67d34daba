"""Names: people and cairns are found by a few letters, whichever node they are on."""

import random

import pytest

from flatlands.games.flatlands import search
from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.search import READING_MS, Texts
from flatlands.server.messages.peer_protocol import NameQuery
from flatlands.server.players import names
from flatlands.server.players.moderation import BY_OWNER, MUTE, OWNER_PREFIX_CHARS
from flatlands.server.players.names import NAME_ANSWER_MS, NAME_ASKS, NAME_LOOKS, folded, matches
from flatlands.server.players.names import NAME_KEPT_MS as ANSWER_KEPT_FOR
from flatlands.world.track import UNIT
from tests.server.harness import KEY


@pytest.fixture
def two(world):
    harness = world(nodes=2)
    harness.run(2000)
    return harness


def come(harness, name, tile=(0, 0), host=0):
    where = tuple(at * UNIT + UNIT // 2 for at in tile)
    client = harness.stand(name, where, (40, 25), harness.hosts[host])
    client.send(10, KEY + name.encode().hex()[-8:])
    return client


def sought(client, words):
    """Return the names of the people, and the cairns, that a player finds."""
    client.send(35, "seek", [words])
    client.harness.run(NAME_ANSWER_MS + 100)
    asked, people, cairns, _marks = client.model.messages["sought"]
    assert asked == words
    return [name for _id, name, *_ in people], cairns


@pytest.mark.parametrize(
    ("text", "rank"),
    [("ros", 2), ("red", 2), ("ose", 1), ("ROSÉ", 2), ("x", 0), ("e r", 1), ("STRAUSS", 2)],
)
def test_the_beginning_of_any_word_counts_most_and_case_and_accents_do_not(text, rank):
    assert matches(folded(text), "Rosé Réd Strauß") == rank


def test_people_of_all_nodes_are_found_with_their_squares_nearest_first(two):
    ada = come(two, "Ada")
    far = come(two, "Róse far", (200, 7), host=1)
    come(two, "Rose near", (40, 0), host=1)
    come(two, "Primrose", (3, 0))
    two.run(500)
    assert sought(ada, "ROSE")[0] == ["Rose near", "Róse far", "Primrose"]
    people = ada.model.messages["sought"][1]
    assert people[1] == [far.id, "Róse far", 200 // 16, 0]
    assert ada.model.errors == []


@pytest.mark.parametrize("by_key", [False, True])
def test_a_player_that_is_muted_or_has_lost_its_connection_or_left_is_not_found(two, by_key):
    ada, away, loud = come(two, "Ada"), come(two, "Rob", host=1), come(two, "Roy", host=1)
    assert sorted(sought(ada, "ro")[0]) == ["Rob", "Roy"]
    away.connection.lose(1006)
    order = (
        (BY_OWNER[MUTE], loud.session.playing.owner[:OWNER_PREFIX_CHARS])
        if by_key
        else (MUTE, str(loud.id))
    )
    two.hosts[1].node.moderation.apply(*order, 60)
    two.run(ANSWER_KEPT_FOR + 3000)
    assert sought(ada, "ro")[0] == []


def test_cairns_of_all_nodes_are_found_by_their_builder_and_their_line(two):
    ada, bob = come(two, "Ada"), come(two, "Bob", (60, 40), host=1)
    bob.send(35, "build", ["mind the Ótter"])
    two.run(1000)
    cairn = ["Bob", "mind the Ótter", 60, 40]
    assert sought(ada, "otter")[1] == sought(ada, "bob")[1] == [cairn]
    assert sought(ada, "badger")[1] == []
    # What was read stays valid for a while.
    bob.go(66 * UNIT, 80 * UNIT)
    two.run(20_000)
    bob.send(35, "build", ["another otter"])
    two.run(1000 + READING_MS)
    assert len(sought(ada, "otter")[1]) == 2


def test_a_question_folds_nothing_but_its_words_and_a_reading_only_what_is_new(two, monkeypatch):
    ada, bob = come(two, "Ada"), come(two, "Bob", (60, 40), host=1)
    bob.send(35, "build", ["mind the Ótter"])
    two.run(1000)
    texts = []
    for module in (search, names):
        fold = module.folded
        monkeypatch.setattr(
            module, "folded", lambda text, fold=fold: texts.append(text) or fold(text)
        )
    cairn = [["Bob", "mind the Ótter", 60, 40]]
    assert sought(ada, "otter")[1] == cairn and {"Bob", "mind the Ótter"} <= {*texts}
    texts.clear()
    assert sought(ada, "MIND")[1] == cairn and "mind the Ótter" not in texts
    two.run(READING_MS)
    assert sought(ada, "bob")[1] == cairn and "mind the Ótter" not in texts


@pytest.mark.parametrize("seed", range(30))
def test_what_is_found_is_what_a_comparison_with_each_text_finds(seed):
    chance = random.Random(seed)
    words = ["otter", "Ótter", "ott er", "tern", "Strauß", "rose", "a", "ab"]
    rows = [
        (
            tuple(" ".join(chance.choices(words, k=chance.randint(1, 3))) for _ in range(2)),
            (chance.randint(-50, 50), chance.randint(-50, 50)),
        )
        for _ in range(chance.randrange(60))
    ]
    texts, (x, y) = Texts(rows, {}), (chance.randint(-50, 50), chance.randint(-50, 50))
    for wanted in ("otter", "t", "ott er", "er ott", "strauss", "zz", "a", "b a"):
        ranked = sorted(
            (-rank, (a - x) ** 2 + (b - y) ** 2, *both, a, b)
            for both, (a, b) in rows
            if (rank := max(matches(wanted, each) for each in both))
        )
        assert texts.best(wanted, x, y) == [[*one[2:]] for one in ranked[: search.ANSWERS_MOST]]


def test_a_question_looks_at_a_limited_number_of_matches(monkeypatch):
    monkeypatch.setattr(search, "MATCHES_MOST", 2)
    texts = Texts([(("otter", "the otter"), (n, 0)) for n in range(9)], {})
    assert [place for *_, place, _ in texts.best("otter", 8, 0)] == [1, 0]
    assert [place for *_, place, _ in texts.best("tt", 8, 0)] == [1, 0]


def test_landmarks_that_somebody_has_found_are_found_at_any_distance(two, monkeypatch):
    marks, ada = Landmarks(two.node.terrain), come(two, "Ada")
    parts = [(i, j) for i in range(40, 60) for j in (-9, 70) if marks.of(i, j) is not None][:3]
    for part in parts[:2]:
        bob = come(two, "Bob", marks.of(*part), host=1)
        two.run(500)
        bob.send(35, "find", [*part])
        two.run(500)
        assert "finders" in bob.model.messages

    def found(words):
        sought(ada, words)
        return ada.model.messages["sought"][3]

    # A node names no more at a time than it can without holding others up.
    monkeypatch.setattr(search, "NAMED_AT_ONCE", 1)
    names = [marks.name(*part) for part in parts]
    assert [found(name) for name in names] == [[[names[0], *marks.of(*parts[0])]], [], []]
    assert found(names[0][1:5].lower()) == found(names[0])
    two.run(READING_MS)
    assert found(names[1]) == [[names[1], *marks.of(*parts[1])]] and found(names[2]) == []


def test_letters_that_become_long_without_accents_do_not_count_as_malformed(two):
    ada = come(two, "Ada")
    come(two, "Bob", host=1)
    assert sought(ada, "\ufdfa" * 40) == ([], [])
    assert [host.node.stats["malformed"] for host in two.hosts] == [0, 0]


def test_a_silent_node_holds_nobody_up(two):
    ada = come(two, "Ada")
    come(two, "Rose", host=1)
    come(two, "Roma", (30, 0))
    two.run(500)
    two.hosts[1].node.names.on_name_query = lambda *_: None
    two.hosts[1].node._handlers[NameQuery] = lambda *_: None
    assert sought(ada, "ro")[0] == ["Roma"]


def test_all_nodes_are_asked_once_for_the_same_words_and_not_too_often(two):
    come(two, "Rose", host=1)
    names, other, found = two.node.names, two.hosts[1].node, []
    looks = []
    answer = other.names.on_name_query
    other._handlers[NameQuery] = lambda question: (looks.append(question), answer(question))
    for _ in range(50):
        names.find("ro", 0, 0, found.append)
    two.run(NAME_ANSWER_MS + 100)
    assert len(looks) == 1 and len(found) == 50 and all(len(each) == 1 for each in found)
    names.find("RÓ", 0, 0, found.append)
    assert len(found) == 51 and found[-1] == found[0]
    for i in range(100):
        names.find(f"ro{i}", 0, 0, found.append)
    two.run(NAME_ANSWER_MS + 100)
    assert len(found) == 151 and len(looks) <= 1 + NAME_ASKS.burst + 3
    # A node that many nodes ask limits how often it looks, too.
    questions = []
    other.names._search = lambda question: questions.append(question) or []
    for nonce in range(200):
        other.names.on_name_query(NameQuery(two.node.id, nonce, "ro", 0, 0))
    assert len(questions) <= NAME_LOOKS.burst


def test_a_player_that_leaves_before_the_answer_gets_nothing(two):
    gone, _ = come(two, "Gone"), come(two, "Ros", host=1)
    gone.send(35, "seek", ["ros"])
    gone.connection.lose(1000)
    two.run(NAME_ANSWER_MS + 100)
    assert "sought" not in gone.model.messages
