"""Blooms: three people who dance in a square make it bloom for a day, once, whatever dies."""

import random

import msgpack
import pytest
from gevent import GreenletExit

from flatlands import Records
from flatlands.games.flatlands.blooms.blooms import DAY, GAP, KNOWN, Dance, Dancer, danced
from flatlands.games.flatlands.events import DANCE
from flatlands.testkit.store import SimulatedStore
from games.flatlands.tests.worlds import lonely, noted, resident, same_person, spoil

WAVE = 1
#: Tiles of one square.
THERE = [(20, 4), (22, 4), (24, 4), (26, 4), (28, 4), (30, 4)]
#: A tile of the square beside it.
BESIDE = (34, 4)
ID = "1:0"


@pytest.fixture
def world():
    return lonely()


def people(world, count=3, nodes=2):
    """Return people in one square, each at the next node in turn."""
    some = [world.join("ABCDEF"[n], n % nodes, at=THERE[n]) for n in range(count)]
    world.run(2)
    return some


def dance(world, *players, seconds=9, every=3):
    """Let players dance for some seconds."""
    for _ in range(seconds // every + 1):
        for player in players:
            if player.playing:
                player.do("emote", DANCE)
        world.run(every)


def blooms(player):
    """Return the names that each bloom in a player's view has."""
    return [sorted(list(one.values.values())[1:]) for one in player.things("Bloom")]


def lines(world, player):
    """Return the lines about blooms in a player's book, as (who, n, x, y)."""
    return [line[1:] for line in noted(world, player, "bloom")]


def record(world, node=0, id=ID):
    return Records(Dance)._of(lambda: world.game(node).node.play.items).read(id)


def test_three_on_two_nodes_make_a_square_bloom_for_a_day_for_all_who_see_it(world):
    ada, bob, cid = some = people(world)
    far = world.join("Far", 1, at=BESIDE)
    dance(world, *some, seconds=6)
    assert blooms(far) == [], "they have danced for less than 8 s"
    dance(world, *some, seconds=0)
    for player in (*some, far):
        [bloom] = player.things("Bloom")
        assert blooms(player) == [["A", "B", "C"]] and 16 <= bloom.x < 32 and 0 <= bloom.y < 16
        assert DAY * 1000 - 5000 < bloom.values["until"] - player.now() <= DAY * 1000
    where = int(bloom.x), int(bloom.y)
    assert sorted(lines(world, one)[0] for one in some) == [(who, 3, *where) for who in "ABC"]
    assert lines(world, far) == []
    # It blooms once a day.
    dance(world, *some, far, seconds=30)
    assert len(blooms(ada)) == 1 and [len(lines(world, one)) for one in some] == [1, 1, 1]
    later = world.join("Later", 0, at=BESIDE)
    world.run(2)
    assert blooms(later) == [["A", "B", "C"]]
    world.check()
    for player in (*some, far, later):
        player.leave()
    world._harness.clock.time += DAY * 1000
    new = people(world)
    world.run(5)
    assert blooms(new[0]) == []
    dance(world, *new)
    assert len(blooms(new[1])) == 1 and [len(lines(world, one)) for one in new] == [1, 1, 1]
    world.check()


def test_a_dancer_that_stops_or_is_elsewhere_or_not_a_third_person_does_not_count(world):
    ada, bob, cid = some = people(world)
    dance(world, ada, bob, seconds=30)
    assert blooms(ada) == []
    for player in some:
        for _ in range(5):
            player.do("emote", WAVE)
        world.run(6)
    # Once more, after it has stopped for too long.
    for _ in range(6):
        dance(world, ada, bob, seconds=3)
        cid.do("emote", DANCE)
        world.run(GAP / 1000 + 0.1)
    # Another window of the same person, and a player without a key.
    again = world.join("Again", 1, at=THERE[3])
    same_person(world, again, ada)
    bare = world.join("Bare", 0, at=THERE[4])
    resident(world, bare).owner = ""
    dance(world, ada, again, bob, bare, seconds=30)
    # A player that dances in the square beside it.
    far = world.join("Far", 0, at=BESIDE)
    dance(world, ada, bob, far, seconds=30)
    assert blooms(ada) == [] and record(world) is not None
    # With all these, one third person is enough.
    dance(world, ada, bob, bare, again, far, cid)
    assert sorted(blooms(ada)[0]) in (["A", "B", "C"], ["Again", "B", "C"])


def test_a_dancer_that_has_left_the_square_no_longer_counts(world):
    ada, bob, cid = some = people(world)
    dance(world, *some, seconds=6)
    cid.go(BESIDE[0] + 0.5, 4.5)
    world.run(2.5)
    dance(world, ada, bob, seconds=0)
    assert blooms(ada) == []


def test_few_dancers_of_a_crowd_are_recorded_and_others_replace_those_that_stop():
    now, crowd = 10**12, []
    for n in range(40):
        crowd = danced(crowd, n, f"mark{n}", now + n)
    assert [one.player for one in crowd] == list(range(KNOWN))
    on = danced(crowd, 1, "mark1", now + 3000)
    assert [one.player for one in on] == list(range(KNOWN)) and on[1].since == now + 1
    later = danced(on, 50, "mark50", now + GAP + 100)
    assert later == [
        Dancer(1, "mark1", now + 1, now + 3000),
        Dancer(50, "mark50", now + 4100, now + 4100),
    ]
    # By a clock that is an hour ahead nobody is still dancing.
    assert danced(danced([], 1, "one", now + 3_600_000), 2, "two", now) == [
        Dancer(2, "two", now, now)
    ]


@pytest.mark.parametrize("done", [False, True])
def test_a_node_that_dies_while_a_square_begins_to_bloom_has_done_all_of_it_or_nothing(
    world, monkeypatch, done
):
    ada, bob, cid = some = people(world)
    dance(world, *some, seconds=6)
    real = SimulatedStore.take

    def dies(self, queue, *arguments, **more):
        if done:
            real(self, queue, *arguments, **more)
        world.kill(1)
        raise GreenletExit

    monkeypatch.setattr(SimulatedStore, "take", dies)
    with pytest.raises(GreenletExit):
        bob.do("emote", DANCE)
    monkeypatch.undo()
    bob.back(0)
    world.run(6)
    assert [len(lines(world, one)) for one in some] == [int(done)] * 3
    assert record(world).blooms == done
    if done:
        # This node has not heard of the bloom, and reads it when somebody else comes.
        new = world.start()
        other = world.join("Other", new, at=THERE[3])
        world.run(3)
        assert blooms(other) == [["A", "B", "C"]]
    dance(world, *some)
    assert [len(lines(world, one)) for one in some] == [1] * 3


def test_a_dance_continues_on_another_node_after_a_kill(world):
    ada, bob, cid = some = people(world)
    dance(world, *some, seconds=3)
    world.kill(1)
    bob.back(0)
    dance(world, *some, seconds=3)
    assert blooms(ada) == [], "he has begun anew"
    dance(world, *some, seconds=6)
    assert blooms(ada) == [["A", "B", "C"]]


def test_while_the_store_is_away_nothing_blooms_and_nobody_is_shown_an_error(world):
    ada, bob, cid = some = people(world)
    world.lose_store()
    dance(world, *some)
    assert blooms(ada) == [] and not any(one.errors() for one in some)
    world.heal()
    dance(world, *some)
    assert len(blooms(ada)) == 1


def test_an_operator_removes_a_bloom_for_the_rest_of_the_day(world):
    ada, bob, cid = some = people(world)
    dance(world, *some)
    world.game(1).node.play.items.clear((1, 0))
    world.run(1)
    dance(world, *some, seconds=30)
    assert blooms(ada) == [] and [len(lines(world, one)) for one in some] == [1, 1, 1]


def kept(world, kind):
    """Return the store's records of a kind, whether it answers the nodes or not."""
    store = world._harness.hosts[0].node.store_client.store
    away, store.away = store.away, False
    items = list(store.each(f"records flatlands {kind} 2013-16"))
    store.away = away
    return [msgpack.unpackb(item.body) for item in items if item.delay]


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.outside) for n in range(2, 8))]
)
def test_in_any_world_a_square_blooms_once_a_day_and_three_books_note_it(seed):
    chance = random.Random(seed)
    world = lonely(3, seed=seed, skew=chance.choice((0, 0.2)))
    some, nodes, written, days = people(world, 6, 3), [0, 1, 2], 0, 0
    for _ in range(80):
        for player in some:
            if player.playing and chance.random() < 0.9:
                player.do("emote", DANCE)
            elif not player.playing and chance.random() < 0.8:
                player.back(chance.choice(nodes))
            elif chance.random() < 0.05:
                player.lose()
        if chance.random() < 0.1:
            spoil(world, nodes, chance)
        world.run(chance.choice((1, 2, 3)))
        if len(nodes) < 2:
            nodes.append(world.start())
        lines = sum(line["kind"] == "bloom" for line in kept(world, "Note"))
        blooming = any(dance["blooms"] for dance in kept(world, "Dance"))
        assert lines - written == 3 * blooming
        if blooming and chance.random() < 0.3:
            days, written = days + 1, lines
            world._harness.clock.time += DAY * 1000
            world.run(70)
    world.heal()
    for player in some:
        if not player.playing:
            player.back(nodes[0])
    world.run(65)
    world.check()
    assert days or written or len(blooms(some[0])) == 1
